"""Turn weights into probabilities: q(w) = weight(w) ** power / sum.

An id of weight zero is never drawn, whatever the power: 0 ** 0 and 0 ** -1 count as zero, too.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError
from unhot.types import Doubles


def checked_weights(name: str, weights: ArrayLike) -> Doubles:
    """Return the weights as float64; raise a `DataError` unless they are a row of finite numbers >= 0."""
    try:
        checked = np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: must be numbers, one for each id") from error
    if checked.ndim != 1:
        raise DataError(f"{name} of shape {checked.shape}: must be one row with one number for each id")
    bad = np.flatnonzero(~((checked >= 0) & (checked < np.inf)))
    if bad.size:
        raise DataError(f"{name}: {checked[bad[0]]} for id {bad[0]}: must be finite and >= 0")
    return checked


def normalised(weights: Doubles, power: float, empty: str) -> Doubles:
    """Return the probabilities of checked weights; raise a `DataError` with the text `empty` if all are 0."""
    if not math.isfinite(power):
        raise ConfigError(f"power={power}: must be a finite number")
    possible = weights > 0
    if not possible.any():
        raise DataError(empty)
    log_weight = np.where(possible, power * np.log(np.where(possible, weights, 1.0)), -np.inf)
    weight = np.exp(log_weight - log_weight.max())  # in logs, so that no power overflows
    return np.asarray(weight / weight.sum())
