"""Entropies of distributions, in nats.

H(p) = -sum p log p;  H(p, r) = -sum p log r;  KL(p, r) = H(p, r) - H(p)
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from unhot.probability.checks import (
    TOLERANCE,
    check_same_shape,
    checked_distribution,
    checked_numbers,
    checked_shares,
    doubles,
    refuse,
)
from unhot.types import Doubles


def entropy(p: ArrayLike) -> Doubles:
    """Return the entropy H(p) = -sum p log p, with 0 log 0 = 0.

    >>> float(bits(entropy([0.5, 0.25, 0.125, 0.125])))
    1.75
    """
    values = checked_distribution("p", p)
    return doubles(0.0 - _times_log(values, values).sum(axis=-1))


def cross_entropy(p: ArrayLike, r: ArrayLike) -> Doubles:
    """Return the cross entropy H(p, r) = -sum p log r >= H(p); it is inf where r is 0 and p is not.

    p and r must have the same shape.

    >>> float(bits(cross_entropy([0.5, 0.5], [0.25, 0.75])).round(4))
    1.2075
    """
    true, model = checked_distribution("p", p), checked_distribution("r", r)
    check_same_shape("p", true, "r", model)
    return doubles(0.0 - _times_log(true, model).sum(axis=-1))


def kl_divergence(p: ArrayLike, r: ArrayLike) -> Doubles:
    """Return KL(p, r) = sum p log(p / r) = H(p, r) - H(p) >= 0; it is inf where r is 0 and p is not.

    p and r must have the same shape.

    >>> float(kl_divergence([0.5, 0.5], [0.25, 0.75]).round(4)), float(kl_divergence([0.5, 0.5], [1.0, 0.0]))
    (0.1438, inf)
    """
    true, model = checked_distribution("p", p), checked_distribution("r", r)
    check_same_shape("p", true, "r", model)
    # subtracting term by term loses less to rounding than subtracting the two sums
    return doubles(np.maximum((_times_log(true, true) - _times_log(true, model)).sum(axis=-1), 0.0))


def binary_cross_entropy(y: ArrayLike, p: ArrayLike) -> Doubles:
    """Return -y log p - (1 - y) log(1 - p) for each element.

    y is the true probability (or a label 0 or 1), p the model's probability; both must have the same shape.

    >>> binary_cross_entropy([1.0, 0.0, 0.0], [0.5, 0.0, 1.0]).round(4)
    array([0.6931, 0.    ,    inf])
    """
    true, model = checked_shares("y", y), checked_shares("p", p)
    check_same_shape("y", true, "p", model)
    with np.errstate(divide="ignore"):
        log_no = np.log1p(-model)  # exact for a tiny p, which 1 - p would round away
    no = np.multiply(1.0 - true, log_no, out=np.zeros_like(true), where=true < 1)
    return doubles(0.0 - _times_log(true, model) - no)


def perplexity(cross_entropy_in_nats: ArrayLike) -> Doubles:
    """Return the perplexity exp(H) of a cross entropy H (mean negative log-likelihood) in nats.

    A model of perplexity n is as uncertain as a choice among n equally likely words.

    >>> float(perplexity(entropy([0.25, 0.25, 0.25, 0.25])).round(12))
    4.0
    """
    values = checked_numbers("cross_entropy_in_nats", cross_entropy_in_nats)
    refuse(
        "cross_entropy_in_nats",
        values,
        values < -TOLERANCE,
        "must be >= 0: it is the mean of the *negative* log-likelihood",
    )
    with np.errstate(over="ignore"):
        return doubles(np.exp(values))


def bits(nats: ArrayLike) -> Doubles:
    """Convert nats to bits: nats / log 2.

    >>> float(bits(np.log(2)))
    1.0
    """
    return doubles(checked_numbers("nats", nats) / math.log(2))


def nats(bits: ArrayLike) -> Doubles:
    """Convert bits to nats: bits * log 2.

    >>> float(nats(1).round(4))
    0.6931
    """
    return doubles(checked_numbers("bits", bits) * math.log(2))


def _times_log(p: Doubles, r: Doubles) -> Doubles:
    """Return the products p log r, with 0 log 0 = 0."""
    with np.errstate(divide="ignore"):
        log = np.log(r)
    return np.multiply(p, log, out=np.zeros_like(p), where=p > 0)
