"""Split lines into words and labels, and find the rows of the words, in plain Python.

A line has the rows of each word (its own, if it is known, then its character n-grams) and of each run of 2 to
n words (run_hashes.py), whose hash, modulo the number of buckets, is its bucket. A line ends with the word
`</s>`, which is also part of runs, as in fastText.

This needs no compiler, so it answers at once; line_sums.py does the same for many lines in compiled code.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from unhot.lines.run_hashes import LONGEST_KEPT, remembered, run_hashes, word_hash
from unhot.types import Counts
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import LINE_END

TOKEN = re.compile(r"[^ \t\n\v\f\r\0]+|\n")
WORD = re.compile(r"[^ \t\n\v\f\r]+")  # when fastText reads words instead of lines, NUL is part of a word
# `</s>` written as a word, and the space after it
WRITTEN_END = re.compile(r"(?<![^ \t\n\v\f\r\0])</s>(?![^ \t\n\v\f\r\0])[ \t\v\f\r\0]?")
# the prefix of labels; fastText's files do not store the one used in training, so fastText assumes this one
LABEL = "__label__"


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


class LineRows:
    """The words of a model and their rows; finds the rows of any line."""

    def __init__(
        self,
        index: Mapping[str, int],
        rows: SubwordRows,
        longest_run: int,
        labels: Mapping[str, int],
        prefix: str = LABEL,
        distinct: bool = False,
    ) -> None:
        """Take word -> id, the rows of words and n-grams, and the labels that words are told from.

        longest_run    words of the longest runs that have rows, 1: runs have none
        distinct       each known word and each run counts once in a line
        """
        self.index, self.source = index, rows
        self.longest, self.prefix = longest_run, prefix
        self._labels, self._distinct = labels, distinct
        self.word_rows = remembered(self._word_rows)

    def split(self, text: str) -> Line:
        """Return the words and labels of a text up to the first line end."""
        line = Line([], [])
        for token in tokenize(text):
            if token in self._labels:
                line.labels.append(token)
            elif token in self.index or not token.startswith(self.prefix):
                line.words.append(token)
            if token == LINE_END:
                break
        return line

    def rows(self, words: Sequence[str]) -> Counts:
        """Return the input rows for the words of a line, in fastText's order; -1 stands for zeros."""
        runs = self.run_buckets(words)
        if self._distinct:
            known = [word for word in dict.fromkeys(words) if word in self.index]
            words = known + [word for word in words if word not in self.index]
            runs = list(dict.fromkeys(runs))
        parts = [self.word_rows(word) for word in words]
        return np.concatenate([np.empty(0, np.int64), *parts, self._found(runs)])

    def run_buckets(self, words: Sequence[str]) -> list[int]:
        """Return the buckets of the runs of words, in the order of `run_hashes`."""
        buckets = self.source.subwords.buckets
        if self.longest < 2 or not buckets:
            return []
        return [state % buckets for state in run_hashes(words, self.longest)]

    def _found(self, buckets: list[int]) -> Counts:
        rows = self.source.rows_of(np.array(buckets, np.int32))
        return rows[rows >= 0] if self.source.skips else rows

    def _word_rows(self, word: str) -> Counts:
        """Return the row of a word, if it is known, and the rows of its n-grams."""
        id = self.index.get(word)
        subwords = self.source.subwords
        if subwords.maxn and len(word) > LONGEST_KEPT:  # many n-grams: worth waiting for compiled code
            return self.source.parts(word, id)
        own = np.array([] if id is None else [self.source.word_rows[id]], np.int64)
        if not subwords.maxn or word == LINE_END:
            return own
        ngrams = [word_hash(ngram) % subwords.buckets for ngram in subwords.ngrams(word)]
        return np.concatenate([own, self._found(ngrams)])
