"""Expected counts c(w): how often id w is expected among k draws from q.

    with replacement     c = k q
    without              c = 1 - (1 - q) ** t,  where t solves  sum_w c(w) = k

Drawing until k ids are distinct takes a random number of tries; t is the number of tries that gives k
distinct ids on average. With this t, c is close to the probability that w is among the k ids. If k is the
number of ids with q > 0, c is exactly 1.

TensorFlow's candidate samplers report other counts: the same formula with the tries that the call happened to
take, and k q if no draw was repeated (see `unhot.nn.samplers`).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, whole
from unhot.noise.rules import checked_weights
from unhot.types import Doubles

STEPS = 100  # the most steps of Newton's method; it takes 5 to 40
BELOW_ONE = 1.0 - 2.0**-53  # the largest q, so that log(1 - q) stays finite


def expected_counts(q: ArrayLike, k: int, *, unique: bool = False) -> Doubles:
    """Return the expected count of every id among k draws: [vocabulary]."""
    q = checked_weights("q", q)
    if not unique:
        return whole("k", k, 1) * q
    t = tries(q, k)
    if math.isinf(t):
        return (q > 0).astype(np.float64)
    return np.asarray(-np.expm1(t * _log_miss(q)))  # exact even where q is tiny


def tries(q: ArrayLike, k: int) -> float:
    """Return the number of tries t after which k distinct ids are expected.

    It is infinite if k is the number of ids with q > 0.

    sum_w 1 - (1 - q) ** t is increasing and concave in t, and below k at t = k. So from t = k Newton's method
    approaches the solution from the left and never overshoots.
    """
    q = checked_weights("q", q)
    possible = q[q > 0]
    k = check_distinct(k, possible.size)
    if k == possible.size:
        return math.inf
    log_miss = _log_miss(possible)
    t = float(k)
    for _ in range(STEPS):
        exponent = t * log_miss
        short = k + float(np.expm1(exponent).sum())
        if short <= 0:
            break
        step = short / -float((log_miss * np.exp(exponent)).sum())
        t += step
        if step <= 1e-15 * t:
            break
    return t


def check_distinct(k: object, possible: int) -> int:
    """Return k as an int; raise a `ConfigError` if it exceeds `possible`, the number of ids with q > 0."""
    number = whole("k", k, 1)
    if number > possible:
        raise ConfigError(
            f"k={number} distinct draws: must be <= {possible}, "
            "the number of ids with a probability above zero"
        )
    return number


def _log_miss(q: Doubles) -> Doubles:
    """Return log(1 - q), the log of the probability that one try misses the id."""
    return np.asarray(np.log1p(-np.minimum(q, BELOW_ONE)))
