r"""The word2vec formats: a line `rows dim`, then one word and its vector per row.

Text: `word 0.1 -0.2 ...\n`, each number with the fewest digits that read back as the same float32. Binary: `word `, then dim little-endian
float32; the original C tool adds a line feed after each vector, gensim does not: we write none and read both.

Neither can hold white space inside a word. The rule, which the writers' return value reports: every space, tab, line feed, vertical tab,
form feed and carriage return becomes `_`, an empty word becomes `_`, and as long as the result is another word of the file,
one more `_` is added at its end. All other words are written as they are, so a file never lacks a row and never has a word twice.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from unhot.errors import DataError, FormatError
from unhot.types import Floats
from unhot.vectors.formats.atomic import replacing
from unhot.vectors.formats.shortest import shortest_doubles
from unhot.vocab.vocabulary import decode_word, encode_word

WHITE_SPACE = re.compile("[ \t\n\v\f\r]")
HEADER = re.compile(rb"\s*([0-9]{1,15})\s+([0-9]{1,15})\s*\n")
HEADER_BYTES = 100
BLOCK_NUMBERS = 1 << 16  # per block: the temporary arrays stay in the second-level cache


def write_text(path: str | Path, words: Sequence[str], vectors: Floats) -> dict[str, str]:
    """Write a word2vec text file; return the words that had to be written differently, with what was written."""
    names, renamed = _names(words, vectors)
    line = "%s" + " %.9g" * vectors.shape[1] + "\n"  # one call per row; twice as fast as `repr` of every number
    with replacing(Path(path)) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode("ascii"))
        for first, block in _blocks(vectors):
            rows = zip(names[first : first + len(block)], shortest_doubles(block).tolist(), strict=True)
            file.write(encode_word("".join(line % (name, *row) for name, row in rows)))
    return renamed


def write_binary(path: str | Path, words: Sequence[str], vectors: Floats) -> dict[str, str]:
    """Write a word2vec binary file; return the words that had to be written differently, with what was written."""
    names, renamed = _names(words, vectors)
    with replacing(Path(path)) as file:
        file.write(f"{len(words)} {vectors.shape[1]}\n".encode("ascii"))
        for first, block in _blocks(vectors):
            rows = zip(names[first : first + len(block)], block.astype("<f4"), strict=True)
            file.write(b"".join(encode_word(name) + b" " + row.tobytes() for name, row in rows))
    return renamed


def read_text(path: str | Path) -> tuple[list[str], Floats]:
    """Read a word2vec text file: words and vectors."""
    size = _size(path)
    with Path(path).open("rb") as file:
        rows, dim = _read_header(path, file, size, smallest_row=2)
        words: list[str] = []
        vectors: Floats = np.empty((rows, dim), np.float32)
        position = file.tell()
        for row in range(rows):
            line = file.readline()
            fields = line.rstrip(b" \t\r\n").rsplit(b" ", dim)  # from the right: others write words with spaces in them
            if len(fields) <= dim:
                raise FormatError(f"{path}: byte {position}: row {row + 1} of {rows} has no word and {dim} numbers: {_glimpse(line)}")
            try:
                with np.errstate(over="raise"):
                    vectors[row] = list(map(float, fields[1:]))
            except (ValueError, FloatingPointError) as error:
                raise FormatError(f"{path}: byte {position}: row {row + 1} of {rows} holds what is not a float32: {error}") from error
            words.append(decode_word(fields[0]))
            position += len(line)
        if file.read(HEADER_BYTES).strip():
            raise FormatError(f"{path}: byte {position}: there is more after the {rows} rows that the first line announces")
    _check_unique(path, words)
    return words, vectors


def read_binary(path: str | Path) -> tuple[list[str], Floats]:
    """Read a word2vec binary file, with or without line feeds between the rows: words and vectors."""
    size = _size(path)
    with Path(path).open("rb") as file:
        rows, dim = _read_header(path, file, size, smallest_row=4)
        words: list[str] = []
        vectors: Floats = np.empty((rows, dim), "<f4")
        step, position = 4 * dim, file.tell()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for row in range(rows):
                space = data.find(b" ", position)
                word = data[position:space].lstrip(b"\n") if space >= 0 else b"\n"
                if b"\n" in word:  # no space any more, or what is no word: the rows are shorter or longer than announced
                    raise FormatError(f"{path}: byte {position}: no word begins here; row {row + 1} of {rows}, {dim} numbers each")
                if size - space - 1 < step:
                    raise FormatError(f"{path}: the vector at byte {space + 1} needs {step} bytes, but the file ends at byte {size}")
                vectors[row] = np.frombuffer(data[space + 1 : space + 1 + step], "<f4")
                words.append(decode_word(word))
                position = space + 1 + step
            if data[position : position + HEADER_BYTES].strip(b"\n"):
                raise FormatError(f"{path}: byte {position}: there is more after the {rows} rows that the first line announces")
    _check_unique(path, words)
    return words, vectors.astype(np.float32, copy=False)


def writable_words(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the words as they are written, and those among them that are written differently (see the module's rule)."""
    taken = set(words)
    if len(taken) < len(words):
        raise DataError(f"{len(words) - len(taken)} words occur more than once; remove the repeated rows")
    names, renamed = list(words), {}
    for row, word in enumerate(words):
        if word and not WHITE_SPACE.search(word):
            continue
        name = WHITE_SPACE.sub("_", word) or "_"
        while name in taken:
            name += "_"
        taken.add(name)
        names[row] = renamed[word] = name
    return names, renamed


def _names(words: Sequence[str], vectors: Floats) -> tuple[list[str], dict[str, str]]:
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.shape[1] < 1:
        raise DataError(f"{len(words)} words and vectors of shape {vectors.shape}: one row of at least one number per word is needed")
    return writable_words(words)


def _blocks(vectors: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield (first row, contiguous float32 rows)."""
    step = max(1, BLOCK_NUMBERS // vectors.shape[1])
    for first in range(0, len(vectors), step):
        yield first, np.ascontiguousarray(vectors[first : first + step], dtype=np.float32)


def _size(path: str | Path) -> int:
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file")
    return Path(path).stat().st_size


def _read_header(path: str | Path, file: BinaryIO, size: int, smallest_row: int) -> tuple[int, int]:
    """Return (rows, dim) if the file is big enough for them at `smallest_row` bytes per number and one per word."""
    line = file.readline(HEADER_BYTES)
    match = HEADER.fullmatch(line)
    if match is None:
        raise FormatError(f"{path}: byte 0: not a word2vec file: its first line must be 'rows dim', not {_glimpse(line)}")
    rows, dim = int(match[1]), int(match[2])
    # the last row of a text may lack its line feed, a word of a binary file takes at least the space behind it
    needed = max(0, rows * (smallest_row * dim + 1) - 1)
    if dim < 1 or needed > size - len(line):
        raise FormatError(f"{path}: byte 0: {rows} rows of {dim} numbers need at least {needed} bytes after this line; the file has {size}")
    return rows, dim


def _glimpse(line: bytes) -> str:
    return repr(line[:40].decode("utf-8", "replace"))


def _check_unique(path: str | Path, words: list[str]) -> None:
    if len(set(words)) == len(words):
        return
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        if first.setdefault(word, row) != row:
            raise FormatError(f"{path}: rows {first[word] + 1} and {row + 1} are the same word {word!r}")
