"""Word similarity: measure whether words that people find similar have similar vectors.

    Pearson    r(x, y) = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
    Spearman   r of the ranks of x and y; equal values share the mean of their ranks

x are people's scores, y the cosines. A file has lines of word, word, score (WordSim-353, SimLex-999, RG-65,
MEN ...). The separator is the first of tab, semicolon, comma and white space that occurs in the line. The
score is the first number after the two words; further columns are ignored. Lines that begin with # are
comments, and a first line without a number is a header. Pairs with an unknown word are left out and counted;
with `unseen=True`, words that are not in the vocabulary are composed of their n-grams instead.

By default a word is looked up as it is spelled, then in any case (`case`, see `lookup.py`). gensim's
`evaluate_word_pairs` corresponds to `case="ignore", restrict_vocab=300_000`; the results differ only if the
vocabulary has words that differ in case.

The intervals are bootstraps over pairs.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.errors import whole
from unhot.evaluate.figures import Interval, WordFigures, bootstrap, share
from unhot.evaluate.files import File, nothing_asked, numbered_lines, question_file, wrong_line
from unhot.evaluate.lookup import look_up
from unhot.types import Doubles
from unhot.vectors.word_rows import KeyedWords

DIGITS = 12  # cosines are rounded to this many exact digits, so that every word is equally similar to itself
ROUNDING = 1e-13  # relative size of rounding errors, see `weighted_pearson`
TRIPLE = "word, word and score, separated by tabs, semicolons, commas or white space"


class Pair(NamedTuple):
    """Two words, and how similar people find them."""

    a: str
    b: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Similarity(WordFigures):
    """Correlations of people's scores with cosines, and how they were measured.

    A correlation that is not defined is NaN.
    """

    unseen: bool  # whether words composed of n-grams count
    pairs: int
    unknown: int  # pairs left out because a word is unknown
    spearman: float
    spearman_interval: Interval
    pearson: float
    pearson_interval: Interval

    @property
    def unknown_ratio(self) -> float:
        """The share of pairs that were left out."""
        return share(self.unknown, self.pairs)


def similarity(
    vectors: KeyedWords,  # Vectors or SparseVectors
    source: File,
    *,
    restrict_vocab: int | None = None,
    case: str = "prefer",
    unseen: bool = False,
    seed: int = 1,
) -> Similarity:
    """Measure how well cosines agree with the scores of a file.

    restrict_vocab   only the first this many words are known; None: all
    case             exact, prefer or ignore: see `unhot.evaluate.lookup`
    unseen           compose words that are not in the vocabulary of their n-grams
    seed             seed of the intervals
    """
    lookup = look_up(vectors, restrict_vocab=restrict_vocab, case=case, unseen=unseen)
    seed = whole("seed", seed, 0, 2**64 - 1)
    pairs = read_pairs(source)
    rows = np.array([(lookup.row(a), lookup.row(b)) for a, b, _ in pairs], np.int32)  # [pairs, 2]
    known = (rows >= 0).all(axis=1)
    scores = np.array([pair.score for pair in pairs])[known]
    cosines = lookup.pair_cosines(rows[known, 0], rows[known, 1]).round(DIGITS)
    once = np.ones(scores.size, np.int64)
    return Similarity(
        file=os.fspath(source),
        restrict_vocab=restrict_vocab,
        case=case,
        unseen=unseen,
        seed=seed,
        pairs=len(pairs),
        unknown=len(pairs) - scores.size,
        spearman=spearman(scores, cosines),
        spearman_interval=bootstrap(once, lambda weights: weighted_spearman(scores, cosines, weights), seed),
        pearson=pearson(scores, cosines),
        pearson_interval=bootstrap(once, lambda weights: weighted_pearson(scores, cosines, weights), seed),
    )


def read_pairs(source: File) -> list[Pair]:
    """Read the pairs of a file."""
    pairs: list[Pair] = []
    path, first = question_file(source), True
    for number, line in numbered_lines(path):
        if not line or line.startswith("#"):
            continue
        fields = _fields(line)
        pair = _pair(fields)
        if pair is not None:
            pairs.append(pair)
        elif not (first and len(fields) >= 3 and not any(map(_is_number, fields))):  # a header
            raise wrong_line(path, number, line, TRIPLE)
        first = False
    if not pairs:
        raise nothing_asked(path, TRIPLE)
    return pairs


def _fields(line: str) -> list[str]:
    separator = next((each for each in "\t;," if each in line), None)  # None: white space
    return [field.strip().strip('"').strip() for field in line.split(separator)]


def _is_number(field: str) -> bool:
    """Return whether a field is a number, even one that is not finite or has a decimal comma."""
    try:
        float(field.replace(",", "."))
    except ValueError:
        return False
    return True


def _pair(fields: list[str]) -> Pair | None:
    """Return a line's fields as a pair; None if there is no finite number after two words."""
    for field in fields[2:]:
        try:
            score = float(field)
        except ValueError:
            continue
        return Pair(fields[0], fields[1], score) if fields[0] and fields[1] and math.isfinite(score) else None
    return None


def pearson(x: Doubles, y: Doubles) -> float:
    """Return Pearson's correlation; NaN if x or y has fewer than two different values."""
    return float(weighted_pearson(x, y, np.ones((1, x.size)))[0])


def spearman(x: Doubles, y: Doubles) -> float:
    """Return Spearman's rank correlation.

    >>> spearman(np.array([1.0, 2, 2, 3]), np.array([5.0, 6, 7, 8])).__round__(6)
    0.948683
    """
    return float(weighted_spearman(x, y, np.ones((1, x.size)))[0])


def weighted_pearson(x: Doubles, y: Doubles, weights: Doubles) -> Doubles:
    """Return Pearson's correlation of x and y, [n] or [rows, n], for each row of weights [rows, n].

    In row r, observation i counts weights[r, i] times.
    """
    if weights.shape[1] == 0:
        return np.full(len(weights), np.nan)
    x, y = _scaled(x), _scaled(y)
    n = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / n
    dy = y - (weights * y).sum(axis=1, keepdims=True) / n
    xx = (weights * dx * dx).sum(axis=1)
    yy = (weights * dy * dy).sum(axis=1)
    xy = (weights * dx * dy).sum(axis=1)
    # rounding gives equal values a small variance; anything up to this counts as zero
    least_x, least_y = (n[:, 0] * (ROUNDING * np.abs(values).max()) ** 2 for values in (x, y))
    varied = (xx > least_x) & (yy > least_y)
    r = np.full(len(weights), np.nan)
    r[varied] = np.clip(xy[varied] / np.sqrt(xx[varied]) / np.sqrt(yy[varied]), -1.0, 1.0)
    return r


def _scaled(values: Doubles) -> Doubles:
    """Return the values divided by a power of two, exactly, so that no square overflows."""
    return np.asarray(np.ldexp(values, -np.frexp(np.abs(values).max())[1]))


def weighted_spearman(x: Doubles, y: Doubles, weights: Doubles) -> Doubles:
    """Return Spearman's correlation, as `weighted_pearson` of the ranks."""
    return weighted_pearson(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)


def weighted_ranks(values: Doubles, weights: Doubles) -> Doubles:
    """Return the rank [rows, n] of each value, where value i counts weights[r, i] times in row r.

    Equal values share the mean of their ranks.

    >>> weighted_ranks(np.array([7.0, 3, 7]), np.array([[1.0, 1, 1], [2, 1, 0]]))
    array([[2.5, 1. , 2.5],
           [2.5, 1. , 2.5]])
    """
    if values.size == 0:
        return np.zeros_like(weights)
    different, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(different.size))
    times = np.add.reduceat(weights[:, order], starts, axis=1)  # [rows, different]
    ranks = np.cumsum(times, axis=1) - (times - 1) / 2  # the mean of the last `times` ranks up to the sum
    return np.asarray(ranks[:, which])
