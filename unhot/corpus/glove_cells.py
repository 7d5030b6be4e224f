"""GloVe's files of co-occurrences: what its programs wrote becomes cells, and cells become such files.

cooccurrence.bin    records of 16 bytes, little-endian: int32 word, int32 context, both from 1; float64 value
vocab.txt           a line for each word: the word, a space, how often it was seen; in the order of the ids

`cooccur` writes its records row by row, columns rising; `shuffle` in any order. Both are read. A file may be
far larger than memory: it is looked through once, its records are brought together in parts of some million
that hold whole rows (on disk, unless they lie together already), and each part is put in order by a counting
sort. Records of the same two words are added up.

With `-symmetric 1`, its default, GloVe counts as `cooccurrences` does with sides=both, with `-symmetric 0` as
with sides=right.
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
BLOCK = 1 << 18  # records read, or written, together
PART = 1 << 21  # records put in order together, as long as no row has more; that takes 100 MB
SPACES = b" \t\n\v\f\r\0"  # where a word ends, to GloVe
REFUSED = b"<unk>"  # its programs keep this word for themselves
DIGITS = 18  # of a count that fits 64 bits in any case

Records = NDArray[np.void]


def write_glove_cells(cells: Cells, path: str | os.PathLike[str]) -> None:
    """Write cells as GloVe's `cooccur` writes them, all or nothing."""
    with replacing(Path(path)) as file:
        for at in range(0, len(cells), BLOCK):
            end = min(at + BLOCK, len(cells))
            records = np.empty(end - at, RECORD)
            # the row, from 1
            records["word"] = np.searchsorted(cells.starts, np.arange(at, end), side="right")
            records["context"] = cells.columns[at:end] + 1
            records["value"] = cells.values[at:end]
            if records["value"].min() <= 0:
                raise DataError(
                    f"a cell of {records['value'].min()}: GloVe takes logarithms, so its cells must be "
                    "above zero"
                )
            file.write(records.data)


def write_glove_vocabulary(vocabulary: Vocabulary, path: str | os.PathLike[str]) -> None:
    """Write the words as GloVe's `vocab_count` writes them, all or nothing."""
    check_glove_words(vocabulary)
    with replacing(Path(path)) as file:
        for word, count in zip(vocabulary.words, vocabulary.counts.tolist(), strict=True):
            file.write(encode_word(word) + b" %d\n" % count)


def check_glove_words(vocabulary: Vocabulary) -> None:
    """Raise a `DataError` if there is a word that GloVe's programs cannot read."""
    for word in vocabulary.words:
        raw = encode_word(word)
        if not raw or raw == REFUSED or any(byte in SPACES for byte in raw):
            raise DataError(
                f"the word {word!r}: GloVe's programs take no empty words, no white space in them, and no "
                f"{REFUSED.decode()}"
            )


def read_glove_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """The words of GloVe's vocab.txt; their order is that of the ids."""
    with _opened(Path(path)) as file:
        data = file.read()
    if not data.endswith(b"\n"):
        trouble = "the last line has no end" if data else "the file is empty"
        raise FormatError(f"{path}: byte {len(data)}: {trouble}: make it again")
    counts: dict[bytes, int] = {}
    at = 0
    for line in data.split(b"\n")[:-1]:
        raw, _, count = line.rpartition(b" ")
        if not raw or not count.isdigit() or len(count) > DIGITS:
            raise FormatError(
                f"{path}: byte {at}: {line[:80]!r}: must be a word, a space and a whole number; is it "
                "GloVe's vocab.txt?"
            )
        if raw in counts:
            raise FormatError(
                f"{path}: byte {at}: the word {raw[:80]!r} for the second time: words must be different; "
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
    """Cells from a file that GloVe's `cooccur` or `shuffle` wrote.

    vocabulary   the words, or GloVe's vocab.txt
    directory    where to keep the cells, see `Cells.open`; None: a temporary directory, removed with them
    settings     how they were counted, if that is known, as `cooccurrences` says it: {"window": 10,
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
    """How many records each row has, and whether those of a row lie together, in the order of the rows.

    A `FormatError` is raised if a record is wrong.
    """
    lengths = np.zeros(words, np.int64)
    together = True
    last = 0
    size = file.seek(0, os.SEEK_END)
    if size % RECORD.itemsize:
        raise FormatError(
            f"{file.name}: byte {size}: ends inside a record of {RECORD.itemsize} bytes: the file is cut "
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
                "above zero: the file is damaged, none of GloVe's, or of another vocabulary"
            )
        lengths += np.bincount(rows - 1, minlength=words)
        together = together and rows[0] >= last and bool((np.diff(rows) >= 0).all())
        last = int(rows[-1])
    return lengths, together


def _bring_together(file: IO[bytes], lengths: Counts, parts: list[tuple[int, int]], out: IO[bytes]) -> None:
    """Write the same records, those of a part together, in the order of the parts."""
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
    """Put the records of each part in order, and write them."""
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
                f"{file.name}: values of the same two words add up to more than a float64 can be: the file "
                "is damaged"
            )
        writer.append(out.lengths, out.columns[:cells], out.sums[:cells])


def _blocks(file: IO[bytes], begin: int, end: int) -> Iterator[tuple[int, Records]]:
    """The records in bytes begin .. end - 1, in blocks, each with the byte where it begins."""
    file.seek(begin)
    step = RECORD.itemsize * BLOCK
    for at in range(begin, end, step):
        yield at, np.frombuffer(file.read(min(step, end - at)), RECORD)


def _opened(path: Path) -> IO[bytes]:
    """A file to read."""
    try:
        return path.open("rb")
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror}); give a file that GloVe's programs wrote"
        ) from error
