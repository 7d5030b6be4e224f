"""Co-occurrence cells: which words stand near which, and how much.

The second training input, beside the shards.

    X[i, j]    the weighted number of times that word j stood near word i

Only cells that are not zero are there, row by row, columns rising (CSR). On disk they are a directory:

cells.json       version, number of words and cells, how they were counted; written last, so a directory
                 without it is not finished
vocab.txt        see indexed_folder.py
counts.bin
cells.starts     int64 [words + 1]: row i is starts[i] : starts[i + 1]
cells.columns    int32 [cells]
cells.values     float64 [cells]
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from unhot.corpus.indexed_folder import (
    OpenedFolder,
    append_numbers,
    check_size,
    map_numbers,
    read_index,
    read_only,
    read_vocabulary,
    save_index,
    save_vocabulary,
)
from unhot.corpus.workplace import Workplace
from unhot.errors import DataError, FormatError, whole
from unhot.types import Counts, Doubles, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

VERSION = 1
INDEX = "cells.json"
STARTS = "cells.starts"
COLUMNS = "cells.columns"
VALUES = "cells.values"
CHUNK = 1 << 20  # numbers checked together
AGAIN = "count them again"


class Cells(OpenedFolder):
    """Cells of a vocabulary; made by `cooccurrences`, `Cells.open` or `Cells.from_arrays`.

    Use it as a context manager or call `close()`. Temporary cells remove their directory then, or when they
    are garbage collected.

    >>> words = Vocabulary(["a", "b"], [3, 2])
    >>> cells = Cells.from_arrays(words, [0, 1, 2], [1, 0], [1.5, 1.5])
    >>> len(cells), cells.row_sums().tolist()
    (2, [1.5, 1.5])
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        arrays: tuple[Starts, Ids, Doubles],
        settings: Mapping[str, Any],
        directory: Path | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        """Use `cooccurrences`, `Cells.open` or `Cells.from_arrays`."""
        super().__init__(directory, temporary)
        self.vocabulary = vocabulary
        self.starts, self.columns, self.values = arrays
        self.settings = dict(settings)
        self.directory = directory

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> Cells:
        """Use cells that were counted before; `FormatError` if they are damaged or not complete."""
        path = Path(directory)
        index = read_index(path / INDEX, VERSION, AGAIN)
        try:
            words = int(index["words"])
            cells = int(index["cells"])
            settings = dict(index["settings"])
        except (KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path / INDEX}: {error}: the file is damaged, {AGAIN}") from error
        vocabulary = read_vocabulary(path, words, AGAIN)
        for name, size in ((STARTS, 8 * (words + 1)), (COLUMNS, 4 * cells), (VALUES, 8 * cells)):
            check_size(path / name, size, AGAIN)
        made = cls(vocabulary, _map(path), settings, path)
        if (wrong := _wrong_with(made)) is not None:
            raise FormatError(f"{path}: {wrong}: {AGAIN}")
        return made

    @classmethod
    def from_arrays(
        cls,
        vocabulary: Vocabulary,
        starts: Any,
        columns: Any,
        values: Any,
        settings: Mapping[str, Any] | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> Cells:
        """Cells from what is there already; in memory, or written to a directory and mapped."""
        arrays = _whole("starts", starts, np.int64), _whole("columns", columns, np.int32), _values(values)
        made = cls(vocabulary, arrays, settings or {})
        if (
            arrays[0].shape != (len(vocabulary) + 1,)
            or arrays[1].shape != arrays[2].shape
            or arrays[1].ndim != 1
        ):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise DataError(
                f"shapes {shapes}: must be ({len(vocabulary) + 1},) starts, and as many columns as values"
            )
        if (wrong := _wrong_with(made)) is not None:
            raise DataError(f"these arrays are no cells: {wrong}")
        if directory is None:
            return made
        with CellsWriter(vocabulary, directory) as writer:
            writer.append(np.diff(arrays[0]), arrays[1], arrays[2])
            return writer.finish(made.settings)

    def __len__(self) -> int:
        """How many cells there are."""
        return self.columns.size

    @property
    def words(self) -> int:
        """Tokens of the text that they were counted in, as far as they are in the vocabulary."""
        return int(self.vocabulary.counts.sum())

    def row(self, i: int) -> tuple[Ids, Doubles]:
        """The columns and values of the row of word i."""
        if not 0 <= i < len(self.vocabulary):
            raise IndexError(f"row {i}: there are rows 0 .. {len(self.vocabulary) - 1}")
        part = slice(self.starts[i], self.starts[i + 1])
        return self.columns[part], self.values[part]

    def row_sums(self) -> Doubles:
        """The sum of each row."""
        sums = np.zeros(len(self.vocabulary))
        filled = np.flatnonzero(np.diff(self.starts))
        if filled.size:
            sums[filled] = np.add.reduceat(self.values, self.starts[filled])
        return sums

    def column_sums(self) -> Doubles:
        """The sum of each column."""
        sums = np.zeros(len(self.vocabulary))
        for at in range(0, len(self), CHUNK):
            sums += np.bincount(
                self.columns[at : at + CHUNK], self.values[at : at + CHUNK], len(self.vocabulary)
            )
        return sums

    def heaviest(self, count: int) -> list[tuple[int, int, float]]:
        """The cells with the largest values, falling: row, column, value.

        A pair of words is there once if both ways count the same.
        """
        count = whole("count", count, 0)
        places, least = np.zeros(0, np.int64), -np.inf
        for at in range(0, len(self), CHUNK):
            here = np.flatnonzero(self.values[at : at + CHUNK] > least) + at  # few, but for the first time
            if self.is_symmetric():
                here = here[self.columns[here] >= self._rows_of(here)]
            places = np.concatenate([places, here])
            places = places[np.argsort(-self.values[places], kind="stable")[:count]]
            least = self.values[places[-1]] if places.size == count > 0 else least
        found = self._rows_of(places), self.columns[places], self.values[places]
        return list(zip(*(array.tolist() for array in found), strict=True))

    def _rows_of(self, places: Starts) -> Starts:
        """The row that each of some cells is in."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def is_symmetric(self) -> bool:
        """Whether X[i, j] is X[j, i] by the way they were counted."""
        return self.settings.get("sides") == "both"

    def close(self) -> None:
        """Let go of the cells; remove the directory if it is temporary."""
        self.starts = np.zeros(1, np.int64)
        self.columns = np.zeros(0, np.int32)
        self.values = np.zeros(0)
        super().close()

    def __repr__(self) -> str:
        """The numbers, and where they are."""
        return f"Cells({len(self)} of {len(self.vocabulary)} words in {self.directory or 'memory'})"


class CellsWriter(Workplace):
    """Write cells, in the order of the rows, to a directory or a temporary one.

    It is a context that cleans up, whatever stops the work.
    """

    needs = "the cells need"
    advice = (
        "make room, give another place (directory, or TMPDIR in the environment), take fewer words "
        "(min_count, max_vocab), or allow more memory (what does not fit there goes to disk, too)"
    )

    def __init__(self, vocabulary: Vocabulary, directory: str | os.PathLike[str] | None = None) -> None:
        """None: a temporary directory."""
        super().__init__(directory)
        self.vocabulary = vocabulary
        self._lengths: list[Counts] = []

    def append(self, lengths: Counts, columns: Ids, values: Doubles) -> None:
        """Add whole rows: how many cells each has, and these."""
        self._lengths.append(np.array(lengths, np.int64))
        append_numbers(self.work / COLUMNS, columns, "<i4")
        append_numbers(self.work / VALUES, values, "<f8")

    def finish(self, settings: Mapping[str, Any]) -> Cells:
        """The cells; all rows have been added."""
        starts = np.concatenate([np.zeros(1, np.int64), *self._lengths]).cumsum()
        if starts.size != len(self.vocabulary) + 1:
            raise ValueError(f"{starts.size - 1} rows of {len(self.vocabulary)} were added")
        starts.astype("<i8").tofile(self.work / STARTS)
        save_vocabulary(self.work, self.vocabulary)
        self.publish(INDEX, ())
        words, cells = len(self.vocabulary), int(starts[-1])
        index = {"version": VERSION, "words": words, "cells": cells, "settings": dict(settings)}
        save_index(self.directory / INDEX, index)
        return Cells(
            self.vocabulary, _map(self.directory), settings, self.directory, temporary=self.temporary
        )


def row_ranges(lengths: Counts, most: int) -> Iterator[tuple[int, int]]:
    """Rows first .. last - 1 that have at most so many cells together; a longer row is alone."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        before = int(ends[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, last
        first = last


def _map(directory: Path) -> tuple[Starts, Ids, Doubles]:
    """The files of a directory, mapped."""
    return (
        np.fromfile(directory / STARTS, "<i8"),
        map_numbers(directory / COLUMNS, np.int32),
        map_numbers(directory / VALUES, np.float64),
    )


def _values(array: Any) -> Any:
    """Numbers; a `DataError` if they are none."""
    try:
        return read_only(np.ascontiguousarray(array, np.float64))
    except (TypeError, ValueError) as error:
        raise DataError(f"values: must be numbers ({error})") from error


def _whole(name: str, array: Any, kind: type[np.signedinteger[Any]]) -> Any:
    """Whole numbers of a kind; a `DataError` where that would change them."""
    given = np.asarray(array)
    limits = np.iinfo(kind)
    if given.size and (given.dtype.kind not in "iu" or given.min() < limits.min or given.max() > limits.max):
        raise DataError(f"{name} of type {given.dtype}: must be whole numbers that fit {np.dtype(kind)}")
    return read_only(np.ascontiguousarray(given, kind))


def _wrong_with(cells: Cells) -> str | None:
    """What is wrong with starts, columns or values; None: nothing.

    Kernels trust them and would read wild memory.
    """
    starts, words = cells.starts, len(cells.vocabulary)
    if starts[0] != 0 or starts[-1] != len(cells) or (np.diff(starts) < 0).any():
        return f"rows do not begin at 0, rise, and end at {len(cells)} cells"
    for at in range(0, len(cells), CHUNK):
        columns, values = cells.columns[max(0, at - 1) : at + CHUNK], cells.values[at : at + CHUNK]
        falls = np.flatnonzero(np.diff(columns) <= 0) + max(0, at - 1) + 1  # only where a row begins
        inside = falls[starts[np.searchsorted(starts, falls)] != falls]
        if columns.min() < 0 or columns.max() >= words or inside.size:
            return f"cell {inside[0] if inside.size else at} or behind: columns must rise in 0..{words - 1}"
        if not np.isfinite(values).all():
            return f"cell {at} or behind: a value that is no finite number"
    return None
