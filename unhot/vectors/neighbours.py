"""Words with their scores, best first, and what finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unhot.types import Floats

Neighbours = list[tuple[str, float]]  # (word, cosine), best first


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
