"""Unigram noise: q(w) proportional to count(w) ** power.

Below 1, the power lowers the share of frequent words and raises that of rare ones (word2vec: 0.75); 0 is uniform over the words that occur;
a negative power prefers rare words. A word with count zero is never drawn.
"""

from __future__ import annotations

import numpy as np

from unhot.errors import DataError
from unhot.types import Counts, Doubles


def unigram(counts: Counts, power: float) -> Doubles:
    """Probabilities of all ids: [vocabulary]."""
    seen = counts > 0
    if not seen.any():
        raise DataError("noise over an empty vocabulary: no word has a count above zero")
    log_weight = np.where(seen, power * np.log(np.maximum(counts, 1)), -np.inf)
    weight = np.exp(log_weight - log_weight.max())  # in logs, so that no power overflows
    q: Doubles = weight / weight.sum()
    return q
