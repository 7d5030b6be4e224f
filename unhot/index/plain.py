"""Exact search by NumPy, a query at a time.

For the first few queries of a process, which end before a compiler would be loaded.

All cosines in float32 by one product; the rows that rounding may have kept from the best k are computed again
in float64.
"""

from __future__ import annotations

import numpy as np

from unhot.index.lengths import rounded
from unhot.types import Counts, Doubles, Floats


def search_plain(
    vectors: Floats, norms: Doubles, unit: Doubles, k: int, exclude: Counts, first: int
) -> tuple[Counts, Floats]:
    """The rows (numbered from `first`) nearest to a unit vector and their cosines, at most k, best first, equal ones by row."""
    with np.errstate(all="ignore"):  # what overflows or is not a number is dealt with below
        scores = (vectors @ unit.astype(np.float32)) / norms
    known = (norms > 0) & (norms < np.inf)
    # float32 could not say
    odd = np.flatnonzero(known & (~np.isfinite(scores) | (norms < 1e-15) | (norms > 1e15)))
    scores[odd] = (vectors[odd].astype(np.float64) @ unit) / norms[odd]
    scores[~known] = -np.inf
    here = exclude[(exclude >= first) & (exclude < first + len(vectors))]
    scores[here - first] = -np.inf
    count = min(k, int(np.count_nonzero(scores > -np.inf)))
    if count == 0 or not unit.any():
        return np.empty(0, np.int64), np.empty(0, np.float32)
    margin = (vectors.shape[1] + 8) * 2.0**-22
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    near = np.flatnonzero(scores >= least - margin)
    cosines = rounded((vectors[near].astype(np.float64) @ unit) / norms[near])
    order = np.lexsort((near, -cosines))[:k]
    return near[order] + first, cosines[order]
