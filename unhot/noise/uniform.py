"""Uniform noise: q(w) = 1 / V for every id, also for words with count zero."""

from __future__ import annotations

import numpy as np

from unhot.errors import whole
from unhot.types import Doubles


def uniform(words: int) -> Doubles:
    """Probabilities of all ids: [words]."""
    words = whole("words", words, 1, 2**31 - 1)
    return np.full(words, 1.0 / words)
