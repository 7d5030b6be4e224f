"""Read and write the co-occurrence files of Stanford's GloVe programs.

cooccurrence.bin    records of 16 bytes, little-endian: int32 word, int32 context, both counted from 1;
                    float64 value
vocab.txt           one line for each word, in the order of the ids: the word, a space, its count

GloVe's `cooccur` writes records row by row with rising columns, `shuffle` in any order. Both can be read. A
file may be far larger than memory. One pass checks it and counts the records of each row. A second pass
groups the records into parts of a few million, each of whole rows (on disk, unless they are grouped already).
A counting sort then orders each part. Records of the same two words are added up.

With `-symmetric 1`, its default, GloVe counts like `cooccurrences` with sides=both; with `-symmetric 0` like
sides=right.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from unhot.atomic import replacing
from unhot.corpus.cells import Cells, CellsWriter, row_ranges
from unhot.errors import DataError, FormatError
from unhot.types import Counts
from unhot.vocab.vocabulary import Vocabulary, decode_words, encode_word

RECORD = np.dtype([("word", "<i4"), ("context", "<i4"), ("value", "<f8")])
BLOCK = 1 << 18  # records read or written at a time
PART = 1 << 21  # records sorted at a time, unless one row has more; this takes 100 MB
SPACES = b" \t\n\v\f\r\0"  # bytes that end a word in GloVe
REFUSED = b"<unk>"  # GloVe's programs reserve this word
DIGITS = 18  # any count of this many digits fits 64 bits

Records = NDArray[np.void]


def write_glove_cells(cells: Cells, path: str | os.PathLike[str]) -> None:
    """Write cells in the format of GloVe's `cooccur`; an error leaves no partial file."""
    with replacing(Path(path)) as file:
        for at in range(0, len(cells), BLOCK):
            end = min(at + BLOCK, len(cells))
            records = np.empty(end - at, RECORD)
            # the row, counted from 1
            records["word"] = np.searchsorted(cells.starts, np.arange(at, end), side="right")
            records["context"] = cells.columns[at:end] + 1
            records["value"] = cells.values[at:end]
            if records["value"].min() <= 0:
                raise DataError(
                    f"a cell has the value {records['value'].min()}: GloVe takes logarithms, so all cells "
                    "must be above zero"
                )
            file.write(records.data)


def write_glove_vocabulary(vocabulary: Vocabulary, path: str | os.PathLike[str]) -> None:
    """Write the words in the format of GloVe's `vocab_count`; an error leaves no partial file."""
    check_glove_words(vocabulary)
    with replacing(Path(path)) as file:
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
            file.write(encode_word(word) + b" %d\n" % count)


def check_glove_words(vocabulary: Vocabulary) -> None:
    """Raise a `DataError` if the vocabulary has a word that GloVe's programs cannot read."""
    for word in vocabulary.words:
        raw = encode_word(word)
        if not raw or raw == REFUSED or any(byte in SPACES for byte in raw):
            raise DataError(
                f"the word {word!r}: GloVe's programs cannot read words that are empty, contain white space, "
                f"or are {REFUSED.decode()}"
            )


def read_glove_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Read GloVe's vocab.txt; the words keep their order, which is that of the ids."""
    with _opened(Path(path)) as file:
        data = file.read()
    if not data.endswith(b"\n"):
        trouble = "the last line has no line end" if data else "the file is empty"
        raise FormatError(f"{path}: byte {len(data)}: {trouble}: make it again")
    counts: dict[bytes, int] = {}
    at = 0
    for line in data.split(b"\n")[:-1]:
        raw, _, count = line.rpartition(b" ")
        if not raw or not count.isdigit() or len(count) > DIGITS:
            raise FormatError(
                f"{path}: byte {at}: {line[:80]!r}: a line must be a word, a space and a whole number; is "
                "this GloVe's vocab.txt?"
            )
        if raw in counts:
            raise FormatError(
                f"{path}: byte {at}: the word {raw[:80]!r} occurs a second time: words must be different; "
                "make it again"
            )
        counts[raw] = int(count)
        at += len(line) + 1
    return Vocabulary(decode_words(list(counts)), list(counts.values()))


def read_glove_cells(
    path: str | os.PathLike[str],
    vocabulary: Vocabulary | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Cells:
    """Read cells from a file that GloVe's `cooccur` or `shuffle` wrote.

    vocabulary   the words, or the path of GloVe's vocab.txt
    directory    where to keep the cells, see `Cells.open`; None: a temporary directory, which is removed
                 together with the cells
    settings     how the cells were counted, if you know it, in the words of `cooccurrences`: {"window": 10,
                 "weights": "distance", "sides": "both"}
    """
    words = vocabulary if isinstance(vocabulary, Vocabulary) else read_glove_vocabulary(vocabulary)
    with _opened(Path(path)) as file:
        lengths, together = _look_through(file, len(words))
        parts = list(row_ranges(lengths, PART))
        with CellsWriter(words, directory) as writer:
            with tempfile.NamedTemporaryFile(dir=writer.work) as records:
                if not together and len(parts) > 1:
                    _bring_together(file, lengths, parts, records)
                    file = records
                _write_parts(file, lengths, parts, writer)
            return writer.finish(settings or {})


def _look_through(file: IO[bytes], words: int) -> tuple[Counts, bool]:
    """Return how many records each row has, and whether the records are already ordered by row.

    Raise a `FormatError` if a record is wrong.
    """
    lengths = np.zeros(words, np.int64)
    together = True
    last = 0
    size = file.seek(0, os.SEEK_END)
    if size % RECORD.itemsize:
        raise FormatError(
            f"{file.name}: byte {size}: the file ends inside a record of {RECORD.itemsize} bytes: it is cut "
            "short; make it again"
        )
    for at, records in _blocks(file, 0, size):
        rows, columns = records["word"], records["context"]
        values = records["value"]
        inside = (np.minimum(rows, columns) >= 1) & (np.maximum(rows, columns) <= words)
        wrong = ~(inside & (values > 0) & np.isfinite(values))
        if wrong.any():
            first = int(wrong.argmax())
            raise FormatError(
                f"{file.name}: byte {at + first * RECORD.itemsize}: words {rows[first]} and "
                f"{columns[first]}, value {values[first]}: words must be in 1..{words}, values finite and "
                "above zero: the file is damaged, was not written by GloVe, or belongs to another vocabulary"
            )
        lengths += np.bincount(rows - 1, minlength=words)
        together = together and rows[0] >= last and bool((np.diff(rows) >= 0).all())
        last = int(rows[-1])
    return lengths, together


def _bring_together(file: IO[bytes], lengths: Counts, parts: list[tuple[int, int]], out: IO[bytes]) -> None:
    """Write the same records grouped by part, in the order of the parts."""
    part_of = np.repeat(np.arange(len(parts)), [last - first for first, last in parts])
    places = RECORD.itemsize * np.concatenate(
        [[0], np.cumsum([lengths[first:last].sum() for first, last in parts])]
    )
    for _, records in _blocks(file, 0, int(places[-1])):
        part = part_of[records["word"] - 1]
        records = records[np.argsort(part, kind="stable")]
        ends = np.cumsum(np.bincount(part, minlength=len(parts)))
        for number in np.unique(part).tolist():
            here = records[ends[number - 1] if number else 0 : ends[number]]
            out.seek(places[number])
            out.write(here.data)
            places[number] += here.nbytes


def _write_parts(file: IO[bytes], lengths: Counts, parts: list[tuple[int, int]], writer: CellsWriter) -> None:
    """Sort the records of each part and write them as rows of cells."""
    from unhot.corpus.cells.row_counts import CountedRows, group_rows, merge_rows, new_sums

    words = lengths.size
    row = new_sums(words)._replace(sums=np.zeros(words))
    end = 0
    for first, last in parts:
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[first:last])])
        begin, end = end, end + RECORD.itemsize * int(starts[-1])
        columns, values = np.empty(starts[-1], np.int32), np.empty(starts[-1])
        ends = starts[:-1].copy()
        for _, records in _blocks(file, begin, end):
            group_rows(
                records["word"], records["context"], records["value"], first + 1, ends, columns, values
            )
        out = CountedRows(np.empty(last - first, np.int64), np.empty_like(columns), np.empty_like(values))
        cells = merge_rows(starts[None], columns, values, 0, last - first, row, out)
        if not np.isfinite(out.sums[:cells]).all():
            raise FormatError(
                f"{file.name}: the values of one pair of words add up to more than a float64 can hold: the "
                "file is damaged"
            )
        writer.append(out.lengths, out.columns[:cells], out.sums[:cells])


def _blocks(file: IO[bytes], begin: int, end: int) -> Iterator[tuple[int, Records]]:
    """Yield the records in bytes begin .. end - 1 in blocks, each with its first byte's position."""
    file.seek(begin)
    step = RECORD.itemsize * BLOCK
    for at in range(begin, end, step):
        yield at, np.frombuffer(file.read(min(step, end - at)), RECORD)


def _opened(path: Path) -> IO[bytes]:
    """Open a file to read; raise a `DataError` if that fails."""
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); give a file that GloVe's programs wrote"
        ) from error
