"""The bases of all evaluation results, which can be turned into plain data for JSON, and their intervals.

The interval of a figure shows how far it would move with other questions of the same kind. It is a
percentile interval by the bootstrap: from n observations, n are drawn with replacement, RESAMPLES times; the
interval holds the middle LEVEL of the figure's values. A resample is stored as a count for each observation,
so nothing is copied or sorted again. The draws are seeded, so the interval is the same every time.

Reference: Efron and Tibshirani 1993, chapter 13.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.json_file import plain
from unhot.probability.calibration import share as share
from unhot.types import Doubles

RESAMPLES = 1_000
LEVEL = 0.95
NUMBERS = 1 << 18  # numbers held at a time, so that they stay in the cache

Interval: TypeAlias = tuple[float, float]
NO_INTERVAL: Interval = (math.nan, math.nan)
# called now and then with what is done, the work done and its total (None: not known)
Progress: TypeAlias = Callable[[str, int, int | None], None]


class Figures:
    """A result: a dataclass of figures, and of the settings with which they were measured."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; a number that is not finite is None, because JSON does not have it."""
        return dict(plain(self))


@dataclass(frozen=True, kw_only=True)
class FiguresWithIntervals(Figures):
    """Figures with intervals by the bootstrap, and how these were drawn."""

    seed: int
    resamples: int = RESAMPLES
    level: float = LEVEL


@dataclass(frozen=True, kw_only=True)
class WordFigures(FiguresWithIntervals):
    """Figures of the questions in a file, and which words counted as known."""

    file: str
    restrict_vocab: int | None
    case: str


def mean_interval(values: ArrayLike, seed: int = 1) -> Interval:
    """Return the interval of a mean; (NaN, NaN) if there are no values.

    >>> low, high = mean_interval([0, 1] * 50)
    >>> bool(0.35 < low < 0.45 < 0.55 < high < 0.65)
    True
    """
    # count equal values together: for right and wrong answers, only two counts are drawn
    different, times = np.unique(np.asarray(values, np.float64), return_counts=True)
    return bootstrap(times, lambda weights: weights @ different / times.sum(), seed)


def bootstrap(times: ArrayLike, figure: Callable[[Doubles], Doubles], seed: int = 1) -> Interval:
    """Return the interval of any figure.

    times    how often each different observation was made
    figure   a function: counts [resamples, observations] -> the figure [resamples]; NaN if it is not defined,
             and then left out
    """
    times = np.asarray(times, np.int64)
    if times.size == 0:
        return NO_INTERVAL
    values = np.concatenate([figure(weights) for weights in _resamples(times, seed)])
    values = values[np.isfinite(values)]
    if values.size == 0:
        return NO_INTERVAL
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _resamples(times: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int) -> Iterator[Doubles]:
    """Yield resamples, some at a time, so that memory does not depend on their number."""
    rng, n = np.random.default_rng(seed), int(times.sum())
    at_once = max(1, NUMBERS // times.size)
    for first in range(0, RESAMPLES, at_once):
        drawn = rng.multinomial(n, times / n, size=min(at_once, RESAMPLES - first))
        yield drawn.astype(np.float64)
