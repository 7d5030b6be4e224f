"""Check the settings of models: the type of a field says which values are accepted.

`unhot.specs` says how. The model itself checks fields of any other type.
"""

import dataclasses
import typing
from typing import Any

from unhot.specs import Range as Range
from unhot.specs import checked, type_hints


def check_settings(model: Any) -> None:
    """Raise a `ConfigError` for a setting of the wrong type or range; convert numbers to int or float."""
    kinds = type_hints(type(model))
    for field in dataclasses.fields(model):
        setattr(model, field.name, checked(field.name, getattr(model, field.name), kinds[field.name]))


def checked_setting(model: Any, name: str, value: Any) -> Any:
    """Return the value for a model's setting, converted; raise a `ConfigError` if it is not accepted."""
    return checked(name, value, type_hints(type(model))[name])


# settings of every word model that are whole numbers
WHOLE = ("dim", "window", "min_count", "threads", "seed", "epochs")


def limits_of(model: type, name: str) -> Range:
    """Return the range that a model's setting accepts."""
    kind = type_hints(model)[name]
    limits: Range = typing.get_args(kind)[1]
    return limits
