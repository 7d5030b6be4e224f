"""Queries for similar words, and their answers.

A query is a word, a row number or a vector, alone, in a list, or in pairs with a weight. An answer is a list
of words with their scores, best first.
"""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError, finite
from unhot.largest import largest
from unhot.types import Floats

Key: TypeAlias = str | int | np.integer[Any]  # a word or a row number
KEYS = (str, int, np.integer)
Item: TypeAlias = Key | Floats  # a word, a row number, or a vector
Query: TypeAlias = Item | tuple[Item, float]  # alone, or with its weight
Neighbours = list[tuple[str, float]]  # (word, cosine), best first


def weighted(
    positive: Query | Sequence[Query] | None, negative: Query | Sequence[Query] | None
) -> tuple[list[Item], list[float]]:
    """Return the items of a query and their weights: 1 in positive, -1 in negative, or the item's own."""
    items: list[Item] = []
    weights: list[float] = []
    for queries, weight in ((positive, 1.0), (negative, -1.0)):
        for query in listed(queries):
            if isinstance(query, tuple) and len(query) != 2:
                raise DataError(
                    f"{query!r:.80} in a query: give a word, a vector, or a pair (word or vector, weight)"
                )
            item, own = query if isinstance(query, tuple) else (query, weight)
            items.append(item)
            weights.append(finite("weight", own))
    return items, weights


def listed(queries: Query | Sequence[Query] | None) -> list[Any]:
    """Return queries as a list: a single word, vector or pair is put into a list; a matrix gives its rows."""
    if queries is None:
        return []
    if (
        isinstance(queries, KEYS)
        or (isinstance(queries, np.ndarray) and queries.ndim == 1)
        or _is_pair(queries)
    ):
        return [queries]
    refuse_bytes(queries)
    return list(queries)


def refuse_bytes(queries: object) -> None:
    """Raise a `DataError` for bytes, whose numbers would be taken for rows."""
    if isinstance(queries, bytes | bytearray):
        raise DataError(
            f"{queries!r:.80} is of type {type(queries).__name__}: words are strings, as in 'the'"
        )


def _is_pair(queries: object) -> bool:
    """Return whether a tuple is an item and its weight: (1, 2.0) is a row and its weight, (1, 2) two rows."""
    if not isinstance(queries, tuple) or len(queries) != 2:
        return False
    item, weight = queries
    return isinstance(weight, (float, np.floating)) or (
        isinstance(weight, int) and isinstance(item, (str, np.ndarray))
    )


class Indexer(Protocol):
    """Any object that finds the words nearest to a vector."""

    def most_similar(self, vector: Floats, num_neighbors: int) -> Neighbours:
        """Return the words nearest to a vector, with their scores, best first."""


def named(
    words: Sequence[str], rows: NDArray[np.integer[Any]], scores: NDArray[np.floating[Any]]
) -> Neighbours:
    """Return rows as (word, score); rows of -1, which mean that nothing was found, are left out."""
    return [
        (words[row], score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if row >= 0
    ]


def best_candidates(scores: NDArray[np.floating[Any]], topn: int) -> NDArray[np.intp]:
    """Return the positions of the topn highest scores, highest first; scores of -inf are left out."""
    found = largest(scores, topn)
    return found[scores[found] > -np.inf]
