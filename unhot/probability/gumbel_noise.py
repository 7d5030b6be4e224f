"""Gumbel noise, and draws from a softmax with it.

    Gumbel-max   argmax_i (s_i / T + G_i), G_i = -log(-log U_i), is a draw from the softmax

References: Gumbel 1954; Plackett 1975; Kool et al. 2019 (Gumbel-top-k).
"""

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.probability.checks import as_ids, checked_rows, checked_scores, doubles
from unhot.probability.scores import tempered
from unhot.types import Doubles, Ids

_SMALLEST_U = 2.0**-54  # in place of 0, which `random()` can return; it returns multiples of 2**-53 below 1
_ABOVE_NOISE = 64.0  # Gumbel noise lies between -3.7 and 36.8


def gumbel(shape: int | tuple[int, ...], rng: np.random.Generator) -> Doubles:
    """Draw G = -log(-log U), U uniform in the open interval (0, 1): finite, mean 0.5772, variance pi^2 / 6.

    >>> gumbel((2, 3), np.random.default_rng(0)).shape
    (2, 3)
    """
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(
            f"rng={rng!r}: must be a numpy.random.Generator, such as numpy.random.default_rng(1)"
        )
    return doubles(-np.log(-np.log(np.maximum(rng.random(shape), _SMALLEST_U))))


def gumbel_max(scores: ArrayLike, rng: np.random.Generator, temperature: float = 1.0) -> Ids:
    """Draw one id per row from softmax(scores, temperature), as argmax_i (s_i / T + G_i).

    T = 0 and T = inf are allowed.

    >>> gumbel_max([[-np.inf, 1000.0], [1000.0, -1000.0]], np.random.default_rng(0))
    array([1, 0], dtype=int32)
    """
    below = tempered(checked_scores("scores", scores), temperature)
    return as_ids((below + gumbel(below.shape, rng)).argmax(axis=-1))


def gumbel_top_k(scores: ArrayLike, k: int, rng: np.random.Generator) -> Ids:
    """Draw k ids from softmax(scores) without replacement (Plackett-Luce): [..., k].

    They are the ids of the k largest s_i + G_i, largest first. Ids of score +inf come first, in random
    order. Scores more than about 2**50 below the largest finite one are so large that rounding loses the
    noise.

    >>> gumbel_top_k([0.0, -np.inf, 1000.0], 2, np.random.default_rng(0))
    array([2, 0], dtype=int32)
    """
    values, k = checked_rows("scores", scores), whole("k", k, 0)
    possible = (values > -np.inf).sum(axis=-1).min(initial=values.shape[-1])
    if k > possible:
        raise DataError(
            f"k={k}: a row of scores has only {possible} possible ids (above -inf); use k <= {possible}"
        )
    finite = np.isfinite(values)
    top = values.max(axis=-1, keepdims=True, where=finite, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        # a finite score stays above -inf, so its id stays possible
        below = np.maximum(values - top, np.finfo(np.float64).min)
    level = np.where(finite, below, np.where(values > 0, _ABOVE_NOISE, -np.inf))
    falling = -(level + gumbel(values.shape, rng))
    first = np.argpartition(falling, max(k - 1, 0), axis=-1)[..., :k]
    order = np.take_along_axis(falling, first, axis=-1).argsort(axis=-1)
    return as_ids(np.take_along_axis(first, order, axis=-1))
