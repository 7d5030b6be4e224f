"""Approximate search in a graph: hierarchical navigable small worlds, with usearch (extra `ann`).

A query walks from node to node towards its neighbours and examines some hundreds of rows instead of all. The
graph keeps the rows in float16. The rows that it finds are sorted by their exact cosines (in float64, from
the original rows): so an answer may lack a neighbour, but its cosines are exact. One thread adds the first
rows, because several threads would link them to an almost empty graph and lose some links. With several
threads, two builds may miss different rows.

A graph can also be made for inner products with unit vectors, which inner.py needs: all rows are then divided
by one length instead of their own. Such a graph keeps them in float32, because some may be very long.

Reference: Malkov & Yashunin, Efficient and robust approximate nearest neighbor search using HNSW graphs,
2016.
"""

import itertools
import threading
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, extra, whole
from unhot.index.exact import checked_queries, lines_of, nothing_found, usable_cores
from unhot.index.lengths import directed, norms, rounded, units, without_nan
from unhot.largest import largest
from unhot.types import Counts, Doubles, Floats

BLOCK_ROWS = 1 << 14  # rows added, or queries answered, at a time
FIRST_ROWS = 1 << 12  # rows that one thread adds at the beginning


@dataclass(frozen=True, kw_only=True)
class HnswSettings:
    """The density of the graph and the width of its search; larger values are slower and miss fewer rows."""

    connectivity: int = 16  # links of each node
    expansion_add: int = 128  # candidates kept while a row is added
    # candidates kept while a query is answered; at least twice the neighbours asked for
    expansion_search: int = 128

    def __post_init__(self) -> None:
        """Check the values."""
        whole("connectivity", self.connectivity, 2, 1024)
        whole("expansion_add", self.expansion_add, 1, 1 << 20)
        whole("expansion_search", self.expansion_search, 1, 1 << 20)


class Hnsw:
    """A graph over the rows of a matrix, together with the matrix.

    Make it with `build`, or with `from_bytes` from the result of `to_bytes`.
    """

    def __init__(
        self,
        vectors: Floats,
        graph: Any,
        settings: HnswSettings,
        threads: int | None = None,
        divisors: Doubles | None = None,
    ) -> None:
        """Take a matrix [rows, dim] and the graph over its rows; by default, rows are divided by lengths."""
        self.vectors, self.settings = vectors, settings
        self.norms = norms(vectors) if divisors is None else divisors
        self.threads = usable_cores() if threads is None else whole("threads", threads, 1)
        self._graph, self._lock = graph, threading.Lock()

    @classmethod
    def build(
        cls,
        vectors: Floats,
        settings: HnswSettings | None = None,
        threads: int | None = None,
        divisors: Doubles | None = None,
    ) -> Self:
        """Build the graph of a matrix; rows without a direction are left out.

        With `divisors`, it finds the highest inner products of a query's unit vector with row / divisor,
        instead of cosines. Rows whose divisor is not finite are left out.
        """
        settings = settings or HnswSettings()
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise DataError(
                f"vectors has shape {vectors.shape}: give a matrix with at least one number in each row"
            )
        graph = _empty(vectors.shape[1], settings, by_cosine=divisors is None)
        index = cls(vectors, graph, settings, threads, divisors)
        known = np.flatnonzero(directed(index.norms))
        cuts = [0, *range(min(FIRST_ROWS, len(known)), len(known), BLOCK_ROWS), len(known)]
        for first, stop in itertools.pairwise(cuts):
            rows = known[first:stop]
            index._graph.add(
                rows.astype(np.uint64),
                (vectors[rows].astype(np.float64) / index.norms[rows, None]).astype(np.float32),
                threads=index.threads if first else 1,
            )
        return index

    @classmethod
    def from_bytes(
        cls, data: bytes, vectors: Floats, settings: HnswSettings, threads: int | None = None
    ) -> Self:
        """Restore the graph that `to_bytes` returned, for the same vectors.

        The bytes must come from a trusted source: usearch does not check them.
        """
        graph = _empty(vectors.shape[1], settings)
        graph.load(data)
        return cls(vectors, graph, settings, threads)

    def to_bytes(self) -> bytes:
        """Return the graph as bytes."""
        return bytes(self._graph.save())

    def __len__(self) -> int:
        """The number of rows in the graph."""
        return len(self._graph)

    def search(
        self, queries: ArrayLike, k: int, *, exclude: ArrayLike | None = None
    ) -> tuple[Counts, Floats]:
        """Return approximately the k rows nearest to each query [n, dim], best first, and their cosines.

        Both results are [n, k], filled with -1 and -inf if there are fewer, and with -1 and NaN for a query
        that is not finite. `exclude` [n, m] holds rows that each query must not find; -1 stands for no row.
        """
        k = whole("k", k, 1)
        given, lost = without_nan(units(checked_queries(queries, self.vectors.shape[1])))
        barred = lines_of(exclude, len(given))
        ids, cosines = nothing_found(len(given), k)
        count = min(k + barred.shape[1], len(self))
        if count:
            with self._lock:  # the width of the search is a setting of the graph, not of the query
                self._graph.expansion_search = max(self.settings.expansion_search, 2 * count)
                for first in range(0, len(given), BLOCK_ROWS):
                    part = slice(first, first + BLOCK_ROWS)
                    self._answer(given[part], count, barred[part], ids[part], cosines[part])
        cosines[lost] = np.nan
        return ids, cosines

    def _answer(self, queries: Doubles, count: int, barred: Counts, ids: Counts, cosines: Floats) -> None:
        """Search for some queries and write their results to `ids` and `cosines`."""
        found = self._graph.search(queries.astype(np.float32), count, threads=self.threads)
        keys = np.asarray(found.keys).reshape(len(queries), -1)
        counts = np.asarray(found.counts).reshape(-1) if len(queries) > 1 else np.array([keys.shape[1]])
        for line, (unit, number) in enumerate(zip(queries, counts, strict=True)):
            rows = np.sort(keys[line, :number].astype(np.int64))
            rows = rows[~np.isin(rows, barred[line])] if unit.any() else rows[:0]
            exact = rounded((self.vectors[rows].astype(np.float64) @ unit) / self.norms[rows])
            order = largest(exact, ids.shape[1])
            ids[line, : len(order)], cosines[line, : len(order)] = rows[order], exact[order]


def _empty(dim: int, settings: HnswSettings, by_cosine: bool = True) -> Any:
    index = extra("usearch.index", "ann", "approximate search")
    return index.Index(
        ndim=dim,
        metric="cos" if by_cosine else "ip",
        dtype="f16" if by_cosine else "f32",
        connectivity=settings.connectivity,
        expansion_add=settings.expansion_add,
        expansion_search=settings.expansion_search,
    )
