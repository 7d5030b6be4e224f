"""Estimates of means and integrals from random draws, with their standard errors.

Reference: Owen, Monte Carlo theory, methods and examples, 2013, chapter 9 (importance sampling).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, finite
from unhot.probability.checks import check_same_shape, checked_scores, doubles, finite_rows, refuse
from unhot.probability.scores import tempered
from unhot.types import Doubles


class Estimate(NamedTuple):
    """A mean over draws, its standard error, and the number of equally weighted draws that it is worth."""

    mean: Doubles  # or the integral, of `uniform_monte_carlo`
    standard_error: Doubles
    effective_size: Doubles


def monte_carlo(values: ArrayLike) -> Estimate:
    """Estimate E_p[f] by the mean of values f(x_1) .. f(x_n), x_i ~ p.

    The standard error is s / sqrt(n), s^2 = sum (f - mean)^2 / (n - 1). For n = 1 it is inf: one value says
    nothing about its own error.

    >>> estimate = monte_carlo([1.0, 2.0, 3.0, 4.0])
    >>> float(estimate.mean), float(estimate.standard_error.round(4)), float(estimate.effective_size)
    (2.5, 0.6455, 4.0)
    """
    f = finite_rows("values", values)
    return _estimate(f, np.ones_like(f))


def uniform_monte_carlo(values: ArrayLike, low: float, high: float) -> Estimate:
    """Estimate the integral of f from low to high from values f(x_i), x_i uniform between low and high.

        mean              (high - low) / n sum f(x_i), which is the integral
        standard error    (high - low) s / sqrt(n), s as in `monte_carlo`

    It is `monte_carlo` of f / q with q = 1 / (high - low). If f is large in a small part of the interval
    only, fewer draws do from a density q that is large there.

    >>> x = np.random.default_rng(1).uniform(0, np.pi, 10_000)
    >>> estimate = uniform_monte_carlo(np.sin(x), 0, np.pi)  # the integral is 2
    >>> float(estimate.mean.round(1)), float(estimate.standard_error.round(2))
    (2.0, 0.01)
    """
    low, high = finite("low", low), finite("high", high)
    width = high - low
    if not 0 <= width < math.inf:
        raise ConfigError(f"low={low}, high={high}: high must be at least low, and their difference finite")
    mean, error, size = monte_carlo(values)
    # an interval of width 0 has an integral of 0, also if one value says nothing about its error
    return Estimate(width * mean, width * error if width else np.zeros_like(error), size)


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
    f, logs = finite_rows("values", values), checked_scores("log_weights", log_weights)
    check_same_shape("values", f, "log_weights", logs)
    refuse("log_weights", logs, logs == np.inf, "must be below inf: a draw that q cannot give has no weight")
    return _estimate(f, np.exp(tempered(logs, 1.0)))


def _estimate(f: Doubles, w: Doubles) -> Estimate:
    """Estimate a weighted mean of f; the weights are scaled so that the largest is 1."""
    n, total = f.shape[-1], w.sum(axis=-1)
    mean = (w * f).sum(axis=-1) / total
    squares = ((w * (f - mean[..., None])) ** 2).sum(axis=-1)
    error = np.sqrt(n / (n - 1) * squares) / total if n > 1 else np.full(mean.shape, np.inf)
    return Estimate(doubles(mean), doubles(error), doubles(total**2 / (w**2).sum(axis=-1)))
