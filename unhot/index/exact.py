"""Exact search: find the rows of a matrix with the highest cosines to queries.

A compiled kernel screens all rows with 8-bit copies of them and confirms the best in float64 (see
topk.py). The copy takes a quarter of the matrix's memory and is made at the first search. The matrix itself
may stay memory-mapped on disk, because only rows near a query are read. With few queries, threads share the
rows; with many, they share the queries.

Loading the compiled kernel takes some tenths of a second, which is not worth it for a single query. So a
process begins with NumPy, which gives the same answers, and switches to the kernel after some dozens of
queries (on 68,000 rows), or at once if that many come together.

Rows of equal cosine (as float32) are ordered by their numbers. Rows without a direction (all zeros, or not
finite) are never found. The result does not depend on the number of threads.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import ConfigError, DataError, whole
from unhot.index import lengths
from unhot.largest import largest
from unhot.types import Counts, Doubles, Floats

if TYPE_CHECKING:
    from unhot.index.screened import Screened

# after this many multiplications in NumPy (about 0.06 s), loading the compiled kernel is worth its time
LOADING = 300_000_000
CHUNK = 1 << 13  # queries prepared at a time


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked_queries(queries: ArrayLike, dim: int) -> NDArray[Any]:
    """Return the queries as a matrix [n, dim]; raise a `DataError` if they have another shape."""
    given = np.asarray(queries)
    if given.ndim != 2 or given.shape[1] != dim:
        raise DataError(f"queries has shape {given.shape}: give a matrix with {dim} numbers in each row")
    return given


def lines_of(exclude: ArrayLike | None, queries: int) -> Counts:
    """Return `exclude` as an array [queries, m] of rows that each query must not find."""
    given = np.empty((queries, 0)) if exclude is None else exclude
    barred = np.ascontiguousarray(given, dtype=np.int64)
    if barred.ndim != 2 or len(barred) != queries:
        raise DataError(
            f"exclude has shape {barred.shape} for {queries} queries: give one line of rows for each query"
        )
    return barred


def nothing_found(queries: int, k: int) -> tuple[Counts, Floats]:
    """Return empty results of k neighbours for each query: rows of -1 and cosines of -inf."""
    return np.full((queries, k), -1, np.int64), np.full((queries, k), -np.inf, np.float32)


def search_plain(
    vectors: Floats, norms: Doubles, unit: Doubles, k: int, exclude: Counts, first: int
) -> tuple[Counts, Floats]:
    """Return the (at most) k rows nearest to a unit vector and their cosines, with NumPy; ties by row.

    Rows are numbered from `first` on. One float32 product computes all cosines. Then the cosines of all rows
    that could be among the best k, despite rounding, are computed again in float64.
    """
    scores = np.where(
        lengths.directed(norms), lengths.cosines_with(unit, vectors, norms), np.float32(-np.inf)
    )
    here = exclude[(exclude >= first) & (exclude < first + len(vectors))]
    scores[here - first] = -np.inf
    count = min(k, int(np.count_nonzero(scores > -np.inf)))
    if count == 0 or not unit.any():
        return np.empty(0, np.int64), np.empty(0, np.float32)
    margin = (vectors.shape[1] + 8) * 2.0**-22  # twice what float32 rounding can change the difference of two
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    near = np.flatnonzero(scores >= least - margin)
    cosines = lengths.rounded((vectors[near].astype(np.float64) @ unit) / norms[near])
    order = largest(cosines, k)
    return near[order] + first, cosines[order]


class Exact:
    """Exact search over the rows of a matrix.

    >>> ids, cosines = Exact(np.array([[1, 0], [0, 2], [3, 3]], dtype=np.float32)).search([[0, 1]], k=2)
    >>> ids.tolist()
    [[1, 2]]
    """

    def __init__(self, vectors: Floats, norms: Doubles | None = None, threads: int | None = None) -> None:
        """Take a matrix [rows, dim] and, if known, the lengths of its rows."""
        self.vectors: Floats = np.asarray(vectors, dtype=np.float32)
        if self.vectors.ndim != 2:
            raise DataError(
                f"vectors has shape {self.vectors.shape}: give a matrix with one row for each vector"
            )
        self.norms = (
            lengths.norms(self.vectors) if norms is None else np.ascontiguousarray(norms, dtype=np.float64)
        )
        if self.norms.shape != (len(self.vectors),):
            raise DataError(
                f"there are {len(self.vectors)} vectors, but norms has shape {self.norms.shape}: give one "
                "length for each vector"
            )
        self.threads = usable_cores() if threads is None else whole("threads", threads, 1)
        self._plain_work = 0
        self._screened: Screened | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled and copied: all but the 8-bit copy, which must be aligned."""
        return {**self.__dict__, "_screened": None}

    def search(
        self, queries: ArrayLike, k: int, *, exclude: ArrayLike | None = None, rows: slice | None = None
    ) -> tuple[Counts, Floats]:
        """Return the k rows nearest to each query [n, dim], best first, and their cosines.

        Both results are [n, k], filled with -1 and -inf if there are fewer, and with -1 and NaN for a query
        that is not finite. `exclude` [n, m] holds rows that each query must not find; -1 stands for no row.
        `rows` is the range of rows to search.
        """
        units = lengths.units(checked_queries(queries, self.vectors.shape[1]))
        return self.search_units(units, k, exclude=exclude, rows=rows)

    def search_units(
        self, units: Doubles, k: int, *, exclude: ArrayLike | None = None, rows: slice | None = None
    ) -> tuple[Counts, Floats]:
        """Search as `search` does, for queries that are unit vectors, zeros or NaN."""
        k = whole("k", k, 1)
        first, last, step = (slice(None) if rows is None else rows).indices(len(self.vectors))
        if step != 1:
            raise ConfigError(f"rows={rows}: must be a slice without a step")
        dim = self.vectors.shape[1]
        units, lost = lengths.without_nan(checked_queries(units, dim).astype(np.float64, copy=False))
        barred = lines_of(exclude, len(units))
        found = min(k, max(0, last - first))
        ids, cosines = nothing_found(len(units), k)
        if found and dim:
            for begin in range(0, len(units), CHUNK):
                part = slice(begin, begin + CHUNK)
                near = self._search(units[part], found, barred[part], first, last)
                ids[part, :found], cosines[part, :found] = near
        cosines[lost] = np.nan
        return ids, cosines

    def _search(
        self, units: Doubles, k: int, exclude: Counts, first: int, last: int
    ) -> tuple[Counts, Floats]:
        screened = self._loaded(len(units) * (last - first) * units.shape[1])
        if screened is not None:
            return screened.search(units, k, exclude, first, last, self.threads)
        ids, cosines = nothing_found(len(units), k)
        here = self.vectors[first:last]
        for query, unit in enumerate(units):
            found, near = search_plain(here, self.norms[first:last], unit, k, exclude[query], first)
            ids[query, : len(found)], cosines[query, : len(found)] = found, near
        return ids, cosines

    def _loaded(self, work: int) -> Screened | None:
        """Return the compiled search, or None while it is not yet worth loading; add `work` to the total."""
        self._plain_work += work
        if self._screened is None and (self._plain_work > LOADING or "unhot.index.topk" in sys.modules):
            from unhot.index.screened import Screened
            from unhot.index.sketch import MAX_DIM
            from unhot.kernels.jit import ENABLED

            # with the compiler switched off, the kernel is a slow Python loop
            if ENABLED and self.vectors.shape[1] <= MAX_DIM:
                self._screened = Screened(self.vectors, self.norms)
        return self._screened
