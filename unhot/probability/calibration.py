"""Calibration: measure whether predictions are right as often as their probabilities say, and mend it.

    ECE = sum over bins of (n_b / n) |accuracy_b - confidence_b|

is the expected calibration error. The confidence of an example is the probability of its first predicted
label. Bin b of B holds the n_b examples whose confidence is at least b/B and below (b + 1)/B; the last bin
also holds 1. accuracy_b is the share of right predictions in the bin, confidence_b the mean confidence.

A temperature T divides all scores s. It changes probabilities, and never which label is first. There are two
ways to fit it to held-out examples. `fit_temperature` minimises the mean log loss of the true labels: with
b = 1/T, and y_j = 1 for true labels and 0 for others,

    softmax        L(b) = mean of log sum_j exp(b s_j) - b s_true
    independent    L(b) = mean of sum_j log(1 + exp(b s_j)) - y_j b s_j
    both           L'(b) = mean of sum_j (p_j - y_j) s_j,   p = softmax(b s) or sigmoid(b s)

L is convex in b, so L' has at most one zero; Newton's method finds it in log b, and halves the interval
wherever a step would leave it.

`fit_confidence` minimises the log loss of the question whether the first label is right: with the confidence
c = max_j p_j, and r = 1 if the first label is true and 0 if not,

    C(b) = mean of -r log c - (1 - r) log(1 - c),   p = softmax(b s)

Of two labels, both are the same. Of many, examples that the model knows nothing about, whose true label is
any of them, count much less here, and the calibration error is smaller. C may have several minima, so T is
searched on a grid first.

References: Guo, Pleiss, Sun and Weinberger 2017; Platt 1999.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError
from unhot.probability.checks import check_same_shape, checked_numbers, checked_rows, checked_scores, refuse
from unhot.types import Doubles

BINS = 15
ROUNDING = 1e-4  # how far a confidence may lie outside of 0 to 1, as fastText's do
COOLEST, HOTTEST = 0.01, 100.0  # temperatures are bounded: if all examples are right, the best one is 0
STEPS = 100  # far more than needed; each halves the interval at worst
PRECISION = 1e-12  # relative, of a temperature
LARGE = 1e100  # no score is farther from 0, so that squares are finite
TINY = 1e-300  # the least sum of probabilities, so that its logarithm is finite
GRID = 48  # temperatures that are tried, evenly spaced in log T
HALVINGS = 20  # of the interval around the best of them


def share(part: float, whole: float) -> float:
    """Return part / whole; NaN if the whole is 0."""
    return part / whole if whole else math.nan


@dataclass(frozen=True, kw_only=True)
class ReliabilityBin:
    """Examples of similar confidence; the means are NaN if there are none."""

    low: float
    high: float
    examples: int
    confidence: float  # mean
    accuracy: float


def bin_sums(confidence: ArrayLike, right: ArrayLike, bins: int = BINS) -> Doubles:
    """Return [bins, 3]: the number of examples, the sum of their confidences, how many are right.

    Sums of several batches can be added.

    >>> bin_sums([0.1, 0.6, 1.0], [False, True, True], bins=2)
    array([[1. , 0.1, 0. ],
           [2. , 1.6, 2. ]])
    """
    values, hits = checked_numbers("confidence", confidence), checked_numbers("right", right)
    check_same_shape("confidence", values, "right", hits)
    refuse("confidence", values, np.abs(values - 0.5) > 0.5 + ROUNDING, "must lie between 0 and 1")
    values = values.clip(0, 1)
    which = np.minimum(values * bins, bins - 1).astype(np.int64)
    counted = (np.bincount(which, weights, bins) for weights in (np.ones(which.size), values, hits))
    return np.stack(list(counted), axis=1)


def reliability(sums: Doubles) -> list[ReliabilityBin]:
    """Return the bins of `bin_sums`."""
    return [
        ReliabilityBin(
            low=i / len(sums),
            high=(i + 1) / len(sums),
            examples=int(examples),
            confidence=share(confidence, examples),
            accuracy=share(right, examples),
        )
        for i, (examples, confidence, right) in enumerate(sums.tolist())
    ]


def expected_calibration_error(sums: Doubles) -> float:
    """Return the expected calibration error of `bin_sums`; NaN if there are no examples.

    >>> expected_calibration_error(bin_sums([0.9, 0.9, 0.6, 0.6], [1, 1, 1, 0])).__round__(6)
    0.1
    """
    examples, confidence, right = sums.T
    return share(float(np.abs(right - confidence).sum()), float(examples.sum()))


def fit_temperature(log_weights: ArrayLike, truth: ArrayLike, independent: bool = False) -> float:
    """Return the temperature that minimises the mean log loss, between COOLEST and HOTTEST.

    log_weights   scores [examples, labels] before the softmax or the sigmoids; -inf: impossible
    truth         ids of the true labels [examples]; if independent, 1 for true labels [examples, labels]
    independent   whether each label has a probability of its own, a sigmoid

    If no temperature is better than another, as with a single label, the result is 1. If all examples are
    right, or none is better than chance, the result is a bound.

    >>> scores = np.log([[0.9, 0.1]] * 4)  # three of four are right, so 0.75 would fit
    >>> t = fit_temperature(scores, [0, 0, 0, 1])
    >>> (np.exp(scores[0] / t) / np.exp(scores[0] / t).sum()).round(4)
    array([0.75, 0.25])
    """
    scores, true = _checked(log_weights, truth, independent)
    low, high = -math.log(HOTTEST), -math.log(COOLEST)  # log b, where L' is below 0 and above 0
    first, last = (_slope(scores, true, math.exp(end), independent)[0] for end in (low, high))
    if first >= 0 or last <= 0:
        return 1.0 if first == last == 0 else HOTTEST if first >= 0 else COOLEST
    at = 0.0
    for _ in range(STEPS):
        slope, curvature = _slope(scores, true, math.exp(at), independent)
        low, high = (at, high) if slope < 0 else (low, at)
        step = share(-slope, math.exp(at) * curvature)
        after = at + step if low < at + step < high else (low + high) / 2
        if slope == 0 or abs(after - at) < PRECISION:
            break
        at = after
    return math.exp(-at)


def fit_confidence(log_weights: ArrayLike, right: ArrayLike) -> float:
    """Return the temperature at which the probability of the first label says how often it is right.

    log_weights   scores [examples, labels] before the softmax; -inf: impossible
    right         1 where the label with the highest score is true, else 0 [examples]

    If all examples are right, or none, the result is a bound: COOLEST or HOTTEST.

    >>> scores = np.log([[0.9, 0.1]] * 4)  # three of four are right, so 0.75 would fit
    >>> t = fit_confidence(scores, [1, 1, 1, 0])
    >>> (np.exp(scores[0] / t) / np.exp(scores[0] / t).sum()).round(4)
    array([0.75, 0.25])
    """
    scores, hits = checked_scores("log_weights", log_weights), checked_numbers("right", right)
    check_same_shape("right", hits, "the first label of log_weights", scores.max(axis=-1))
    behind = np.sort(scores - scores.max(axis=-1, keepdims=True), axis=-1)[:, :-1]  # without the first label
    behind = behind.clip(-LARGE, 0.0)

    def loss(log_t: float) -> float:
        others = np.log(np.maximum(np.exp(behind * math.exp(-log_t)).sum(axis=1), TINY))
        # c = 1 / (1 + others), so log c = -log(1 + others) and log(1 - c) = log others + log c
        return float((np.logaddexp(0.0, others) - (1 - hits) * others).mean())

    places = np.linspace(math.log(COOLEST), math.log(HOTTEST), GRID)
    best = int(np.argmin([loss(place) for place in places]))
    if best in (0, GRID - 1):
        return COOLEST if best == 0 else HOTTEST
    low, high = places[best - 1], places[best + 1]
    for _ in range(HALVINGS):
        left, right_end = low + (high - low) * 0.45, low + (high - low) * 0.55
        low, high = (low, right_end) if loss(left) < loss(right_end) else (left, high)
    return math.exp((low + high) / 2)


def _checked(log_weights: ArrayLike, truth: ArrayLike, independent: bool) -> tuple[Doubles, Doubles]:
    """Return scores and truth as float64 [examples, labels]."""
    check = checked_rows if independent else checked_scores
    scores, true = check("log_weights", log_weights), checked_numbers("truth", truth)
    if scores.ndim != 2 or not len(scores):
        raise DataError(f"log_weights has shape {scores.shape}: must be [examples, labels], with an example")
    scores = scores.clip(-LARGE, LARGE)
    if not independent:
        ids, scores = np.arange(scores.shape[1]), scores - scores.max(axis=1, keepdims=True)
        refuse("truth", true, (true < 0) | (true >= ids.size) | (true % 1 != 0), "must be the id of a label")
        true = (true[..., None] == ids).astype(np.float64)
    check_same_shape("truth", true, "log_weights", scores)
    refuse("truth", true, (true != 0) & (true != 1), "must be 0 or 1")
    return scores, true


def _slope(scores: Doubles, true: Doubles, b: float, independent: bool) -> tuple[float, float]:
    """Return L'(b) and L''(b)."""
    if independent:
        p = np.exp(-np.logaddexp(0.0, -b * scores))
        curvatures = p * (1 - p) * scores**2
    else:
        weights = np.exp(b * scores)  # the largest score is 0
        p = weights / weights.sum(axis=1, keepdims=True)
        curvatures = p * (scores - (p * scores).sum(axis=1, keepdims=True)) ** 2
    return float(((p - true) * scores).sum() / len(scores)), float(curvatures.sum() / len(scores))
