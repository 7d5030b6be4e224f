"""The Gumbel distribution, and draws from a softmax with its noise.

    density        f(x) = exp(-z - exp(-z)) / scale,  z = (x - location) / scale
    distribution   F(x) = P(G <= x) = exp(-exp(-z))
    quantile       x = location - scale log(-log p), where F(x) = p
    Gumbel-max     argmax_i (s_i / T + G_i), G_i = -log(-log U_i), is a draw from the softmax

Location and scale may be arrays; they are broadcast with x. Both tails are exact as far as float64 goes: the
upper one with `upper`, as 1 - F(x) would round to 0, and those that float64 cannot hold as logs.

References: Gumbel 1954; Plackett 1975; Kool et al. 2019 (Gumbel-top-k).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.largest import largest
from unhot.probability.checks import (
    as_ids,
    checked_numbers,
    checked_rows,
    checked_scores,
    checked_shares,
    doubles,
    refuse,
)
from unhot.probability.scores import tempered
from unhot.types import Doubles, Ids

_SMALLEST_U = 2.0**-54  # in place of 0, which `random()` can return; it returns multiples of 2**-53 below 1
_ABOVE_NOISE = 64.0  # Gumbel noise lies between -3.7 and 36.8
_FAR = 20.0  # beyond this z, t / 2 is all that log(1 - exp(-t)) differs from log t by, up to rounding


def gumbel_log_density(x: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> Doubles:
    """Return log f(x) = -z - exp(-z) - log scale.

    >>> gumbel_log_density([0.0, 1000.0, -np.inf])
    array([   -1., -1000.,   -inf])
    """
    z, width = _standard(x, location, scale)
    with np.errstate(over="ignore", invalid="ignore"):
        log_density = np.where(z == -np.inf, -np.inf, -(z + np.exp(-z)))  # for -inf the sum would be NaN
    return doubles(log_density - np.log(width))


def gumbel_density(x: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0) -> Doubles:
    """Return the density f(x) = exp(-z - exp(-z)) / scale; it is largest at the location.

    >>> float(gumbel_density(3.0, location=3.0, scale=2.0).round(4))
    0.1839
    """
    return doubles(np.exp(gumbel_log_density(x, location, scale)))


def gumbel_log_distribution(
    x: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0, *, upper: bool = False
) -> Doubles:
    """Return log P(G <= x) = -exp(-z), or with `upper` log P(G > x) = log(1 - exp(-exp(-z))).

    >>> gumbel_log_distribution([-5.0, 1000.0], upper=True).round(4)
    array([   -0., -1000.])
    """
    z, _ = _standard(x, location, scale)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        t = np.exp(-z)
        if not upper:
            return doubles(-t)
        # for a small t, 1 - exp(-t) = t (1 - t / 2 + ...), and log t = -z even if t is 0
        near = np.where(t <= math.log(2), np.log(-np.expm1(-t)), np.log1p(-np.exp(-t)))
        return doubles(np.where(z > _FAR, -z - t / 2, near))


def gumbel_distribution(
    x: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0, *, upper: bool = False
) -> Doubles:
    """Return F(x) = P(G <= x) = exp(-exp(-z)), or with `upper` P(G > x) = 1 - F(x) without cancellation.

    >>> float(gumbel_distribution(0.0).round(4)), float(gumbel_distribution(100.0, upper=True))
    (0.3679, 3.720075976020836e-44)
    """
    z, _ = _standard(x, location, scale)
    with np.errstate(over="ignore"):
        t = np.exp(-z)
    return doubles(-np.expm1(-t) if upper else np.exp(-t))


def gumbel_quantile(
    p: ArrayLike, location: ArrayLike = 0.0, scale: ArrayLike = 1.0, *, upper: bool = False
) -> Doubles:
    """Return the x with F(x) = p, or with `upper` the x with 1 - F(x) = p: from -inf to inf.

    >>> gumbel_quantile([0.0, 0.5, 1.0]).round(4)
    array([  -inf, 0.3665,    inf])
    """
    shares, place, width = _together(checked_shares("p", p), location, scale)
    with np.errstate(divide="ignore"):
        t = -np.log1p(-shares) if upper else -np.log(shares)
        return doubles(place - width * np.log(t))


def gumbel(
    shape: int | tuple[int, ...],
    rng: np.random.Generator,
    location: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
) -> Doubles:
    """Draw G = location - scale log(-log U), U uniform in the open interval (0, 1).

    G is finite. With location 0 and scale 1 its mean is 0.5772 and its variance pi^2 / 6.

    >>> gumbel((2, 3), np.random.default_rng(0)).shape
    (2, 3)
    """
    drawn = _noise(shape, rng)
    noise, place, width = _together(drawn, location, scale)
    if noise.shape != drawn.shape:
        raise DataError(f"shape={shape}: location and scale have more elements; give shape={noise.shape}")
    return doubles(place + width * noise)


def gumbel_max(scores: ArrayLike, rng: np.random.Generator, temperature: float = 1.0) -> Ids:
    """Draw one id per row from softmax(scores, temperature), as argmax_i (s_i / T + G_i).

    T = 0 and T = inf are allowed.

    >>> gumbel_max([[-np.inf, 1000.0], [1000.0, -1000.0]], np.random.default_rng(0))
    array([1, 0], dtype=int32)
    """
    below = tempered(checked_scores("scores", scores), temperature)
    return as_ids((below + _noise(below.shape, rng)).argmax(axis=-1))


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
    return as_ids(largest(level + _noise(values.shape, rng), k))


def _noise(shape: int | tuple[int, ...], rng: np.random.Generator) -> Doubles:
    """Draw -log(-log U)."""
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(
            f"rng={rng!r}: must be a numpy.random.Generator, such as numpy.random.default_rng(1)"
        )
    return np.asarray(-np.log(-np.log(np.maximum(rng.random(shape), _SMALLEST_U))))


def _standard(x: ArrayLike, location: ArrayLike, scale: ArrayLike) -> tuple[Doubles, Doubles]:
    """Return z = (x - location) / scale, and the scale, in the same shape."""
    values, place, width = _together(checked_numbers("x", x), location, scale)
    with np.errstate(over="ignore"):
        z: Doubles = (values - place) / width
    return z, width


def _together(values: Doubles, location: ArrayLike, scale: ArrayLike) -> tuple[Doubles, Doubles, Doubles]:
    """Return values, location and scale in the same shape; raise a `DataError` if one does not fit."""
    place, width = checked_numbers("location", location), checked_numbers("scale", scale)
    refuse("location", place, np.isinf(place), "must be finite")
    refuse("scale", width, ~((width > 0) & (width < np.inf)), "must be above 0 and finite")
    try:
        one, two, three = np.broadcast_arrays(values, place, width)
    except ValueError as error:
        raise DataError(
            f"location of shape {place.shape} and scale of shape {width.shape}: must fit the shape "
            f"{values.shape}, as NumPy broadcasts"
        ) from error
    return one, two, three
