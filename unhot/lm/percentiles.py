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
        self.ends = np.inf, -np.inf  # the least and the greatest number

    def add(self, numbers: Doubles) -> None:
        """Count numbers."""
        places = np.nan_to_num(np.clip(numbers, 0.0, MOST) / STEP).astype(np.int64)
        self.counts += np.bincount(places, minlength=self.counts.size)
        self.number += numbers.size
        least, greatest = self.ends
        self.ends = np.fmin.reduce(numbers, initial=least), np.fmax.reduce(numbers, initial=greatest)

    def at(self, percents: Iterable[int]) -> dict[int, float]:
        """Return the number below which each percentage of all numbers lies, up to a step."""
        sums = np.cumsum(self.counts)
        places = {p: float(np.searchsorted(sums, self.number * p / 100)) for p in percents}
        return {p: float(np.clip((place + 0.5) * STEP, *self.ends)) for p, place in places.items()}
