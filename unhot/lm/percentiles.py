"""Percentiles of a stream of numbers, in bounded memory: a histogram with fine steps."""

from collections.abc import Iterable

import numpy as np

from unhot.types import Doubles

STEP = 1e-3
MOST = 100.0  # greater numbers count as this


class Percentiles:
    """Numbers from 0 to MOST, counted in steps of STEP."""

    def __init__(self) -> None:
        """Begin without numbers."""
        self.counts = np.zeros(int(MOST / STEP) + 1, np.int64)
        self.number = 0

    def add(self, numbers: Doubles) -> None:
        """Count numbers."""
        places = np.nan_to_num(np.clip(numbers, 0.0, MOST) / STEP).astype(np.int64)
        self.counts += np.bincount(places, minlength=self.counts.size)
        self.number += numbers.size

    def at(self, percents: Iterable[int]) -> dict[int, float]:
        """Return the number below which each percentage of all numbers lies, up to a step."""
        sums = np.cumsum(self.counts)
        return {p: float(np.searchsorted(sums, self.number * p / 100)) * STEP for p in percents}
