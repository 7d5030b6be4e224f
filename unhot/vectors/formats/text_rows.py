"""Read and write lines of a word and numbers, as in word2vec text and GloVe; numbers.py parses numbers.

The file is memory-mapped and parsed in one pass. Only the result and the positions of the words take memory.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from unhot.errors import FormatError
from unhot.types import Bytes, Floats, Starts
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vectors.formats.table import ALL, Options, Table, blocks, decode
from unhot.vocab.vocabulary import encode_word

FIELD = re.compile(rb"[^ \t]+")
GLIMPSE = 40  # bytes of a line shown in an error


def mapped(path: Path, size: int) -> Bytes:
    """Memory-map the bytes of a file."""
    return np.asarray(np.memmap(path, np.uint8, "r", shape=(size,))) if size else np.empty(0, np.uint8)


def glimpse(text: Bytes, start: int) -> str:
    """Return the beginning of a line, to show it in an error."""
    return repr(bytes(text[start : start + GLIMPSE]).split(b"\n", 1)[0].decode("utf-8", "replace"))


def announced_rows(path: Path, text: Bytes, dim: int, least: int, most: int) -> int:
    """Count the lines of a file, at most `most`; raise a `FormatError` if it is too small for such rows.

    A row of `dim` numbers takes at least `least` bytes.
    """
    from unhot.vectors.formats.numbers import count_lines

    rows = count_lines(text, len(text), most) if most else 0
    if rows * least - 1 > len(text):
        raise FormatError(
            f"{path}: byte 0: {rows} lines of {dim} numbers need more than the {len(text)} bytes of the file"
        )
    return rows


def read_text_rows(
    path: Path, text: Bytes, start: int, shape: tuple[int, int], options: Options
) -> tuple[Table, int]:
    """Read `shape` rows of a word and numbers from byte `start` on; return the table and the next byte."""
    words, vectors, place = _read_rows(path, text, start, shape, named=True)
    return Table(gathered(path, text, words, options.bad_utf8), vectors, None), place


def read_number_rows(path: Path, text: Bytes, shape: tuple[int, int], start: int = 0) -> tuple[Floats, int]:
    """Read `shape` numbers without words from byte `start` on; return the numbers and the next byte."""
    return _read_rows(path, text, start, shape, named=False)[1:]


def warm_up_reading() -> None:
    """Compile the parser, or load it from disk."""
    text = np.frombuffer(b"a 1\n", np.uint8)
    read_text_rows(Path(), text, 0, (1, 1), ALL)
    read_number_rows(Path(), text[2:], (1, 1))


def _read_rows(
    path: Path, text: Bytes, start: int, shape: tuple[int, int], named: bool
) -> tuple[Starts, Floats, int]:
    from unhot.vectors.formats import numbers

    vectors: Floats = np.empty(shape, np.float32)
    words: Starts = np.empty((shape[0], 2), np.int64)
    state: Starts = np.array([0, start, 0, 0], np.int64)
    read = numbers.read_rows
    while (stopped := read(text, len(text), vectors, words, named, numbers.POWERS, state)) != numbers.DONE:
        row, place = int(state[numbers.ROW]), int(state[numbers.PLACE])
        if stopped == numbers.SHORT:
            raise _too_short(path, text, place, row, shape)
        _read_hard(path, text, int(state[numbers.NUMBERS]), int(state[numbers.STOP]), vectors[row - 1])
    return words, vectors, int(state[numbers.PLACE])


def gathered(path: Path, text: Bytes, words: Starts, bad_utf8: str) -> list[str]:
    """Return the words at the given positions of a text; no word contains a line feed."""
    from unhot.vectors.formats import numbers

    if not len(words):
        return []
    joined: Bytes = np.empty(int((words[:, 1] - words[:, 0]).sum()) + len(words), np.uint8)
    raw = joined[: numbers.gather_words(text, words, joined)].tobytes()
    return decode(raw, path, bad_utf8, lambda at: int(words[raw.count(b"\n", 0, at), 0])).split("\n")


def _too_short(path: Path, text: Bytes, place: int, row: int, shape: tuple[int, int]) -> FormatError:
    rows, dim = shape
    if place == len(text):
        return FormatError(
            f"{path}: byte {place}: the file ends after row {row} of {rows}: it is cut short, or the number "
            f"of rows in its first line is wrong; limit={row} reads the rows that exist"
        )
    return FormatError(
        f"{path}: byte {place}: row {row + 1} of {rows} must be a word and {dim} numbers, but is "
        f"{glimpse(text, place)}"
    )


def _read_hard(path: Path, text: Bytes, start: int, stop: int, row: Floats) -> None:
    """Read those numbers of a row that the kernel left as NaN, because they are hard to parse."""
    from unhot.vectors.formats import numbers

    for column, field in enumerate(FIELD.finditer(text[start:stop].data)):
        if np.isnan(row[column]):
            try:
                row[column] = numbers.nearest(field[0])
            except ValueError as error:
                raise FormatError(f"{path}: byte {start + field.start()}: not a float32: {error}") from error


def text_lines(names: list[str], vectors: Floats) -> Iterator[bytes]:
    """Yield blocks of lines; each number has the fewest digits that read back as the same float32."""
    # one formatting call per row is twice as fast as `repr` of every number
    line = "%s" + " %.9g" * vectors.shape[1] + "\n"
    for first, block in blocks(vectors):
        rows = zip(names[first : first + len(block)], shortest_doubles(block).tolist(), strict=True)
        yield encode_word("".join(line % (name, *row) for name, row in rows))
