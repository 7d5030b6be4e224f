"""Spherical k-means: put unit vectors into k clusters; a cluster's centre is the direction of its sum.

    maximise  sum over clusters of |sum of its vectors|   =   sum over vectors of cos(vector, sum of its
              cluster)

Each round assigns every vector to the nearest centre and then moves the centres, until nothing changes. The
first centres are drawn as in k-means++: each next one with a probability proportional to 1 - cos with the
nearest centre so far. The best of several starts is kept.

References: Dhillon and Modha 2001; Arthur and Vassilvitskii 2007.
"""

import numpy as np
from numpy.typing import NDArray

from unhot.types import Doubles

RESTARTS = 10
ROUNDS = 100  # a start that has not converged after this many rounds is taken as it is


def clusters(units: Doubles, k: int, seed: int = 1) -> NDArray[np.int64]:
    """Return the cluster 0 .. k - 1 of each unit vector [n, dim]; 1 <= k <= n.

    A cluster can be empty only if some vectors are equal.

    >>> clusters(np.eye(2)[[0, 1, 1, 0]], 2).tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    True
    """
    rng = np.random.default_rng(seed)
    found = [_settle(units, _start(units, k, rng)) for _ in range(RESTARTS)]
    return max(found, key=lambda settled: settled[1])[0]


def _start(units: Doubles, k: int, rng: np.random.Generator) -> Doubles:
    """Draw the first centres."""
    centres = [units[rng.integers(len(units))]]
    apart = 1 - units @ centres[0]
    while len(centres) < k:
        weights = np.maximum(apart, 0.0)
        total = weights.sum()
        # p=None draws uniformly, if all vectors are equal
        drawn = rng.choice(len(units), p=weights / total if total > 0 else None)
        centres.append(units[drawn])
        apart = np.minimum(apart, 1 - units @ centres[-1])
    return np.array(centres)


def _settle(units: Doubles, centres: Doubles) -> tuple[NDArray[np.int64], float]:
    """Run rounds until the clusters no longer change; return them and their objective."""
    labels = np.full(len(units), -1, np.int64)
    for _ in range(ROUNDS):
        cosines = units @ centres.T  # [n, k]
        nearest = cosines.argmax(axis=1)
        _fill(nearest, cosines)
        if np.array_equal(nearest, labels):
            break
        labels = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, units)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # if the vectors of a cluster cancel out, its centre stays where it was
        centres = np.divide(sums, lengths, out=centres.copy(), where=lengths > 0)
    return labels, float(np.einsum("ij,ij->", units, centres[labels]))


def _fill(labels: NDArray[np.int64], cosines: Doubles) -> None:
    """Move into each empty cluster the vector that fits its own cluster worst; never empty a cluster."""
    sizes = np.bincount(labels, minlength=cosines.shape[1])
    for empty in np.flatnonzero(sizes == 0):
        own = np.where(sizes[labels] > 1, cosines[np.arange(labels.size), labels], np.inf)
        worst = int(own.argmin())
        sizes[labels[worst]] -= 1
        sizes[empty] += 1
        labels[worst] = empty
