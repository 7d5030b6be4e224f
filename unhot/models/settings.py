"""Check the settings of models: the type of a field says which values are accepted.

    dim: Annotated[int, Range(1, 1 << 20)] = 100    a whole number in a range
    sample: Annotated[float, Range(0)] = 1e-3       a finite number >= 0
    combine: Literal["mean", "sum"] = "mean"        one of these words
    shrink: bool = True                             true or false

`X | None` also accepts None. The model itself checks fields of any other type.
"""

import dataclasses
import types
import typing
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from unhot.errors import ConfigError, at_least, one_of, whole
from unhot.specs import type_hints

LARGEST = 2**63 - 1


class Range(NamedTuple):
    """The smallest and the largest number that a setting accepts."""

    least: Any
    most: int = LARGEST  # applies to whole numbers only


def check_settings(model: Any) -> None:
    """Raise a `ConfigError` for a setting of the wrong type or range; convert numbers to int or float."""
    kinds = type_hints(type(model))
    for field in dataclasses.fields(model):
        setattr(model, field.name, checked(field.name, getattr(model, field.name), kinds[field.name]))


def checked_setting(model: Any, name: str, value: Any) -> Any:
    """Return the value for a model's setting, converted; raise a `ConfigError` if it is not accepted."""
    return checked(name, value, type_hints(type(model))[name])


def checked(name: str, value: Any, kind: Any) -> Any:
    """Return the value of a setting, converted to its type; raise a `ConfigError` if it does not fit."""
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


# settings of every word model that are whole numbers
WHOLE = ("dim", "window", "min_count", "threads", "seed", "epochs")


def limits_of(model: type, name: str) -> Range:
    """Return the range that a model's setting accepts."""
    kind = type_hints(model)[name]
    limits: Range = typing.get_args(kind)[1]
    return limits
