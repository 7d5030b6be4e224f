"""Pointwise mutual information: how much more often two words stand near each other than by chance.

    PMI(i, j) = log( P(i, j) / (P(i) P(j)) ) - log shift

    P(i, j) = X[i, j] / sum X
    P(i)    = sum_j X[i, j] / sum X
    P(j)    = (sum_i X[i, j])^smoothing / sum_j (sum_i X[i, j])^smoothing

With smoothing < 1 rare contexts count as more frequent than they are, which lowers their PMI. `shift` = k has
the effect of k noise words in negative sampling: skip-gram with `negative:k=k,power=1,hits=keep` has its
optimum at scores log(P(i, j) / (P(i) P(j))) - log k, and its `power` smooths the noise in the same way.
Positive PMI is max(PMI, 0). Pairs that never occur have a PMI of minus infinity, and negative values are
mostly chance, so both become zero. Zeros are not stored, so the result is sparse.

References: Church and Hanks 1990; Levy and Goldberg, Neural word embedding as implicit matrix factorization,
2014; Levy, Goldberg and Dagan, Improving distributional similarity with lessons learned from word embeddings,
2015.
"""

import math
import os

import numpy as np

from unhot.corpus.cells import Cells, CellsWriter
from unhot.corpus.cells.sparse_rows import cuts, information, rows_of
from unhot.errors import ConfigError, DataError, at_least, whole
from unhot.threads import in_order
from unhot.types import Counts, Doubles, Ids

BLOCK = 1 << 20  # cells that a thread computes at once
SMALLEST_SHIFT = 1e-300


def reference(x: Doubles, *, positive: bool = True, shift: float = 1.0, smoothing: float = 0.75) -> Doubles:
    """Compute the formula for a dense matrix; -inf where x is 0, or 0 if positive.

    >>> reference(np.array([[1.0, 0], [0, 1]]), smoothing=1.0).round(3)
    array([[0.693, 0.   ],
           [0.   , 0.693]])
    """
    contexts = x.sum(axis=0) ** smoothing
    with np.errstate(divide="ignore"):
        found = (
            np.log(x / x.sum())
            - np.log(x.sum(axis=1, keepdims=True) / x.sum())
            - np.log(contexts / contexts.sum())
            - math.log(shift)
        )
    return np.asarray(np.maximum(found, 0.0) if positive else found)


def pmi(
    cells: Cells,
    *,
    positive: bool = True,
    shift: float = 1.0,
    smoothing: float = 0.75,
    threads: int = 2,
    directory: str | os.PathLike[str] | None = None,
) -> Cells:
    """Compute the PMI of each cell; the result is cells again.

    positive    keep only cells with a PMI above zero; False: keep all cells, also the negative ones
    shift       k: log k is subtracted from every PMI
    smoothing   exponent of the context sums; 1: no smoothing
    directory   where to keep the result; None: a temporary directory
    """
    shift, smoothing = at_least("shift", shift, SMALLEST_SHIFT), at_least("smoothing", smoothing, 0)
    threads = whole("threads", threads, 1)
    if not isinstance(positive, (bool, np.bool_)):
        raise ConfigError(f"positive={positive!r}: must be true or false")
    if len(cells) and not cells.values.min() > 0:
        raise DataError(
            f"a cell has the value {cells.values.min()}: PMI needs counts above zero; give cells as they "
            "were counted"
        )
    settings = {
        "pmi": {"positive": bool(positive), "shift": shift, "smoothing": smoothing},
        "cells": cells.settings,
    }
    with CellsWriter(cells.vocabulary, directory) as writer:
        _fill(writer, cells, *_terms(cells, shift, smoothing), bool(positive), threads)
        return writer.finish(settings)


def _terms(cells: Cells, shift: float, smoothing: float) -> tuple[Doubles, Doubles]:
    """Return the terms of rows and of columns: PMI(i, j) = log X[i, j] + rows[i] + columns[j].

    Terms of rows and columns without a cell are never used.
    """
    if not len(cells):
        return np.zeros(0), np.zeros(0)
    sums = cells.column_sums()
    with np.errstate(divide="ignore", over="ignore"):
        rows, columns = np.log(cells.row_sums()), np.log(sums)
        # the logarithms of the powers, relative to the largest: the powers themselves may underflow
        powers = np.full(sums.size, -np.inf if smoothing else 0.0)
        powers[sums > 0] = smoothing * (columns[sums > 0] - columns.max())
    if np.isinf(powers[sums > 0]).any():
        raise ConfigError(
            f"smoothing={smoothing:g}: the context sums to that power overflow; use a value near 1"
        )
    return -rows - math.log(shift), np.log(np.exp(powers).sum()) - powers


def _fill(
    writer: CellsWriter, cells: Cells, row_terms: Doubles, column_terms: Doubles, positive: bool, threads: int
) -> None:
    rows = rows_of(cells.starts, cells.columns, cells.values)

    def work(part: tuple[int, int]) -> tuple[Counts, Ids, Doubles]:
        begin, end = part
        size = int(cells.starts[end] - cells.starts[begin])
        lengths, columns = np.empty(end - begin, np.int64), np.empty(size, np.int32)
        values = np.empty(size)
        count = information(rows, row_terms, column_terms, positive, begin, end, lengths, columns, values)
        return lengths, columns[:count], values[:count]

    parts = cuts(cells.starts, -(-len(cells) // BLOCK) or 1)
    for found in in_order(parts, work, threads):
        writer.append(*found)
