"""A line of text as fastText sees it: words, labels, and the rows of the input matrix that stand for it.

The rows are those of each word (its own, if it is known, then its character n-grams) and, in a supervised
model, of each run of 2 to wordNgrams words. With h_i the hash of word i, as a signed 32-bit number, the run
of the words i to j is in the bucket

    (... (h_i P + h_i+1) P + ... + h_j)  mod 2^64  mod buckets,    P = 116049371

The end of a line is a word, `</s>`, and takes part in both.
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
WORD = re.compile(r"[^ \t\n\v\f\r]+")  # where fastText reads words and not lines, NUL is a byte like others
# as a word, and the space behind it
WRITTEN_END = re.compile(r"(?<![^ \t\n\v\f\r\0])</s>(?![^ \t\n\v\f\r\0])[ \t\v\f\r\0]?")
# fastText's files do not say which prefix they were trained with: it reads them with this one
LABEL = "__label__"
HASH_START, HASH_FACTOR = 2166136261, 16777619  # of words
RUN_FACTOR = 116049371  # of runs of words
MOST_KEPT, LONGEST_KEPT = 1 << 16, 64  # words whose hashes and rows are remembered, and their characters
LOW_32, LOW_64 = 2**32 - 1, 2**64 - 1


class Line(NamedTuple):
    """The words of a line, `</s>` included, and those of its labels that the model knows."""

    words: list[str]
    labels: list[str]


def tokenize(text: str) -> list[str]:
    """The words of a text; a line feed is the word `</s>`."""
    return [LINE_END if token == "\n" else token for token in TOKEN.findall(text)]


def classifier_lines(lines: Iterable[str]) -> Iterator[str]:
    """Lines of a file as fastText reads them for a classifier: a line also ends behind a word `</s>`."""
    for line in lines:
        first = 0
        for end in WRITTEN_END.finditer(line) if LINE_END in line else ():
            yield line[first : end.end()]
            first = end.end()
        if first < len(line):
            yield line[first:]


def remembered(function: Callable[[str], T]) -> Callable[[str], T]:
    """The function, with a memory for short words.

    Few words make up most of a text, and long ones have many n-grams.
    """
    kept = functools.lru_cache(MOST_KEPT)(function)

    @functools.wraps(function)
    def remembering(word: str) -> T:
        return kept(word) if len(word) <= LONGEST_KEPT else function(word)

    return remembering


@remembered
def word_hash(word: str) -> int:
    """32-bit FNV-1a with fastText's slip: a byte above 127 flips the upper 24 bits, too."""
    state = HASH_START
    for byte in encode_word(word):
        state = ((state ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * HASH_FACTOR) & LOW_32
    return state


def run_hashes(words: Sequence[str], longest: int) -> list[int]:
    """64-bit hashes of all runs of 2 to `longest` words, by their first word and then by length."""
    signed = [state - 2**32 if state >= 2**31 else state for state in map(word_hash, words)]
    out = []
    for i, state in enumerate(signed):
        for following in signed[i + 1 : i + longest]:
            state = (state * RUN_FACTOR + following) & LOW_64
            out.append(state)
    return out


class Lines:
    """What splits lines, and finds their rows."""

    def __init__(self, vectors: SubwordVectors, labels: dict[str, int], longest_run: int) -> None:
        self._vectors, self._rows = vectors, vectors.rows
        self._labels = labels
        self._longest = longest_run
        self.word_rows = remembered(self._word_rows)

    def split(self, text: str) -> Line:
        """The words and labels up to the end of the line."""
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
        """The rows of the input matrix for a line of words, in fastText's order; -1 for a row of zeros."""
        parts = [self.word_rows(word) for word in words]
        subwords = self._rows.subwords
        if self._longest > 1 and subwords.buckets:
            runs = np.array(run_hashes(words, self._longest), np.uint64) % np.uint64(subwords.buckets)
            rows = self._rows.rows_of(runs.astype(np.int32))
            parts.append(rows[rows >= 0] if self._rows.skips else rows)
        return np.concatenate([np.empty(0, np.int64), *parts])

    def _word_rows(self, word: str) -> Counts:
        """The row of a word, if it is known, and those of its n-grams."""
        id = self._vectors.key_to_index.get(word)
        if self._rows.subwords.maxn == 0:  # nothing to cut
            return np.array([] if id is None else [self._rows.word_rows[id]], np.int64)
        return self._rows.parts(word, id)
