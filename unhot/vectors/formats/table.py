"""The table of words and vectors that every format holds, options for reading it, and shared checks.

A word that a format cannot hold is renamed. Every character that the format cannot hold becomes `_` (or
another character that the format chooses), an empty word becomes `_`, and while the result equals another
word of the file, `_` is added at its end. All other words are written unchanged. So a file never lacks a row
and never has a word twice. `write_table` returns the renamed words with their new names.
"""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, FormatError, one_of, whole
from unhot.types import Counts, Floats
from unhot.vocab.vocabulary import decode_word, encode_word

BAD_UTF8 = ("escape", "error", "replace", "ignore")
BAD_UTF8_ADVICE = "bad_utf8=escape, replace or ignore"
WHICH = ("in", "out")
BLOCK_NUMBERS = 1 << 16  # numbers in a block, so that temporary arrays stay in the second-level cache

MOST_GROWTH = 10  # a table may take at most this many times the bytes of its file


class Table(NamedTuple):
    """Words, their vectors, and their counts if the format has them."""

    words: list[str]
    vectors: Floats  # [words, dim]
    counts: Counts | None


class Options(NamedTuple):
    """Options for reading a table."""

    limit: int | None = None  # read at most this many rows
    bad_utf8: str = "escape"  # how to read words that are not UTF-8: one of BAD_UTF8
    which: str = "in"  # input or output vectors, for a model that has both

    def rows(self, announced: int) -> int:
        """Return how many rows to read if the file announces `announced`."""
        return announced if self.limit is None else min(announced, self.limit)


ALL = Options()


def check_options(limit: int | None, bad_utf8: str, which: str) -> Options:
    """Return the options; raise a `ConfigError` if one is wrong."""
    one_of("bad_utf8", bad_utf8, BAD_UTF8)
    one_of("which", which, WHICH)
    return Options(None if limit is None else whole("limit", limit, 0), bad_utf8, which)


def check_table(table: Table) -> None:
    """Raise a `DataError` unless a table can be written: one row of numbers per word, each word once."""
    words, vectors, counts = table
    if vectors.ndim != 2 or len(vectors) != len(words) or vectors.shape[1] < 1:
        raise DataError(
            f"there are {len(words)} words, but vectors has shape {vectors.shape}: give one row of at least "
            "one number for each word"
        )
    if vectors.dtype != np.float32:
        raise DataError(
            f"vectors has type {vectors.dtype}: it must be float32; convert it with astype(np.float32)"
        )
    if counts is not None:
        checked_counts(counts, len(words))
    if len(set(words)) < len(words):
        raise DataError(
            f"{len(words) - len(set(words))} words occur more than once; remove the repeated rows"
        )


def checked_counts(counts: ArrayLike, words: int) -> Counts:
    """Return the counts as int64; raise a `DataError` unless there is one count >= 0 for each word."""
    given = np.asarray(counts)
    if given.shape != (words,):
        raise DataError(
            f"there are {words} words, but counts has shape {given.shape}: give one count for each word"
        )
    if given.size and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 2**63):
        raise DataError(
            f"counts has type {given.dtype}, and its smallest is {given.min()}: give whole numbers >= 0"
        )
    return given.astype(np.int64, copy=False)


def blocks(vectors: Floats) -> Iterator[tuple[int, Floats]]:
    """Yield (first row, contiguous float32 rows), so that writers never copy a whole matrix."""
    step = max(1, BLOCK_NUMBERS // max(1, vectors.shape[1]))
    for first in range(0, len(vectors), step):
        yield first, np.ascontiguousarray(vectors[first : first + step], dtype=np.float32)


def file_size(path: Path) -> int:
    """Return the size of a regular file; raise a `DataError` if there is none."""
    check_regular(path)
    if not path.is_file():
        raise DataError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'there is no such file'}")
    return path.stat().st_size


def check_regular(path: Path) -> None:
    """Raise a `DataError` if the path is a pipe or a device, which cannot be memory-mapped."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise DataError(
            f"{path}: is a pipe or a device; vectors are read from files: write it to a file first"
        )


def check_growth(path: Path, shape: tuple[int, int], size: int) -> None:
    """Raise a `FormatError` if a file claims far more vectors than its bytes could hold when compressed."""
    needed = 4 * shape[0] * shape[1]
    if needed > MOST_GROWTH * size + (1 << 20):
        raise FormatError(
            f"{path}: bytes 0..{size}: {shape[0]} rows of {shape[1]} numbers would take {needed} bytes, "
            f"more than {MOST_GROWTH} times the file; it is damaged, or limit= must be lower"
        )


def decode(raw: bytes, path: Path, bad_utf8: str, place: Callable[[int], int]) -> str:
    """Decode bytes of a file; `place` maps a position in them to one in the file, for an error."""
    if bad_utf8 == "escape":
        return decode_word(raw)
    try:
        return raw.decode("utf-8", "strict" if bad_utf8 == "error" else bad_utf8)
    except UnicodeDecodeError as error:
        raise _not_utf8(path, f"byte {place(error.start)}", raw[error.start : error.end]) from error


def treat_bad_utf8(words: list[str], path: Path, bad_utf8: str) -> list[str]:
    """Apply `bad_utf8` to words that are already decoded, with lone surrogates for invalid bytes."""
    if bad_utf8 == "escape":
        return words
    treated = list(words)
    for row, word in enumerate(words):
        if not word.isascii() and encode_word(word).decode("utf-8", "ignore") != word:
            if bad_utf8 == "error":
                raise _not_utf8(path, f"row {row + 1}", encode_word(word))
            treated[row] = encode_word(word).decode("utf-8", bad_utf8)
    return treated


def _not_utf8(path: Path, where: str, raw: bytes) -> FormatError:
    return FormatError(
        f"{path}: {where}: the word's bytes {raw[:20]!r} are not UTF-8; read it with {BAD_UTF8_ADVICE}"
    )


def without_repeats(table: Table, path: Path) -> Table:
    """Keep only the first row of each word; warn if rows are left out, as real files have repeats."""
    words, vectors, counts = table
    if len(set(words)) == len(words):
        return table
    first: dict[str, int] = {}
    for row, word in enumerate(words):
        first.setdefault(word, row)
    example = next(word for row, word in enumerate(words) if first[word] != row)
    message = "%s: %d rows were left out because their words occur in earlier rows, e.g. %r"
    logging.getLogger("unhot").warning(message, path, len(words) - len(first), example)
    kept = np.fromiter(first.values(), np.int64, len(first))
    return Table(list(first), vectors[kept], None if counts is None else counts[kept])


class Unwritable(NamedTuple):
    """The characters that words in a format cannot contain, and what replaces them."""

    characters: re.Pattern[str]
    instead: str = "_"  # replaces each of these characters
    empty: str = "_"  # replaces an empty word


WHITE_SPACE = Unwritable(re.compile("[ \t\n\v\f\r]"))
LINES_AND_TABS = Unwritable(re.compile("[\t\n\r]"))
SURROGATES = Unwritable(re.compile("[\ud800-\udfff]"), "\ufffd", empty="")  # from bytes that were not UTF-8
NUL = Unwritable(re.compile("\0"), empty="")


def writable_words(
    words: Sequence[str], unwritable: Unwritable = WHITE_SPACE
) -> tuple[list[str], dict[str, str]]:
    """Return the words as they are to be written, and a dictionary of renamed words -> new names."""
    taken = set(words)
    names, renamed = list(words), {}
    for row, word in enumerate(words):
        name = unwritable.characters.sub(unwritable.instead, word) or unwritable.empty
        if name == word:
            continue
        while name in taken:
            name += "_"
        taken.add(name)
        names[row] = renamed[word] = name
    return names, renamed
