"""Co-occurrence cells: how often each word stands near each other word.

Some models train on cells instead of on shards of text.

    X[i, j]    the weighted number of times that word j stands near word i

Only cells that are not zero are stored, row by row, with rising columns (CSR). On disk they are a directory:

cells.json       version, number of words and cells, how they were counted; it is written last, so a directory
                 without it is incomplete
vocab.txt        see indexed_folder.py
counts.bin
cells.starts     int64 [words + 1]: row i is starts[i] : starts[i + 1]
cells.columns    int32 [cells]
cells.values     float64 [cells]
"""

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
from unhot.largest import largest
from unhot.types import Counts, Doubles, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

VERSION = 1
INDEX = "cells.json"
STARTS = "cells.starts"
COLUMNS = "cells.columns"
VALUES = "cells.values"
CHUNK = 1 << 20  # numbers checked at a time
AGAIN = "count them again"


class Cells(OpenedFolder):
    """Co-occurrence cells of a vocabulary; made by `cooccurrences`, `Cells.open` or `Cells.from_arrays`.

    Use it as a context manager or call `close()`. Temporary cells then remove their directory; they also do
    so when they are garbage collected.

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
        """Do not call this: use `cooccurrences`, `Cells.open` or `Cells.from_arrays`."""
        super().__init__(directory, temporary)
        self.vocabulary = vocabulary
        self.starts, self.columns, self.values = arrays
        self.settings = dict(settings)
        self.directory = directory

    @classmethod
    def open(cls, directory: str | os.PathLike[str]) -> "Cells":
        """Open a directory of cells; raise a `FormatError` if it is damaged or incomplete."""
        path = Path(directory)
        index = read_index(path / INDEX, VERSION, AGAIN)
        try:
            words = int(index["words"])
            cells = int(index["cells"])
            settings = dict(index["settings"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
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
    ) -> "Cells":
        """Make cells from arrays in CSR form; keep them in memory, or write and map a directory."""
        arrays = _whole("starts", starts, np.int64), _whole("columns", columns, np.int32), _values(values)
        made = cls(vocabulary, arrays, settings or {})
        if (
            arrays[0].shape != (len(vocabulary) + 1,)
            or arrays[1].shape != arrays[2].shape
            or arrays[1].ndim != 1
        ):
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise DataError(
                f"arrays of shapes {shapes}: give {len(vocabulary) + 1} starts (one more than words), and as "
                "many columns as values"
            )
        if (wrong := _wrong_with(made)) is not None:
            raise DataError(f"these arrays are not cells: {wrong}")
        if directory is None:
            return made
        with CellsWriter(vocabulary, directory) as writer:
            writer.append(np.diff(arrays[0]), arrays[1], arrays[2])
            return writer.finish(made.settings)

    def __len__(self) -> int:
        """The number of cells."""
        return self.columns.size

    @property
    def words(self) -> int:
        """The number of tokens in the counted text that are in the vocabulary."""
        return int(self.vocabulary.counts.sum())

    def row(self, i: int) -> tuple[Ids, Doubles]:
        """Return the columns and values of the row of word i."""
        if not 0 <= i < len(self.vocabulary):
            raise IndexError(f"row {i}: the rows are 0 .. {len(self.vocabulary) - 1}")
        part = slice(self.starts[i], self.starts[i + 1])
        return self.columns[part], self.values[part]

    def row_sums(self) -> Doubles:
        """Return the sum of each row."""
        sums = np.zeros(len(self.vocabulary))
        filled = np.flatnonzero(np.diff(self.starts))
        if filled.size:
            sums[filled] = np.add.reduceat(self.values, self.starts[filled])
        return sums

    def column_sums(self) -> Doubles:
        """Return the sum of each column."""
        sums = np.zeros(len(self.vocabulary))
        for at in range(0, len(self), CHUNK):
            sums += np.bincount(
                self.columns[at : at + CHUNK], self.values[at : at + CHUNK], len(self.vocabulary)
            )
        return sums

    def heaviest(self, count: int) -> list[tuple[int, int, float]]:
        """Return the `count` cells with the largest values, largest first, as (row, column, value).

        If the cells are symmetric, each pair of words is returned once.
        """
        count = whole("count", count, 0)
        places, least = np.zeros(0, np.int64), -np.inf
        for at in range(0, len(self), CHUNK):
            here = np.flatnonzero(self.values[at : at + CHUNK] > least) + at  # few, after the first chunk
            if self.is_symmetric():
                here = here[self.columns[here] >= self._rows_of(here)]
            places = np.concatenate([places, here])
            places = places[largest(self.values[places], count)]
            least = self.values[places[-1]] if places.size == count > 0 else least
        found = self._rows_of(places), self.columns[places], self.values[places]
        return list(zip(*(array.tolist() for array in found), strict=True))

    def _rows_of(self, places: Starts) -> Starts:
        """Return the rows of the cells at the given places."""
        return np.searchsorted(self.starts, places, side="right") - 1

    def is_symmetric(self) -> bool:
        """Return whether the cells were counted on both sides, so that X[i, j] equals X[j, i]."""
        return self.settings.get("sides") == "both"

    def close(self) -> None:
        """Release the cells, and remove the directory if it is temporary."""
        self.starts = np.zeros(1, np.int64)
        self.columns = np.zeros(0, np.int32)
        self.values = np.zeros(0)
        super().close()

    def __repr__(self) -> str:
        """Show the number of cells and words, and where the cells are stored."""
        return f"Cells({len(self)} of {len(self.vocabulary)} words in {self.directory or 'memory'})"


class CellsWriter(Workplace):
    """Write cells, row after row, to a directory or a temporary one.

    Use it as a context manager: it cleans up if an error stops the work.
    """

    needs = "the cells need"
    advice = (
        "make room, give another place (directory, or TMPDIR in the environment), keep fewer words "
        "(min_count, max_vocab), or allow more memory (counts that do not fit into memory go to disk, too)"
    )

    def __init__(self, vocabulary: Vocabulary, directory: str | os.PathLike[str] | None = None) -> None:
        """Take the words and the directory; None: a temporary directory."""
        super().__init__(directory)
        self.vocabulary = vocabulary
        self._lengths: list[Counts] = []

    def append(self, lengths: Counts, columns: Ids, values: Doubles) -> None:
        """Add whole rows: the number of cells in each row, then the columns and values of all cells."""
        self._lengths.append(np.array(lengths, np.int64))
        append_numbers(self.work / COLUMNS, columns, "<i4")
        append_numbers(self.work / VALUES, values, "<f8")

    def finish(self, settings: Mapping[str, Any]) -> Cells:
        """Complete the directory and return its cells; call this after all rows were added."""
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
    """Yield ranges (first, last) of rows that have at most `most` cells together; a longer row is alone."""
    ends = np.cumsum(lengths)
    first = 0
    while first < lengths.size:
        before = int(ends[first] - lengths[first])
        last = max(first + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield first, last
        first = last


def _map(directory: Path) -> tuple[Starts, Ids, Doubles]:
    """Map the files of a directory of cells."""
    return (
        np.fromfile(directory / STARTS, "<i8"),
        map_numbers(directory / COLUMNS, np.int32),
        map_numbers(directory / VALUES, np.float64),
    )


def _values(array: Any) -> Any:
    """Return the values as a float64 array; raise a `DataError` if they are not numbers."""
    try:
        return read_only(np.ascontiguousarray(array, np.float64))
    except (TypeError, ValueError) as error:
        raise DataError(f"values: must be numbers ({error})") from error


def _whole(name: str, array: Any, kind: type[np.signedinteger[Any]]) -> Any:
    """Return an array of the integer type `kind`; raise a `DataError` if that would change a number."""
    given = np.asarray(array)
    limits = np.iinfo(kind)
    if given.size and (given.dtype.kind not in "iu" or given.min() < limits.min or given.max() > limits.max):
        raise DataError(f"{name} of type {given.dtype}: give whole numbers that fit {np.dtype(kind)}")
    return read_only(np.ascontiguousarray(given, kind))


def _wrong_with(cells: Cells) -> str | None:
    """Return what is wrong with starts, columns or values; None if they are valid.

    Kernels do not check them again, and would read outside their arrays.
    """
    starts, words = cells.starts, len(cells.vocabulary)
    if starts[0] != 0 or starts[-1] != len(cells) or (np.diff(starts) < 0).any():
        return f"starts must rise from 0 to the number of cells, {len(cells)}"
    for at in range(0, len(cells), CHUNK):
        columns, values = cells.columns[max(0, at - 1) : at + CHUNK], cells.values[at : at + CHUNK]
        # columns may fall only where a row begins
        falls = np.flatnonzero(np.diff(columns) <= 0) + max(0, at - 1) + 1
        inside = falls[starts[np.searchsorted(starts, falls)] != falls]
        if columns.min() < 0 or columns.max() >= words or inside.size:
            return (
                f"cell {inside[0] if inside.size else at} or a later one: the columns of a row must rise, "
                f"within 0..{words - 1}"
            )
        if not np.isfinite(values).all():
            return f"cell {at} or a later one: its value is not a finite number"
    return None
