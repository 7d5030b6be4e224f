"""Word similarity: whether pairs that people find similar have similar vectors.

    Pearson    r(x, y) = sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2)
    Spearman   r of the ranks of x and y; equal values share the mean of their ranks

x are people's scores, y the cosines. A file is lines of word, word, score (WordSim-353, SimLex-999, RG-65,
MEN ...), separated by tabs, semicolons, commas or white space: of these the first that is in the line. The
score is the first number behind the two words, and further columns are not read. Lines that begin with # are
comments, and a first line without a number is a header. Pairs with an unknown word are left out and counted;
with `unseen=True` words that are not in the vocabulary are made of their n-grams instead.

By default a word is looked for as it is spelled, then in any case (`case`, see `lookup.py`). Figures of
gensim's `evaluate_word_pairs` are those of `case="ignore", restrict_vocab=300_000`; without case variants
among the words there is no difference.

The interval is the bootstrap's over pairs.
"""

import math
import os
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unhot.errors import whole
from unhot.evaluate.bootstrap import LEVEL, RESAMPLES, Interval, bootstrap
from unhot.evaluate.figures import Figures, share
from unhot.evaluate.files import File, nothing_asked, numbered_lines, question_file, wrong_line
from unhot.evaluate.lookup import look_up
from unhot.types import Doubles
from unhot.vectors.sparse_vectors import SparseVectors
from unhot.vectors.store import Vectors

DIGITS = 12  # of a cosine that are exact: every word is equally similar to itself
ROUNDING = 1e-13
TRIPLE = "word, word and score, separated by tabs, semicolons, commas or white space"


class Pair(NamedTuple):
    """Two words and how similar people find them."""

    a: str
    b: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Similarity(Figures):
    """Correlations of a file's scores with cosines, and how they were measured.

    NaN where they are not defined.
    """

    file: str
    restrict_vocab: int | None
    case: str
    unseen: bool  # words made of n-grams count
    seed: int
    pairs: int
    unknown: int  # of them left out
    spearman: float
    spearman_interval: Interval
    pearson: float
    pearson_interval: Interval
    resamples: int = RESAMPLES
    level: float = LEVEL

    @property
    def unknown_ratio(self) -> float:
        """Share of the pairs that were left out."""
        return share(self.unknown, self.pairs)


def similarity(
    vectors: Vectors | SparseVectors,
    source: File,
    *,
    restrict_vocab: int | None = None,
    case: str = "prefer",
    unseen: bool = False,
    seed: int = 1,
) -> Similarity:
    """How well cosines agree with the scores of a file.

    restrict_vocab   only so many words are known, the first ones; None: all
    case             exact, prefer or ignore: see `unhot.evaluate.lookup`
    unseen           make words that are not in the vocabulary of their n-grams
    seed             of the intervals
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
    """The pairs of a file."""
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
    """Also one that is not finite, or has a decimal comma."""
    try:
        float(field.replace(",", "."))
    except ValueError:
        return False
    return True


def _pair(fields: list[str]) -> Pair | None:
    """None if there is no number behind two words."""
    for field in fields[2:]:
        try:
            score = float(field)
        except ValueError:
            continue
        return Pair(fields[0], fields[1], score) if fields[0] and fields[1] and math.isfinite(score) else None
    return None


def pearson(x: Doubles, y: Doubles) -> float:
    """Pearson's correlation; NaN of fewer than two different values."""
    return float(weighted_pearson(x, y, np.ones((1, x.size)))[0])


def spearman(x: Doubles, y: Doubles) -> float:
    """Spearman's rank correlation.

    >>> spearman(np.array([1.0, 2, 2, 3]), np.array([5.0, 6, 7, 8])).__round__(6)
    0.948683
    """
    return float(weighted_spearman(x, y, np.ones((1, x.size)))[0])


def weighted_pearson(x: Doubles, y: Doubles, weights: Doubles) -> Doubles:
    """The correlation of x and y, [n] or [rows, n], for each row of weights [rows, n].

    Observation i is there weights[., i] times.
    """
    if weights.shape[1] == 0:
        return np.full(len(weights), np.nan)
    n = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / n
    dy = y - (weights * y).sum(axis=1, keepdims=True) / n
    xx = (weights * dx * dx).sum(axis=1)
    yy = (weights * dy * dy).sum(axis=1)
    xy = (weights * dx * dy).sum(axis=1)
    # Rounding leaves a little variance to equal values: no more than this.
    least_x, least_y = (n[:, 0] * (ROUNDING * np.abs(values).max()) ** 2 for values in (x, y))
    varied = (xx > least_x) & (yy > least_y)
    r = np.full(len(weights), np.nan)
    r[varied] = np.clip(xy[varied] / np.sqrt(xx[varied]) / np.sqrt(yy[varied]), -1.0, 1.0)
    return r


def weighted_spearman(x: Doubles, y: Doubles, weights: Doubles) -> Doubles:
    """The same of ranks."""
    return weighted_pearson(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)


def weighted_ranks(values: Doubles, weights: Doubles) -> Doubles:
    """[rows, n] the rank of each value among all, each there as often as its weight.

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
    ranks = np.cumsum(times, axis=1) - (times - 1) / 2
    return np.asarray(ranks[:, which])
