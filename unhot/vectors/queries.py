"""What users ask with, and what they get.

They ask with words, rows or vectors, each alone, in a list, or in pairs with a weight. They get words with
their scores, best first.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError, finite
from unhot.types import Floats

Key: TypeAlias = str | int | np.integer[Any]  # a word, or the number of a row
KEYS = (str, int, np.integer)
Item: TypeAlias = Key | Floats  # a word, the number of a row, or a vector
Query: TypeAlias = Item | tuple[Item, float]  # alone, or with its weight
Neighbours = list[tuple[str, float]]  # (word, cosine), best first


def weighted(
    positive: Query | Sequence[Query] | None, negative: Query | Sequence[Query] | None
) -> tuple[list[Item], list[float]]:
    """The items of a query and their weights: 1 in positive, -1 in negative, unless an item says its own."""
    items: list[Item] = []
    weights: list[float] = []
    for queries, weight in ((positive, 1.0), (negative, -1.0)):
        for query in listed(queries):
            if isinstance(query, tuple) and len(query) != 2:
                raise DataError(
                    f"{query!r:.80} in a query: give a word, a vector, or a pair of one and its weight"
                )
            item, own = query if isinstance(query, tuple) else (query, weight)
            items.append(item)
            weights.append(finite("weight", own))
    return items, weights


def listed(queries: Query | Sequence[Query] | None) -> list[Any]:
    """One word, vector or pair as a list of one; the rows of a matrix as vectors."""
    if queries is None:
        return []
    if (
        isinstance(queries, KEYS)
        or (isinstance(queries, np.ndarray) and queries.ndim == 1)
        or _is_pair(queries)
    ):
        return [queries]
    return list(queries)


def _is_pair(queries: object) -> bool:
    """Whether a tuple is an item with its weight; (1, 2) are two rows, (1, 2.0) is a row and its weight."""
    if not isinstance(queries, tuple) or len(queries) != 2:
        return False
    item, weight = queries
    return isinstance(weight, (float, np.floating)) or (
        isinstance(weight, int) and isinstance(item, (str, np.ndarray))
    )


class Indexer(Protocol):
    """Whatever finds words near a vector."""

    def most_similar(self, vector: Floats, num_neighbors: int) -> Neighbours:
        """The words nearest to a vector."""


def named(
    words: Sequence[str], rows: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]]
) -> Neighbours:
    """Rows as words with their scores; -1, where nothing was found, is left out."""
    return [
        (words[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if row >= 0
    ]


def best(scores: NDArray[np.floating[Any]], topn: int) -> NDArray[np.intp]:
    """The places of the topn highest scores, highest first, equal ones in their order.

    -inf is never among them.
    """
    n = min(topn, int(np.count_nonzero(scores > -np.inf)))
    if n < 1:
        return np.empty(0, np.intp)
    least = np.partition(scores, len(scores) - n)[len(scores) - n]
    above = np.flatnonzero(scores > least)
    chosen = np.concatenate([above, np.flatnonzero(scores == least)[: n - len(above)]])
    return chosen[np.lexsort((chosen, -scores[chosen]))]
