"""Probabilities of scores.

    softmax      p(i) = exp(s_i / T) / sum_j exp(s_j / T)

A score of -inf marks an impossible id (probability 0). Scores of +inf share all the probability evenly.
"""

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError
from unhot.probability.checks import as_ids, checked_rows, checked_scores, doubles
from unhot.types import Doubles, Ids


def log_sum_exp(scores: ArrayLike) -> Doubles:
    """Return log sum_i exp(s_i); -inf where all scores are -inf.

    >>> log_sum_exp([[1000.0, 1000.0], [-1000.0, -np.inf]]).round(4)
    array([ 1000.6931, -1000.    ])
    """
    values = checked_rows("scores", scores)
    return doubles(values.max(axis=-1) + np.log(np.exp(tempered(values, 1.0)).sum(axis=-1)))


def log_softmax(scores: ArrayLike, temperature: float = 1.0) -> Doubles:
    """Return log-probabilities s_i / T - log sum_j exp(s_j / T), exact even where exp would round to 0.

    >>> log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    below = tempered(checked_scores("scores", scores), temperature)
    return doubles(below - np.log(np.exp(below).sum(axis=-1, keepdims=True)))


def softmax(scores: ArrayLike, temperature: float = 1.0) -> Doubles:
    """Return the probabilities exp(s_i / T) / sum_j exp(s_j / T).

    At T = 0 they are uniform over the largest scores, at T = inf over the possible ids.

    Adding a constant to all scores changes nothing; multiplying them does.

    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    >>> softmax([2.0, 1.0, 2.0], temperature=0)
    array([0.5, 0. , 0.5])
    """
    weights = np.exp(tempered(checked_scores("scores", scores), temperature))
    return doubles(weights / weights.sum(axis=-1, keepdims=True))


def most_likely(scores: ArrayLike) -> Ids:
    """Return argmax_i s_i, the lowest id among equal scores; the softmax need not be computed.

    >>> most_likely([[0.5, 2.0, 1.0], [3.0, 3.0, -np.inf]])
    array([1, 0], dtype=int32)
    """
    return as_ids(checked_scores("scores", scores).argmax(axis=-1))


def tempered(scores: Doubles, temperature: float) -> Doubles:
    """Return (s - max s) / T without overflow: 0 for the largest score, -inf for impossible ids.

    T = 0 and T = inf give the limits.
    """
    number = isinstance(temperature, (int, float, np.integer, np.floating))
    if not number or isinstance(temperature, bool) or not temperature >= 0:
        raise ConfigError(
            f"temperature={temperature!r}: must be a number >= 0; 0 keeps only the largest scores, inf "
            "makes all possible ids equally likely"
        )
    top = scores.max(axis=-1, keepdims=True)
    if temperature == 0:
        return np.where(scores == top, 0.0, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        if temperature == 1 and np.isfinite(top).all():  # the usual case: a third of the time
            simple: Doubles = scores - top
            return simple
        # halved, so that the difference of two finite scores stays finite; equal infinite scores differ by 0
        half = np.where(scores == top, 0.0, scores / 2 - top / 2)
        return np.where(half > -np.inf, half / temperature * 2, -np.inf)
