r"""Read and write word2vec's formats: a first line `rows dim`, then rows of a word and its vector.

Text: `word 0.1 -0.2 ...\n`; each number has the fewest digits that read back as the same float32. Binary:
`word `, then dim little-endian float32 numbers. The original C tool adds a line feed after each vector,
gensim does not. unhot reads both and writes none.

Neither format can hold white space inside a word; see table.py. Text from other programs that has such words
can still be read: the last `dim` fields of a line are its numbers. Binary files with such words, which gensim
writes, are refused: where a word ends cannot be known for certain.
"""

import mmap
import re
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from unhot.errors import FormatError
from unhot.types import Bytes, Floats, Starts
from unhot.vectors.formats.table import ALL, BLOCK_NUMBERS, Options, Table, blocks, decode, file_size
from unhot.vectors.formats.text_rows import glimpse, mapped, read_text_rows, text_lines
from unhot.vocab.vocabulary import decode_word, encode_word

HEADER = re.compile(rb"[ \t]*([0-9]+)[ \t]+([0-9]+)[ \t\r]*\n")
HEADER_BYTES = 100
MOST_DIM = 2**31 - 1
LARGE = 1e12  # vectors have no number as large as this, or as small as 1 / LARGE
MOST_REST = 256  # bytes of a word after its first space
FEW = 4  # rows of fewer numbers are not checked
SPACE = ord(" ")
PLAIN = re.compile(rb"[^\x00-\x1f\x7f]*")  # what may follow a space in a word: nothing, if it is its end


def put_text(file: BinaryIO, table: Table) -> None:
    """Write word2vec text from front to back."""
    file.write(_header(table.vectors))
    file.writelines(text_lines(table.words, table.vectors))


def put_binary(file: BinaryIO, table: Table) -> None:
    """Write word2vec binary from front to back."""
    file.write(_header(table.vectors))
    for first, block in blocks(table.vectors):
        rows = zip(table.words[first : first + len(block)], block.astype("<f4"), strict=True)
        file.write(b"".join(encode_word(word) + b" " + row.tobytes() for word, row in rows))


def read_text(path: Path, options: Options = ALL) -> Table:
    """Read a word2vec text file."""
    text = mapped(path, file_size(path))
    announced, dim, start = _read_header(path, text, options, smallest=2)
    rows = options.rows(announced)
    table, place = read_text_rows(path, text, start, (rows, dim), options)
    _check_end(path, text, place, options, announced)
    return table


def read_binary(path: Path, options: Options = ALL) -> Table:
    """Read a word2vec binary file, with or without line feeds between the rows."""
    text = mapped(path, file_size(path))
    announced, dim, start = _read_header(path, text, options, smallest=4)
    rows = options.rows(announced)
    words, spaces = _find_rows(path, text, start, (rows, dim), announced)
    if not rows:
        _check_end(path, text, start, options, announced)
        return Table([], np.empty((0, dim), np.float32), None)
    vectors: Floats = sliding_window_view(text, 4 * dim)[spaces + 1].view("<f4")
    _check_words(path, text, words, spaces, vectors)
    _check_end(path, text, int(spaces[-1]) + 1 + 4 * dim, options, announced)
    joined = b"\n".join(words)
    names = decode(
        joined,
        path,
        options.bad_utf8,
        lambda at: int(spaces[(row := joined.count(b"\n", 0, at))]) - len(words[row]),
    )
    return Table(names.split("\n"), vectors.astype(np.float32, copy=False), None)


def _find_rows(
    path: Path, text: Bytes, start: int, shape: tuple[int, int], announced: int
) -> tuple[list[bytes], Starts]:
    """Return the words of a binary file, and the position of the space after each.

    A plain loop over `find` is as fast as a compiled loop, which would have to be loaded first.
    """
    spaces: list[int] = []
    at, step = start, 1 + 4 * shape[1]
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        find, add = data.find, spaces.append
        for _ in range(shape[0]):
            space = find(b" ", at)
            if space < 0:
                raise _no_word(path, at, len(text), len(spaces), (announced, shape[1]))
            add(space)
            at = space + step
        words = [
            data[before + step : space]
            for before, space in zip([start - step, *spaces], spaces, strict=False)
        ]
    if b"\n" in b"".join(words):  # a line feed between rows is fine, inside a word it is an error
        words = [word.lstrip(b"\n") for word in words]
        lost = next((row for row, word in enumerate(words) if b"\n" in word), None)
        if lost is not None:
            raise _no_word(
                path, spaces[lost - 1] + step if lost else start, len(text), lost, (announced, shape[1])
            )
    if at > len(text):
        raise FormatError(
            f"{path}: byte {spaces[-1]}: row {len(words)} of {announced} needs {step - 1} bytes for its "
            f"vector, but the file ends at byte {len(text)}; limit={len(words) - 1} reads the rows before it"
        )
    return words, np.array(spaces, np.int64)


def _check_words(path: Path, text: Bytes, words: list[bytes], spaces: Starts, vectors: Floats) -> None:
    """Raise a `FormatError` if a word goes on after its space.

    Then all numbers of its row are read from wrong bytes, and some are of an odd size; and after one of the
    next spaces a vector begins whose numbers are not. This says nothing of rows of a few numbers.
    """
    if vectors.shape[1] < FEW:
        return
    step = max(1, BLOCK_NUMBERS // vectors.shape[1])
    for first in range(0, len(vectors), step):
        for row in first + np.flatnonzero(_odd(vectors[first : first + step])):
            rest = bytes(text[spaces[row] + 1 : spaces[row] + 1 + MOST_REST])
            for place in (place for place, byte in enumerate(rest) if byte == SPACE):
                more, begin = rest[:place], int(spaces[row]) + place + 2
                vector = text[begin : begin + 4 * vectors.shape[1]]
                plain = PLAIN.fullmatch(more) and more.decode("utf-8", "ignore").encode() == more
                if not plain or len(vector) < 4 * vectors.shape[1]:
                    break
                if not _odd(np.frombuffer(vector.tobytes(), "<f4")[None])[0]:
                    word = decode_word(words[row] + b" " + more)
                    raise FormatError(
                        f"{path}: byte {spaces[row] - len(words[row])}: the word {word!r} of row {row + 1} "
                        "has a space in it, so rows cannot be told apart; write the file as text "
                        "(in gensim save_word2vec_format(PATH, binary=False)), or replace the spaces first"
                    )


def _odd(rows: Floats) -> NDArray[np.bool_]:
    """Return which rows have a number that is not finite, or much larger or smaller than vectors have."""
    size = np.abs(rows)
    usual: NDArray[np.bool_] = (size < LARGE) & ((size > 1 / LARGE) | (size == 0))
    return ~np.asarray(usual.all(axis=1))


def _no_word(path: Path, place: int, size: int, row: int, shape: tuple[int, int]) -> FormatError:
    return FormatError(
        f"{path}: byte {min(place, size)}: there is no word here, where row {row + 1} of {shape[0]} rows "
        f"with {shape[1]} numbers each should begin; limit={row} reads the rows before it"
    )


def _header(vectors: Floats) -> bytes:
    return f"{vectors.shape[0]} {vectors.shape[1]}\n".encode("ascii")


def _read_header(path: Path, text: Bytes, options: Options, smallest: int) -> tuple[int, int, int]:
    """Return (rows, dim, first byte of the rows); raise a `FormatError` if the file is too small for them.

    A number takes at least `smallest` bytes, a word at least one.
    """
    match = HEADER.match(bytes(text[:HEADER_BYTES]))
    if match is None:
        raise FormatError(
            f"{path}: byte 0: not a word2vec file: its first line must be 'rows dim', not {glimpse(text, 0)}"
        )
    rows, dim = int(match[1]), int(match[2])
    said = f"{path}: byte 0: the first line says that there are {rows} rows of {dim} numbers"
    if not 1 <= dim <= MOST_DIM:
        raise FormatError(f"{said}: a row must have 1 to {MOST_DIM} numbers; correct that line")
    # the last row of a text may lack its line feed; a word in a binary file has at least the space after it
    row, left = smallest * dim + 1, len(text) - match.end()
    needed = max(0, options.rows(rows) * row - 1)
    if needed > left:
        these = "they" if options.rows(rows) == rows else f"the first {options.limit}"
        raise FormatError(
            f"{said}: {these} need at least {needed} bytes, but only {left} bytes follow that line, enough "
            f"for {(left + 1) // row} rows at most; the line is wrong, or the file is cut short (limit= "
            "reads its first rows)"
        )
    return rows, dim, match.end()


def _check_end(path: Path, text: Bytes, place: int, options: Options, rows: int) -> None:
    if options.limit is None and bytes(text[place : place + HEADER_BYTES]).strip():
        raise FormatError(
            f"{path}: byte {place}: the file continues after the {rows} rows that its first line announces; "
            f"limit={rows} reads these rows"
        )
