"""Find the k most probable leaves of a tree of probabilities without visiting the rest.

A leaf's log-probability is the sum of the steps down to it. No step is above zero, so the sum at a node
bounds all leaves below it. The search always expands the open node with the highest sum. When that node is a
leaf, it is at least as good as everything still open. The result is exact, for binary trees and for classes.
"""

import heapq
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, whole
from unhot.types import Doubles, Ids

Expand: TypeAlias = Callable[[int], tuple[ArrayLike, ArrayLike]]
# (cost = -log-probability, whether it is a leaf, its word or its node)
Entry: TypeAlias = tuple[float, bool, int]


def best_first(root: int, expand: Expand, k: int) -> list[tuple[int, float]]:
    """Return the k most likely words with their log-probabilities, best first; of equals the smaller id.

    `expand(node)` gives the children of a node, a leaf w as -1 - w, and the log-probabilities (<= 0) of going
    there. Words of probability zero are left out, so there may be fewer than k.

    >>> tree = {0: ([-1, 1], [math.log(0.3), math.log(0.7)]), 1: ([-2, -3], [math.log(0.5), math.log(0.5)])}
    >>> [(word, round(math.exp(log_prob), 3)) for word, log_prob in best_first(0, tree.__getitem__, 2)]
    [(1, 0.35), (2, 0.35)]
    """
    k = whole("k", k, 1)
    found: list[tuple[int, float]] = []
    siblings: list[list[Entry]] = [[(0.0, root < 0, -1 - root if root < 0 else root)]]
    heap = [(siblings[0][0], 0, 0)]  # from each list of siblings the best one left, and its position
    while heap and len(found) < k:
        (cost, leaf, name), which, place = heap[0]
        if place + 1 < len(siblings[which]):
            heapq.heapreplace(heap, (siblings[which][place + 1], which, place + 1))
        else:
            heapq.heappop(heap)
        if leaf:
            found.append((name, 0.0 - cost))
            continue
        below = _sorted_children(name, cost, expand)
        if below:
            siblings.append(below)
            heapq.heappush(heap, (below[0], len(siblings) - 1, 0))
    return found


def found_words(found: list[tuple[int, float]]) -> tuple[Ids, Doubles]:
    """Convert the result of `best_first` to arrays of words and of log-probabilities."""
    return np.array([word for word, _ in found], np.int32), np.array([log_prob for _, log_prob in found])


def _sorted_children(node: int, cost: float, expand: Expand) -> list[Entry]:
    """Return the children of a node with a probability above zero, sorted by cost.

    At equal cost inner nodes come first, because below them there may be a smaller id of the same cost.
    """
    children, log_prob = (np.asarray(part) for part in expand(node))
    if np.isnan(log_prob).any():
        raise DataError(
            f"a log-probability below the node {node} is nan: "
            "the scores are not finite, so there is no best word"
        )
    possible = log_prob > -math.inf
    costs, children = cost - log_prob[possible].astype(np.float64), children[possible]
    leaf = children < 0
    names = np.where(leaf, -1 - children, children)
    order = np.lexsort((names, leaf, costs))
    return list(zip(costs[order].tolist(), leaf[order].tolist(), names[order].tolist(), strict=True))
