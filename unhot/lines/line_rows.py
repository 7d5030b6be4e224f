"""Read lines of text as fastText does: find words, labels, and their rows in the input matrix.

A line has the rows of each word (its own, if it is known, then its character n-grams) and, in a supervised
model, of each run of 2 to wordNgrams words. If h_i is the hash of word i, as a signed 32-bit number, the run
of the words i to j is in the bucket

    (... (h_i P + h_i+1) P + ... + h_j)  mod 2^64  mod buckets,    P = 116049371

The end of a line is the word `</s>`, which is also part of runs.
"""

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from unhot.types import Counts
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import LINE_END
from unhot.vocab.vocabulary import encode_word

T = TypeVar("T")
TOKEN = re.compile(r"[^ \t\n\v\f\r\0]+|\n")
WORD = re.compile(r"[^ \t\n\v\f\r]+")  # when fastText reads words instead of lines, NUL is part of a word
# `</s>` written as a word, and the space after it
WRITTEN_END = re.compile(r"(?<![^ \t\n\v\f\r\0])</s>(?![^ \t\n\v\f\r\0])[ \t\v\f\r\0]?")
# the prefix of labels; fastText's files do not store the one used in training, so fastText assumes this one
LABEL = "__label__"
HASH_START, HASH_FACTOR = 2166136261, 16777619  # for hashes of words
RUN_FACTOR = 116049371  # for hashes of runs of words
MOST_KEPT, LONGEST_KEPT = 1 << 16, 64  # how many words are cached, and how long they may be
LOW_32, LOW_64 = 2**32 - 1, 2**64 - 1


class Line(NamedTuple):
    """The words of a line, including `</s>`, and those of its labels that the model knows."""

    words: list[str]
    labels: list[str]


def tokenize(text: str) -> list[str]:
    """Return the words of a text; a line feed becomes the word `</s>`."""
    return [LINE_END if token == "\n" else token for token in TOKEN.findall(text)]


def classifier_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines as fastText reads them for a classifier: a line also ends after a word `</s>`."""
    for line in lines:
        first = 0
        for end in WRITTEN_END.finditer(line) if LINE_END in line else ():
            yield line[first : end.end()]
            first = end.end()
        if first < len(line):
            yield line[first:]


def remembered(function: Callable[[str], T]) -> Callable[[str], T]:
    """Return the function with a cache for short words.

    A few words make up most of a text. Long words are not cached, because they have many n-grams.
    """
    kept = functools.lru_cache(MOST_KEPT)(function)

    @functools.wraps(function)
    def remembering(word: str) -> T:
        return kept(word) if len(word) <= LONGEST_KEPT else function(word)

    return remembering


@remembered
def word_hash(word: str) -> int:
    """Return the 32-bit FNV-1a hash with fastText's slip: a byte above 127 also flips the upper 24 bits."""
    state = HASH_START
    for byte in encode_word(word):
        state = ((state ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * HASH_FACTOR) & LOW_32
    return state


def run_hashes(words: Sequence[str], longest: int) -> list[int]:
    """Return 64-bit hashes of all runs of 2 to `longest` words, ordered by first word, then by length."""
    signed = [state - 2**32 if state >= 2**31 else state for state in map(word_hash, words)]
    out = []
    for i, state in enumerate(signed):
        for following in signed[i + 1 : i + longest]:
            state = (state * RUN_FACTOR + following) & LOW_64
            out.append(state)
    return out


class Lines:
    """Split lines into words and labels, and find the rows of words."""

    def __init__(self, vectors: SubwordVectors, labels: dict[str, int], longest_run: int) -> None:
        self._vectors, self._rows = vectors, vectors.rows
        self._labels = labels
        self._longest = longest_run
        self.word_rows = remembered(self._word_rows)

    def split(self, text: str) -> Line:
        """Return the words and labels of a text up to the first line end."""
        line = Line([], [])
        for token in tokenize(text):
            if token in self._labels:
                line.labels.append(token)
            elif token in self._vectors.key_to_index or not token.startswith(LABEL):
                line.words.append(token)
            if token == LINE_END:
                break
        return line

    def rows(self, words: Sequence[str]) -> Counts:
        """Return the input rows for the words of a line, in fastText's order; -1 stands for zeros."""
        parts = [self.word_rows(word) for word in words]
        subwords = self._rows.subwords
        if self._longest > 1 and subwords.buckets:
            runs = np.array(run_hashes(words, self._longest), np.uint64) % np.uint64(subwords.buckets)
            rows = self._rows.rows_of(runs.astype(np.int32))
            parts.append(rows[rows >= 0] if self._rows.skips else rows)
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _word_rows(self, word: str) -> Counts:
        """Return the row of a word, if it is known, and the rows of its n-grams."""
        id = self._vectors.key_to_index.get(word)
        if self._rows.subwords.maxn == 0:  # the model has no n-grams
            return np.array([] if id is None else [self._rows.word_rows[id]], np.int64)
        return self._rows.parts(word, id)
