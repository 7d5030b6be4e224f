"""Search by inner product: find the rows o_j with the highest scores h . o_j + b_j for queries h.

A bias is one more number of a row: the score is the inner product of (h, 1) and (o_j, b_j).

Exact search computes all scores by one float32 product of BLAS for each block of queries. Its rounding may
order rows whose scores differ by less than about 1e-7 |h| |o_j| either way, and the size of a block may
change the last digit of a score. The scores of equal rows, too, may differ in the last digit.

A graph (hnsw.py) links each row to rows with high inner products with it. One more number,
sqrt(M^2 - |o_j|^2 - b_j^2) with M the greatest length, would turn inner products into cosines (Bachrach et
al. 2014). But then long rows are far from all others: of the 10 best of 5,000 rows of varied lengths, a graph
of cosines found 27 %, and a graph of inner products found more than 99 %.

The scores of the rows that the graph finds are computed in float64 from the original rows, up to 1e-9 of |h|
times the median length. A query for which too few rows remain, because the others are excluded or not
allowed, is answered by exact search.

Rows that are not finite are never found, and queries that are not finite find nothing.

Reference: Morozov & Babenko, Non-metric similarity graphs for maximum inner product search, 2018.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError, whole
from unhot.index.best import ExcludedRows, best, checked_allowed, checked_exclude
from unhot.index.exact import checked_queries, nothing_found, usable_cores
from unhot.index.hnsw import Hnsw, HnswSettings
from unhot.index.lengths import directed, norms
from unhot.threads import parts_of
from unhot.types import Counts, Floats

BLOCK_BYTES = 1 << 26  # bytes of scores that are held at a time
MORE = 8  # a graph is asked for so many more rows than could be needed
SHARE = 4  # a graph is not worth its time for more than 1 / SHARE of the rows


class InnerProduct:
    """Search for the rows with the highest inner products with queries, plus biases; exact, or by a graph.

    >>> rows = np.array([[1, 0], [0, 2], [3, 3]], dtype=np.float32)
    >>> InnerProduct(rows, bias=[0, 5, 0]).search([[0, 1]], k=2)[0].tolist()
    [[1, 2]]
    """

    def __init__(
        self,
        vectors: Floats,
        bias: ArrayLike | None = None,
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
        if bias is not None and np.shape(bias) != (len(self.vectors),):
            raise DataError(
                f"there are {len(self.vectors)} vectors, but bias has shape {np.shape(bias)}: give one "
                "number for each vector"
            )
        self.threads = usable_cores() if threads is None else whole("threads", threads, 1)
        self._rows = self.vectors
        if bias is not None and np.any(bias):
            self._rows = np.column_stack([self.vectors, np.asarray(bias, np.float32)])
        lengths = norms(self._rows)
        known = np.isfinite(lengths)
        self._odd = np.flatnonzero(~known)
        self._graph: Hnsw | None = None
        if graph is not None and directed(lengths).any():
            # usearch subtracts inner products from 1: much smaller ones would be lost, longer ones overflow
            self._scale = max(np.median(lengths[known]), lengths[known].max() * 1e-15)
            self._graph = Hnsw.build(self._rows, graph, self.threads, np.where(known, self._scale, np.inf))

    def scores(self, queries: ArrayLike) -> Floats:
        """Return the score of each row for each query, [n, rows]; NaN if one of them is not finite."""
        return self._scores(self._checked(queries))

    def search(
        self,
        queries: ArrayLike,
        k: int,
        *,
        exclude: ExcludedRows | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> tuple[Counts, Floats]:
        """Return the k rows with the highest scores for each query [n, dim], best first, and their scores.

        Both results are [n, k], filled with -1 and -inf if there are fewer, and with -1 and NaN for a query
        that is not finite. Equal scores are ordered by row.
        `exclude` holds the rows that each query must not find. `allowed` holds flags [rows] of the rows that
        may be found, or [n, rows].
        """
        k, given = whole("k", k, 1), self._checked(queries)
        barred = checked_exclude(exclude, len(given))
        flags = checked_allowed(allowed, len(given), len(self._rows))
        ids, scores = nothing_found(len(given), k)
        if self._graph is not None:
            self._ask(self._graph, given, barred, flags, ids, scores)
        left = np.flatnonzero(ids[:, -1] < 0)
        block = max(1, BLOCK_BYTES // (4 * max(1, len(self._rows))))
        room = np.empty((min(block, len(left)), len(self._rows)), np.float32)
        for part in parts_of(len(left), block):
            lines = left[part.start : part.stop]
            all_scores = self._scores(given[lines], room[: len(lines)])
            own = flags if len(flags) == 1 else flags[lines]
            ids[lines], scores[lines] = best(all_scores, k, barred.take(lines), own, self.threads)
        scores[~np.isfinite(given).all(axis=1)] = np.nan
        return ids, scores

    @np.errstate(over="ignore")
    def _checked(self, queries: ArrayLike) -> Floats:
        """Return the queries as float32, with a 1 for the bias; numbers beyond float32 become infinite."""
        dim = self.vectors.shape[1]
        given = checked_queries(queries, dim).astype(np.float32)
        return np.pad(given, ((0, 0), (0, self._rows.shape[1] - dim)), constant_values=1)

    @np.errstate(all="ignore")
    def _scores(self, queries: Floats, out: Floats | None = None) -> Floats:
        """Return the scores of all rows for checked queries, written to `out` if it is given."""
        found: Floats = np.matmul(queries, self._rows.T, out=out)
        found[:, self._odd] = np.nan
        found[~np.isfinite(queries).all(axis=1)] = np.nan
        return found

    @np.errstate(over="ignore")
    def _ask(
        self,
        graph: Hnsw,
        queries: Floats,
        exclude: ExcludedRows,
        allowed: NDArray[np.bool_],
        ids: Counts,
        scores: Floats,
    ) -> None:
        """Write what the graph finds; queries that exclude similar numbers of rows are asked together."""
        k, lengths = ids.shape[1], norms(queries)
        asked = 2 ** np.ceil(np.log2(k + np.diff(exclude.starts) + MORE)).astype(np.int64)
        for count in np.unique(asked[asked * SHARE <= len(graph)]):
            lines = np.flatnonzero(asked == count)
            for line, rows, near in zip(lines, *graph.search(queries[lines], int(count)), strict=True):
                usable = (rows >= 0) & allowed[line % len(allowed), rows]
                found = np.flatnonzero(usable & ~np.isin(rows, exclude.take([line]).ids))[:k]
                ids[line, : len(found)] = rows[found]
                scores[line, : len(found)] = near[found] * (lengths[line] * self._scale)
