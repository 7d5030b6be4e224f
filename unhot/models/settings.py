"""Settings of models: what a field may hold is said by its type, and checked in one place.

    dim: Annotated[int, Range(1, 1 << 20)] = 100    a whole number in a range
    sample: Annotated[float, Range(0)] = 1e-3       a finite number, at least so large
    combine: Literal["mean", "sum"] = "mean"        one of some words
    shrink: bool = True                             true or false

`X | None` also takes None. A field of any other type is checked by its model.
"""

import dataclasses
import types
import typing
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from unhot.errors import ConfigError, at_least, one_of, whole

LARGEST = 2**63 - 1


class Range(NamedTuple):
    """The least and the largest number that a setting takes."""

    least: Any
    most: int = LARGEST  # of whole numbers


def check_settings(model: Any) -> None:
    """Raise a `ConfigError` for a setting that its type does not take; numbers become plain ones."""
    kinds = typing.get_type_hints(type(model), include_extras=True)
    for field in dataclasses.fields(model):
        setattr(model, field.name, checked(field.name, getattr(model, field.name), kinds[field.name]))


def checked_setting(model: Any, name: str, value: Any) -> Any:
    """The value that a setting of a model takes."""
    return checked(name, value, typing.get_type_hints(type(model), include_extras=True)[name])


def checked(name: str, value: Any, kind: Any) -> Any:
    """The value of a setting of some type; a `ConfigError` if it is none."""
    limits = None
    if typing.get_origin(kind) is Annotated:
        kind, limits = typing.get_args(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        options = typing.get_args(kind)
        if value is None and type(None) in options:
            return None
        kind = options[0]
    if kind is bool:
        if not isinstance(value, (bool, np.bool_)):
            raise ConfigError(f"{name}={value!r}: must be true or false")
        return bool(value)
    if typing.get_origin(kind) is Literal:
        one_of(name, value, typing.get_args(kind))
    elif limits is not None and kind is int:
        return whole(name, value, limits.least, limits.most)
    elif limits is not None:
        return at_least(name, value, limits.least)
    return value


# whole numbers that every word model has
WHOLE = ("dim", "window", "min_count", "threads", "seed", "epochs")


def limits_of(model: type, name: str) -> Range:
    """The range of a setting."""
    kind = typing.get_type_hints(model, include_extras=True)[name]
    limits: Range = typing.get_args(kind)[1]
    return limits
