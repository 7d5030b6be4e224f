"""Exact search by NumPy, a query at a time: for the first queries of a process.

They end before a compiler would be loaded. All cosines are computed in float32 by one product. The rows that
rounding may have kept from the best k are computed again in float64.
"""

from __future__ import annotations

import numpy as np

from unhot.index.lengths import cosines_with, directed, rounded
from unhot.types import Counts, Doubles, Floats


def search_plain(
    vectors: Floats, norms: Doubles, unit: Doubles, k: int, exclude: Counts, first: int
) -> tuple[Counts, Floats]:
    """At most k rows nearest to a unit vector, and their cosines: best first, equal ones by row.

    Rows are numbered from `first` on.
    """
    scores = np.where(directed(norms), cosines_with(unit, vectors, norms), np.float32(-np.inf))
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
