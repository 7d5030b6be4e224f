"""Log-uniform noise: q(i) = (log(i + 2) - log(i + 1)) / log(V + 1), about Zipf's law over ranks.

It knows ranks, not counts: it only fits ids that are sorted by falling count, which is checked. Unigram noise
has no such condition.
"""

from __future__ import annotations

import numpy as np

from unhot.errors import DataError
from unhot.types import Counts, Doubles


def log_uniform(counts: Counts) -> Doubles:
    """Probabilities of all ids: [vocabulary]."""
    if counts.size == 0:
        raise DataError("noise over an empty vocabulary: there must be at least one word")
    rises = np.flatnonzero(counts[1:] > counts[:-1])
    if rises.size:
        i = int(rises[0]) + 1
        raise DataError(
            f"log_uniform: the count rises from {counts[i - 1]:,} to {counts[i]:,} at id {i:,}: ids must be "
            "sorted by falling count; "
            "sort them, or use unigram, which takes the counts themselves"
        )
    # log(i + 2) - log(i + 1), without the difference of close numbers
    step = np.log1p(1.0 / np.arange(1, counts.size + 1))
    q: Doubles = step / np.log1p(counts.size)
    return q
