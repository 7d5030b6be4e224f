"""Search by inner product: find the rows o_j with the highest scores h . o_j + b_j for queries h.

Exact search computes all scores by one float32 product of BLAS for each block of queries. Its rounding may
order rows whose scores differ by less than about 1e-7 |h| |o_j| either way, and the size of a block may
change the last digit of a score. The scores of equal rows, too, may differ in the last digit.

A graph (hierarchical navigable small worlds, with usearch, extra `ann`) links each row (o_j, b_j) to rows
with high inner products with it; a query is (h, 1). One more number, sqrt(M^2 - |o_j|^2 - b_j^2) with M the
greatest length, would turn inner products into cosines (Bachrach et al. 2014). But then long rows are far
from all others: of the 10 best of 5,000 rows of varied lengths, a graph of cosines found 27 %, and a graph of
inner products found more than 99 %.

The scores of the rows that the graph finds are computed in float64 from the original rows. A query for which
too few rows remain, because the others are excluded or not allowed, is answered by exact search.

Rows that are not finite are never found, and queries that are not finite find nothing.

Reference: Morozov & Babenko, Non-metric similarity graphs for maximum inner product search, 2018.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError, extra, whole
from unhot.index.best import ExcludedRows, best, checked_allowed, checked_exclude
from unhot.index.exact import checked_queries, nothing_found, usable_cores
from unhot.index.hnsw import BLOCK_ROWS, FIRST_ROWS, HnswSettings
from unhot.index.lengths import directed, norms, units
from unhot.threads import parts_of
from unhot.types import Counts, Doubles, Floats

BLOCK_BYTES = 1 << 26  # bytes of scores that are held at a time
MORE = 8  # a graph is asked for so many more rows than could be needed
SHARE = 4  # a graph is not worth its time for more than 1 / SHARE of the rows

Allowed: TypeAlias = NDArray[np.bool_] | None  # [rows], or [queries, rows]


class InnerProduct:
    """Search for the rows with the highest inner products with queries, plus biases; exact, or by a graph.

    >>> rows = np.array([[1, 0], [0, 2], [3, 3]], dtype=np.float32)
    >>> InnerProduct(rows, bias=[0, 5, 0]).search([[0, 1]], k=2)[0].tolist()
    [[1, 2]]
    """

    def __init__(
        self,
        vectors: Floats,
        bias: Floats | None = None,
        *,
        graph: HnswSettings | None = None,
        threads: int | None = None,
    ) -> None:
        """Take a matrix [rows, dim] and a bias for each row; with settings of a graph, build the graph."""
        self.vectors: Floats = np.asarray(vectors, dtype=np.float32)
        if self.vectors.ndim != 2:
            raise DataError(
                f"vectors has shape {self.vectors.shape}: give a matrix with one row for each vector"
            )
        rows = len(self.vectors)
        self.bias: Floats = np.zeros(rows, np.float32) if bias is None else np.asarray(bias, np.float32)
        if self.bias.shape != (rows,):
            raise DataError(
                f"there are {rows} vectors, but bias has shape {self.bias.shape}: give one number for each "
                "vector"
            )
        self.threads = usable_cores() if threads is None else whole("threads", threads, 1)
        lengths = np.hypot(norms(self.vectors), self.bias)  # of the rows (o_j, b_j)
        self._odd = np.flatnonzero(~np.isfinite(lengths))
        self._graph: InnerGraph | None = None
        if graph is not None and directed(lengths).any():
            self._graph = InnerGraph(self.vectors, self.bias, lengths, graph, self.threads)

    def scores(self, queries: ArrayLike) -> Floats:
        """Return the score of each row for each query, [n, rows]; NaN if one of them is not finite."""
        given = self._checked(queries)
        return self._fill(given, np.empty((len(given), len(self.vectors)), np.float32))

    def search(
        self,
        queries: ArrayLike,
        k: int,
        *,
        exclude: ExcludedRows | None = None,
        allowed: Allowed = None,
    ) -> tuple[Counts, Floats]:
        """Return the k rows with the highest scores for each query [n, dim], best first, and their scores.

        Both results are [n, k], filled with -1 and -inf if there are fewer. Equal scores are ordered by row.
        `exclude` holds the rows that each query must not find. `allowed` holds flags [rows] of the rows that
        may be found, or [n, rows].
        """
        k, given = whole("k", k, 1), self._checked(queries)
        barred = checked_exclude(exclude, len(given))
        flags = checked_allowed(allowed, len(given), len(self.vectors))
        if self._graph is None:
            return self._search_all(given, k, barred, flags)
        return self._search_graph(self._graph, given, k, barred, flags)

    def _checked(self, queries: ArrayLike) -> Floats:
        """Return the queries as float32 [n, dim]; numbers beyond float32 become infinite."""
        with np.errstate(over="ignore"):
            return checked_queries(queries, self.vectors.shape[1]).astype(np.float32, copy=False)

    def _fill(self, queries: Floats, out: Floats) -> Floats:
        """Write the scores of all rows to `out`."""
        with np.errstate(all="ignore"):
            np.matmul(queries, self.vectors.T, out=out)
            out += self.bias
        out[:, self._odd] = np.nan
        out[~np.isfinite(queries).all(axis=1)] = np.nan
        return out

    def _search_all(
        self, queries: Floats, k: int, exclude: ExcludedRows, allowed: Allowed
    ) -> tuple[Counts, Floats]:
        """Search as `search` does, by the scores of all rows, some queries at a time."""
        ids, scores = nothing_found(len(queries), k)
        block = max(1, BLOCK_BYTES // (4 * max(1, len(self.vectors))))
        room = np.empty((min(block, len(queries)), len(self.vectors)), np.float32)
        for first in range(0, len(queries), block):
            here = queries[first : first + block]
            part = slice(first, first + len(here))
            barred = ExcludedRows(exclude.ids, exclude.starts[first : part.stop + 1])
            flags = _lines_of(allowed, part)
            filled = self._fill(here, room[: len(here)])
            ids[part], scores[part] = best(filled, k, barred, flags, self.threads)
        return ids, scores

    def _search_graph(
        self, graph: InnerGraph, queries: Floats, k: int, exclude: ExcludedRows, allowed: Allowed
    ) -> tuple[Counts, Floats]:
        """Search as `search` does, by the graph; queries that exclude similar numbers of rows go together."""
        ids, scores = nothing_found(len(queries), k)
        directions = units(np.column_stack([queries, np.full(len(queries), self.bias.any())]))
        needed = k + np.diff(exclude.starts) + MORE
        asked = 2 ** np.ceil(np.log2(needed)).astype(np.int64)
        # a query of zeros has no direction if there are no biases, and a query that is not finite never has
        useful = directions.any(axis=1) & (asked * SHARE <= len(graph))
        for count in np.unique(asked[useful]):
            lines = np.flatnonzero(useful & (asked == count))
            for line, rows in zip(lines, graph.near(directions[lines], int(count)), strict=True):
                barred = exclude.ids[exclude.starts[line] : exclude.starts[line + 1]]
                rows = rows[~np.isin(rows, barred)]
                flags = _lines_of(allowed, line)
                rows = rows if flags is None else rows[flags[rows]]
                near = self._exact_scores(queries[line], rows)
                order = np.lexsort((rows, -near))[:k]
                ids[line, : len(order)], scores[line, : len(order)] = rows[order], near[order]
        short = np.flatnonzero(ids[:, -1] < 0)
        flags = _lines_of(allowed, short)
        ids[short], scores[short] = self._search_all(queries[short], k, exclude.take(short), flags)
        return ids, scores

    def _exact_scores(self, query: Floats, rows: Counts) -> Floats:
        """Return the scores of some rows, computed in float64."""
        with np.errstate(over="ignore"):
            wide = self.vectors[rows].astype(np.float64) @ query.astype(np.float64) + self.bias[rows]
            return wide.astype(np.float32)


def _lines_of(allowed: Allowed, lines: slice | Counts | np.int64) -> Allowed:
    """Return the flags of some queries."""
    return allowed if allowed is None or allowed.ndim == 1 else allowed[lines]


class InnerGraph:
    """A graph over rows (o_j, b_j), which links rows with high inner products.

    It keeps float32 numbers, divided by the median length: usearch subtracts inner products from 1, so much
    smaller ones would be lost. Then inner products of rows up to 1e15 times as long do not overflow.
    """

    def __init__(
        self, vectors: Floats, bias: Floats, lengths: Doubles, settings: HnswSettings, threads: int
    ) -> None:
        """Build the graph; rows whose length is not finite are left out."""
        self.settings, self.threads = settings, threads
        self._lock = threading.Lock()
        self._graph = extra("usearch.index", "ann", "approximate search").Index(
            ndim=vectors.shape[1] + 1,
            metric="ip",
            dtype="f32",
            connectivity=settings.connectivity,
            expansion_add=settings.expansion_add,
            expansion_search=settings.expansion_search,
        )
        known = np.flatnonzero(np.isfinite(lengths))
        scale = max(float(np.median(lengths[known])), float(lengths[known].max()) * 1e-15)
        # one thread adds the first rows, as in hnsw.py
        cuts = [0, *range(min(FIRST_ROWS, len(known)), len(known), BLOCK_ROWS), len(known)]
        for first, stop in itertools.pairwise(cuts):
            rows = known[first:stop]
            longer = np.column_stack([vectors[rows], bias[rows]]).astype(np.float64) / scale
            self._graph.add(
                rows.astype(np.uint64), longer.astype(np.float32), threads=threads if first else 1
            )

    def __len__(self) -> int:
        """The number of rows in the graph."""
        return len(self._graph)

    def near(self, directions: Doubles, count: int) -> Iterator[Counts]:
        """Yield approximately the `count` best rows of each query (h, 1), which is given as a unit vector."""
        for part in parts_of(len(directions), BLOCK_ROWS):
            queries = directions[part.start : part.stop].astype(np.float32)
            with self._lock:  # the width of the search is a setting of the graph, not of the query
                self._graph.expansion_search = max(self.settings.expansion_search, 2 * count)
                found = self._graph.search(queries, count, threads=self.threads)
            keys = np.asarray(found.keys).reshape(len(queries), -1)
            numbers = found.counts if len(queries) > 1 else [keys.shape[1]]
            for line, number in zip(keys, numbers, strict=True):
                yield line[:number].astype(np.int64)
