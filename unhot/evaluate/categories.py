"""Categorisation: measure how well clusters of vectors agree with categories made by people.

    purity = 1/n sum over clusters of the number of its words that are in its most frequent category

Spherical k-means (`clusters`) puts the known words into as many clusters as they have categories. It keeps
the best of ten starts by its own objective, without using the categories. A purity of 1 is perfect; a single
cluster would have the share of the most frequent category. Published figures often come from other clustering
programs (CLUTO), so compare them with a tolerance of a few points.

A file is CSV whose first line names the columns `word` and `category` (a line without a word is skipped), or
lines of `word<TAB>category`. A word in several categories has several lines. Unknown words are left out and
counted. The interval is a bootstrap over words with fixed clusters; another seed of the clusters changes the
purity, too.

Reference: Baroni, Dinu and Kruszewski 2014.
"""

import csv
import math
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unhot.errors import whole
from unhot.evaluate.figures import NO_INTERVAL, Interval, WordFigures, mean_interval
from unhot.evaluate.files import File, nothing_asked, numbered_lines, question_file, wrong_line
from unhot.evaluate.lookup import Lookup
from unhot.types import Doubles
from unhot.vectors.store import Vectors

COLUMNS = ("word", "category")
LINES = "`word<TAB>category`, or CSV with the columns word and category in its first line"
RESTARTS = 10
ROUNDS = 100  # a start that has not converged after this many rounds is taken as it is


@dataclass(frozen=True, kw_only=True)
class Categories(WordFigures):
    """The purity of clusters, and how it was measured; NaN if no word is known."""

    words: int
    unknown: int  # unknown words, which are left out
    categories: int  # categories of the known words, and so the number of clusters
    purity: float
    interval: Interval
    largest: float  # share of the most frequent category: the purity of a single cluster
    restarts: int = RESTARTS


def categories(
    vectors: Vectors, source: File, *, restrict_vocab: int | None = None, case: str = "prefer", seed: int = 1
) -> Categories:
    """Cluster the vectors of a file's words, and return the purity of the clusters.

    restrict_vocab   only the first this many words are known; None: all
    case             exact, prefer or ignore: see `unhot.evaluate.lookup`
    seed             seed of the clusters and of the interval
    """
    lookup = Lookup(vectors, restrict_vocab=restrict_vocab, case=case)
    seed = whole("seed", seed, 0, 2**64 - 1)
    entries = read_categories(source)
    rows = np.array([lookup.row(word) for word, _ in entries], np.int32)
    known = rows >= 0
    kinds, which = np.unique([category for _, category in entries], return_inverse=True)
    which = which[known]
    present = np.unique(which)
    purity = largest = math.nan
    interval = NO_INTERVAL
    if which.size:
        labels = clusters(lookup.units(rows[known]), present.size, seed)
        counts = np.zeros((present.size, kinds.size), np.int64)  # [clusters, categories]
        np.add.at(counts, (labels, which), 1)
        # [words] whether each word is in the most frequent category of its cluster
        fits = counts.argmax(axis=1)[labels] == which
        purity = float(fits.mean())
        interval = mean_interval(fits, seed)
        largest = float(counts.sum(axis=0).max() / which.size)
    return Categories(
        file=os.fspath(source),
        restrict_vocab=restrict_vocab,
        case=case,
        seed=seed,
        words=len(entries),
        unknown=len(entries) - which.size,
        categories=int(present.size),
        purity=purity,
        interval=interval,
        largest=largest,
    )


def read_categories(source: File) -> list[tuple[str, str]]:
    """Read (word, category) from every line of a file."""
    path = question_file(source)
    lines = [(number, line) for number, line in numbered_lines(path) if line and not line.startswith("#")]
    first = lines[0][1].lower() if lines else ""
    header = [name.strip() for name in _csv(first)]
    with_header = set(COLUMNS) <= set(header)
    names_columns = with_header or [name.strip() for name in first.split("\t")] == [*COLUMNS]
    word, category = 0, 1
    accepted = LINES
    if with_header:
        word, category = (header.index(name) for name in COLUMNS)
        accepted = f"{len(header)} columns, as in the first line"
    entries = []
    for number, line in lines[names_columns:]:
        parts = _csv(line) if with_header else line.split("\t" if "\t" in line else None)
        fields = [part.strip() for part in parts]
        if len(fields) != (len(header) if with_header else 2) or not fields[category]:
            raise wrong_line(path, number, line, accepted)
        if fields[word]:  # in the usual CSV files, each category ends with a line without a word
            entries.append((fields[word], fields[category]))
    if not entries:
        raise nothing_asked(path, LINES)
    return entries


def _csv(line: str) -> list[str]:
    """Return the fields of a CSV line; an empty list if it cannot be parsed."""
    try:
        return next(csv.reader([line]))
    except csv.Error:  # a field of more than 131,072 characters
        return []


def clusters(units: Doubles, k: int, seed: int = 1) -> NDArray[np.int64]:
    """Return the cluster 0 .. k - 1 of each unit vector [n, dim], by spherical k-means; 1 <= k <= n.

        maximise  sum over clusters of |sum of its vectors|   =   sum over vectors of cos(vector, sum of its
                  cluster)

    Each round assigns every vector to the nearest centre, the direction of the sum of a cluster, and then
    moves the centres, until nothing changes. The first centres are drawn as in k-means++: each next one with
    a probability proportional to 1 - cos with the nearest centre so far. The best of several starts is kept.

    References: Dhillon and Modha 2001; Arthur and Vassilvitskii 2007.

    A cluster can be empty only if some vectors are equal.

    >>> clusters(np.eye(2)[[0, 1, 1, 0]], 2).tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    True
    """
    rng = np.random.default_rng(seed)
    found = [_settle(units, _start(units, k, rng)) for _ in range(RESTARTS)]
    return max(found, key=lambda settled: settled[1])[0]


def _start(units: Doubles, k: int, rng: np.random.Generator) -> Doubles:
    """Draw the first centres."""
    centres = [units[rng.integers(len(units))]]
    apart = 1 - units @ centres[0]
    while len(centres) < k:
        weights = np.maximum(apart, 0.0)
        total = weights.sum()
        # p=None draws uniformly, if all vectors are equal
        drawn = rng.choice(len(units), p=weights / total if total > 0 else None)
        centres.append(units[drawn])
        apart = np.minimum(apart, 1 - units @ centres[-1])
    return np.array(centres)


def _settle(units: Doubles, centres: Doubles) -> tuple[NDArray[np.int64], float]:
    """Run rounds until the clusters no longer change; return them and their objective."""
    labels = np.full(len(units), -1, np.int64)
    for _ in range(ROUNDS):
        cosines = units @ centres.T  # [n, k]
        nearest = cosines.argmax(axis=1)
        _fill(nearest, cosines)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, units)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # if the vectors of a cluster cancel out, its centre stays where it was
        centres = np.divide(sums, lengths, out=centres.copy(), where=lengths > 0)
    return labels, float(np.einsum("ij,ij->", units, centres[labels]))


def _fill(labels: NDArray[np.int64], cosines: Doubles) -> None:
    """Move into each empty cluster the vector that fits its own cluster worst; never empty a cluster."""
    sizes = np.bincount(labels, minlength=cosines.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        own = np.where(sizes[labels] > 1, cosines[np.arange(labels.size), labels], np.inf)
        worst = int(own.argmin())
        sizes[labels[worst]] -= 1
        sizes[empty] += 1
        labels[worst] = empty
