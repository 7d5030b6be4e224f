"""Softmax probabilities, random draws from them, and entropies and estimates.

    softmax      p(i) = exp(s_i / T) / sum_j exp(s_j / T)
    Gumbel-max   argmax_i (s_i / T + G_i), G_i = -log(-log U_i), is a draw from the softmax
    entropy      H(p) = -sum p log p;  H(p, r) = -sum p log r;  KL(p, r) = H(p, r) - H(p)

All functions compute in float64, work on the last axis of arrays of any rank, and measure in nats. An array
of one axis gives a NumPy scalar. A score of -inf marks an impossible id (probability 0, never drawn). Scores
of +inf share all the probability evenly. NaN raises a `DataError`.

References: Gumbel 1954; Plackett 1975; Kool et al. 2019 (Gumbel-top-k); Owen 2013, chapter 9 (importance
sampling).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.types import Doubles, Ids

_TOLERANCE = 1e-6  # how far a sum of probabilities may be from one
_SMALLEST_U = 2.0**-54  # in place of 0, which `random()` can return; it returns multiples of 2**-53 below 1
_ABOVE_NOISE = 64.0  # Gumbel noise lies between -3.7 and 36.8


class Estimate(NamedTuple):
    """A mean over draws, its standard error, and the number of equally weighted draws that it is worth."""

    mean: Doubles
    standard_error: Doubles
    effective_size: Doubles


def log_sum_exp(scores: ArrayLike) -> Doubles:
    """Return log sum_i exp(s_i); -inf where all scores are -inf.

    >>> log_sum_exp([[1000.0, 1000.0], [-1000.0, -np.inf]]).round(4)
    array([ 1000.6931, -1000.    ])
    """
    values = _rows("scores", scores)
    return _doubles(values.max(axis=-1) + np.log(np.exp(_tempered(values, 1.0)).sum(axis=-1)))


def log_softmax(scores: ArrayLike, temperature: float = 1.0) -> Doubles:
    """Return log-probabilities s_i / T - log sum_j exp(s_j / T), exact even where exp would round to 0.

    >>> log_softmax([0.0, -1000.0])
    array([    0., -1000.])
    """
    below = _tempered(_scores("scores", scores), temperature)
    return _doubles(below - np.log(np.exp(below).sum(axis=-1, keepdims=True)))


def softmax(scores: ArrayLike, temperature: float = 1.0) -> Doubles:
    """Return the probabilities exp(s_i / T) / sum_j exp(s_j / T).

    At T = 0 they are uniform over the largest scores, at T = inf over the possible ids.

    Adding a constant to all scores changes nothing; multiplying them does.

    >>> softmax([1000.0, 1000.0, -np.inf])
    array([0.5, 0.5, 0. ])
    >>> softmax([2.0, 1.0, 2.0], temperature=0)
    array([0.5, 0. , 0.5])
    """
    weights = np.exp(_tempered(_scores("scores", scores), temperature))
    return _doubles(weights / weights.sum(axis=-1, keepdims=True))


def most_likely(scores: ArrayLike) -> Ids:
    """Return argmax_i s_i, the lowest id among equal scores; the softmax need not be computed.

    >>> most_likely([[0.5, 2.0, 1.0], [3.0, 3.0, -np.inf]])
    array([1, 0], dtype=int32)
    """
    return _ids(_scores("scores", scores).argmax(axis=-1))


def gumbel(shape: int | tuple[int, ...], rng: np.random.Generator) -> Doubles:
    """Draw G = -log(-log U), U uniform in the open interval (0, 1): finite, mean 0.5772, variance pi^2 / 6.

    >>> gumbel((2, 3), np.random.default_rng(0)).shape
    (2, 3)
    """
    if not isinstance(rng, np.random.Generator):
        raise ConfigError(
            f"rng={rng!r}: must be a numpy.random.Generator, such as numpy.random.default_rng(1)"
        )
    return _doubles(-np.log(-np.log(np.maximum(rng.random(shape), _SMALLEST_U))))


def gumbel_max(scores: ArrayLike, rng: np.random.Generator, temperature: float = 1.0) -> Ids:
    """Draw one id per row from softmax(scores, temperature), as argmax_i (s_i / T + G_i).

    T = 0 and T = inf are allowed.

    >>> gumbel_max([[-np.inf, 1000.0], [1000.0, -1000.0]], np.random.default_rng(0))
    array([1, 0], dtype=int32)
    """
    below = _tempered(_scores("scores", scores), temperature)
    return _ids((below + gumbel(below.shape, rng)).argmax(axis=-1))


def gumbel_top_k(scores: ArrayLike, k: int, rng: np.random.Generator) -> Ids:
    """Draw k ids from softmax(scores) without replacement (Plackett-Luce): [..., k].

    They are the ids of the k largest s_i + G_i, largest first. Ids of score +inf come first, in random
    order. Scores more than about 2**50 below the largest finite one are so large that rounding loses the
    noise.

    >>> gumbel_top_k([0.0, -np.inf, 1000.0], 2, np.random.default_rng(0))
    array([2, 0], dtype=int32)
    """
    values, k = _rows("scores", scores), whole("k", k, 0)
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
    return _ids(np.take_along_axis(first, order, axis=-1))


def entropy(p: ArrayLike) -> Doubles:
    """Return the entropy H(p) = -sum p log p, with 0 log 0 = 0.

    >>> float(bits(entropy([0.5, 0.25, 0.125, 0.125])))
    1.75
    """
    values = _distribution("p", p)
    return _doubles(0.0 - _times_log(values, values).sum(axis=-1))


def cross_entropy(p: ArrayLike, r: ArrayLike) -> Doubles:
    """Return the cross entropy H(p, r) = -sum p log r >= H(p); it is inf where r is 0 and p is not.

    p and r must have the same shape.

    >>> float(bits(cross_entropy([0.5, 0.5], [0.25, 0.75])).round(4))
    1.2075
    """
    true, model = _distribution("p", p), _distribution("r", r)
    _same_shape("p", true, "r", model)
    return _doubles(0.0 - _times_log(true, model).sum(axis=-1))


def kl_divergence(p: ArrayLike, r: ArrayLike) -> Doubles:
    """Return KL(p, r) = sum p log(p / r) = H(p, r) - H(p) >= 0; it is inf where r is 0 and p is not.

    p and r must have the same shape.

    >>> float(kl_divergence([0.5, 0.5], [0.25, 0.75]).round(4)), float(kl_divergence([0.5, 0.5], [1.0, 0.0]))
    (0.1438, inf)
    """
    true, model = _distribution("p", p), _distribution("r", r)
    _same_shape("p", true, "r", model)
    # subtracting term by term loses less to rounding than subtracting the two sums
    return _doubles(np.maximum((_times_log(true, true) - _times_log(true, model)).sum(axis=-1), 0.0))


def binary_cross_entropy(y: ArrayLike, p: ArrayLike) -> Doubles:
    """Return -y log p - (1 - y) log(1 - p) for each element.

    y is the true probability (or a label 0 or 1), p the model's probability; both must have the same shape.

    >>> binary_cross_entropy([1.0, 0.0, 0.0], [0.5, 0.0, 1.0]).round(4)
    array([0.6931, 0.    ,    inf])
    """
    true, model = _unit("y", y), _unit("p", p)
    _same_shape("y", true, "p", model)
    with np.errstate(divide="ignore"):
        log_no = np.log1p(-model)  # exact for a tiny p, which 1 - p would round away
    no = np.multiply(1.0 - true, log_no, out=np.zeros_like(true), where=true < 1)
    return _doubles(0.0 - _times_log(true, model) - no)


def perplexity(cross_entropy_in_nats: ArrayLike) -> Doubles:
    """Return the perplexity exp(H) of a cross entropy H (mean negative log-likelihood) in nats.

    A model of perplexity n is as uncertain as a choice among n equally likely words.

    >>> float(perplexity(entropy([0.25, 0.25, 0.25, 0.25])).round(12))
    4.0
    """
    values = _numbers("cross_entropy_in_nats", cross_entropy_in_nats)
    _refuse(
        "cross_entropy_in_nats",
        values,
        values < -_TOLERANCE,
        "must be >= 0: it is the mean of the *negative* log-likelihood",
    )
    with np.errstate(over="ignore"):
        return _doubles(np.exp(values))


def bits(nats: ArrayLike) -> Doubles:
    """Convert nats to bits: nats / log 2.

    >>> float(bits(np.log(2)))
    1.0
    """
    return _doubles(_numbers("nats", nats) / math.log(2))


def nats(bits: ArrayLike) -> Doubles:
    """Convert bits to nats: bits * log 2.

    >>> float(nats(1).round(4))
    0.6931
    """
    return _doubles(_numbers("bits", bits) * math.log(2))


def monte_carlo(values: ArrayLike) -> Estimate:
    """Estimate E_p[f] by the mean of values f(x_1) .. f(x_n), x_i ~ p.

    The standard error is s / sqrt(n), s^2 = sum (f - mean)^2 / (n - 1). For n = 1 it is inf: one value says
    nothing about its own error.

    >>> estimate = monte_carlo([1.0, 2.0, 3.0, 4.0])
    >>> float(estimate.mean), float(estimate.standard_error.round(4)), float(estimate.effective_size)
    (2.5, 0.6455, 4.0)
    """
    f = _finite_rows("values", values)
    return _estimate(f, np.ones_like(f))


def importance_sampling(values: ArrayLike, log_weights: ArrayLike) -> Estimate:
    """Estimate E_p[f] from values f(x_i), x_i ~ q, and log w_i = log p(x_i) - log q(x_i) up to a constant.

        mean              sum w f / sum w, self-normalised
        effective size    (sum w)^2 / sum w^2
        standard error    sqrt(n / (n - 1) sum w^2 (f - mean)^2) / sum w, by the delta method

    With equal weights the standard error is that of `monte_carlo`. An effective size near 1 means that a
    single draw decides the estimate; the standard error is then too small.

    >>> estimate = importance_sampling([0.0, 1.0], np.log([0.3, 0.1]))
    >>> [float(part.round(4)) for part in estimate]
    [0.25, 0.375, 1.6]
    """
    f, logs = _finite_rows("values", values), _scores("log_weights", log_weights)
    _same_shape("values", f, "log_weights", logs)
    _refuse("log_weights", logs, logs == np.inf, "must be below inf: a draw that q cannot give has no weight")
    return _estimate(f, np.exp(_tempered(logs, 1.0)))


def _estimate(f: Doubles, w: Doubles) -> Estimate:
    """Estimate a weighted mean of f; the weights are scaled so that the largest is 1."""
    n, total = f.shape[-1], w.sum(axis=-1)
    mean = (w * f).sum(axis=-1) / total
    squares = ((w * (f - mean[..., None])) ** 2).sum(axis=-1)
    error = np.sqrt(n / (n - 1) * squares) / total if n > 1 else np.full(mean.shape, np.inf)
    return Estimate(_doubles(mean), _doubles(error), _doubles(total**2 / (w**2).sum(axis=-1)))


def _tempered(scores: Doubles, temperature: float) -> Doubles:
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
        # halved, so that the difference of two finite scores stays finite; equal infinite scores differ by 0
        half = np.where(scores == top, 0.0, scores / 2 - top / 2)
        below: Doubles = np.where(half > -np.inf, half / temperature * 2, -np.inf)
    return below


def _times_log(p: Doubles, r: Doubles) -> Doubles:
    """Return the products p log r, with 0 log 0 = 0."""
    with np.errstate(divide="ignore"):
        log = np.log(r)
    return np.multiply(p, log, out=np.zeros_like(p), where=p > 0)


def _doubles(values: Any) -> Doubles:
    """Return an array as it is, and an array without axes as a NumPy scalar."""
    result: Doubles = values[()]
    return result


def _ids(values: Any) -> Ids:
    """Convert positions on the last axis to ids (int32)."""
    result: Ids = values.astype(np.int32)
    return result


def _refuse(name: str, values: Doubles, bad: Any, rule: str) -> None:
    """Raise a `DataError` that shows the first bad value and where it is."""
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(f"{name} has {values[where]} at {list(where)}: {rule}")


def _numbers(name: str, values: ArrayLike) -> Doubles:
    """Return the values as float64; raise a `DataError` for NaN or anything that is not a number."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(
            f"{name}: must be an array of numbers whose rows have the same length ({error})"
        ) from error
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {array.dtype}: must be an array of real numbers")
    numbers = array.astype(np.float64, copy=False)
    _refuse(name, numbers, np.isnan(numbers), "must not be NaN")
    return numbers


def _rows(name: str, values: ArrayLike) -> Doubles:
    """Return the values as float64; raise a `DataError` if the last axis is missing or empty."""
    numbers = _numbers(name, values)
    if numbers.ndim == 0 or numbers.shape[-1] == 0:
        raise DataError(f"{name} has shape {numbers.shape}: must have a last axis with at least one element")
    return numbers


def _finite_rows(name: str, values: ArrayLike) -> Doubles:
    numbers = _rows(name, values)
    _refuse(name, numbers, np.isinf(numbers), "must be finite")
    return numbers


def _scores(name: str, values: ArrayLike) -> Doubles:
    """Return the values as rows of scores; raise a `DataError` if a row has no possible id."""
    numbers = _rows(name, values)
    if (numbers.max(axis=-1) == -np.inf).any():
        raise DataError(
            f"{name} has a row with only -inf, so no id is possible: give at least one id a finite score"
        )
    return numbers


def _unit(name: str, values: ArrayLike) -> Doubles:
    numbers = _numbers(name, values)
    _refuse(name, numbers, (numbers < 0) | (numbers > 1), "must lie between 0 and 1")
    return numbers


def _distribution(name: str, values: ArrayLike) -> Doubles:
    """Return the values as rows of probabilities; raise a `DataError` unless each row sums to one."""
    numbers = _rows(name, values)
    _refuse(name, numbers, numbers < 0, "probabilities must be >= 0")
    total = numbers.sum(axis=-1)
    _refuse(
        f"the sum of {name} over its last axis",
        total,
        ~(np.abs(total - 1) <= _TOLERANCE),
        "must be 1; divide by the sum first",
    )
    return numbers


def _same_shape(name: str, values: Doubles, other: str, others: Doubles) -> None:
    if values.shape != others.shape:
        raise DataError(
            f"{name} has shape {values.shape}, {other} has {others.shape}: both must have the same shape; "
            "use numpy.broadcast_to"
        )
