"""Check arrays of numbers, and return them as float64. Errors show the first bad value and where it is."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError
from unhot.types import Doubles, Ids

TOLERANCE = 1e-6  # how far a sum of probabilities may be from one


def doubles(values: Any) -> Doubles:
    """Return an array as it is, and an array without axes as a NumPy scalar."""
    result: Doubles = values[()]
    return result


def as_ids(values: Any) -> Ids:
    """Convert positions on the last axis to ids (int32)."""
    result: Ids = values.astype(np.int32)
    return result


def refuse(name: str, values: Doubles, bad: Any, rule: str) -> None:
    """Raise a `DataError` that shows the first bad value and where it is."""
    if np.any(bad):
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(f"{name} has {values[where]} at {list(where)}: {rule}")


def checked_numbers(name: str, values: ArrayLike) -> Doubles:
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
    refuse(name, numbers, np.isnan(numbers), "must not be NaN")
    return numbers


def checked_rows(name: str, values: ArrayLike) -> Doubles:
    """Return the values as float64; raise a `DataError` if the last axis is missing or empty."""
    numbers = checked_numbers(name, values)
    if numbers.ndim == 0 or numbers.shape[-1] == 0:
        raise DataError(f"{name} has shape {numbers.shape}: must have a last axis with at least one element")
    return numbers


def finite_rows(name: str, values: ArrayLike) -> Doubles:
    """Return the values as rows of float64; raise a `DataError` if one is infinite."""
    numbers = checked_rows(name, values)
    refuse(name, numbers, np.isinf(numbers), "must be finite")
    return numbers


def checked_scores(name: str, values: ArrayLike) -> Doubles:
    """Return the values as rows of scores; raise a `DataError` if a row has no possible id."""
    numbers = checked_rows(name, values)
    if (numbers.max(axis=-1) == -np.inf).any():
        raise DataError(
            f"{name} has a row with only -inf, so no id is possible: give at least one id a finite score"
        )
    return numbers


def checked_shares(name: str, values: ArrayLike) -> Doubles:
    """Return the values as float64; raise a `DataError` unless all lie between 0 and 1."""
    numbers = checked_numbers(name, values)
    refuse(name, numbers, (numbers < 0) | (numbers > 1), "must lie between 0 and 1")
    return numbers


def checked_distribution(name: str, values: ArrayLike) -> Doubles:
    """Return the values as rows of probabilities; raise a `DataError` unless each row sums to one."""
    numbers = checked_rows(name, values)
    refuse(name, numbers, numbers < 0, "probabilities must be >= 0")
    total = numbers.sum(axis=-1)
    refuse(
        f"the sum of {name} over its last axis",
        total,
        ~(np.abs(total - 1) <= TOLERANCE),
        "must be 1; divide by the sum first",
    )
    return numbers


def check_same_shape(name: str, values: Doubles, other: str, others: Doubles) -> None:
    """Raise a `DataError` unless two arrays have the same shape."""
    if values.shape != others.shape:
        raise DataError(
            f"{name} has shape {values.shape}, {other} has {others.shape}: both must have the same shape; "
            "use numpy.broadcast_to"
        )
