"""What users ask with: words, rows, vectors, each alone, in a list, or in pairs with a weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from unhot.errors import DataError, finite
from unhot.types import Floats

Key: TypeAlias = str | int | np.integer[Any]  # a word, or the number of a row
KEYS = (str, int, np.integer)
Item: TypeAlias = Key | Floats  # a word, the number of a row, or a vector
Query: TypeAlias = Item | tuple[Item, float]  # alone, or with its weight


def row_number(key: object, count: int) -> int | None:
    """A key that is the number of one of so many rows, as an int."""
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and 0 <= key < count:
        return int(key)
    return None


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
