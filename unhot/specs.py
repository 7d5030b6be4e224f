"""Settings of dataclasses: what they accept, and spec strings such as `negative:k=5,power=0.75`.

The type of a field says which values are accepted:

    dim: Annotated[int, Range(1, 1 << 20)] = 100    a whole number in a range
    sample: Annotated[float, Range(0)] = 1e-3       a finite number >= 0
    combine: Literal["mean", "sum"] = "mean"        one of these words
    shrink: bool = True                             true or false

`X | None` also accepts None. The class itself checks fields of any other type.
"""

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import numpy as np

from unhot.errors import ConfigError, at_least, one_of, whole

Kind = TypeVar("Kind", bound=Any)
# the types of the fields of a class; finding them takes longer than anything else in making a layer
type_hints: Callable[[Any], dict[str, Any]] = functools.cache(
    functools.partial(typing.get_type_hints, include_extras=True)
)


class Range(NamedTuple):
    """The smallest and the largest number that a setting accepts."""

    least: Any
    most: int = 2**63 - 1  # applies to whole numbers only


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


def registering(registry: dict[str, Any], name: str, what: str) -> Callable[[Kind], Kind]:
    """Return a decorator that registers a class under a name; a name that another class has is refused.

    A class of the same module and name replaces the old one, because its file was loaded again. `what` is for
    the error: the word for what is registered.
    """

    def decorate(kind: Kind) -> Kind:
        there = registry.get(name, kind)
        if (there.__module__, there.__qualname__) != (kind.__module__, kind.__qualname__):
            raise ConfigError(
                f"{what} {name!r}: {there.__module__} has already registered this name; choose another"
            )
        kind.name = name
        registry[name] = kind
        return kind

    return decorate


def spec_of(name: str, settings: Any) -> str:
    """Return a registered dataclass as a spec string; `parse_spec` reads it back."""
    values = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    text = ",".join(
        f"{field}={str(value).lower() if isinstance(value, bool) else value}"
        for field, value in values.items()
        if value is not None
    )
    return f"{name}:{text}" if text else name


def parse_spec(spec: str, registry: Mapping[str, type[Kind]], setting: str, what: str) -> Kind:
    """Make a registered dataclass from its spec; fields that it does not name get their defaults.

    `setting` and `what` are for errors: the name of the argument, and the word for what is registered.
    """
    name, _, settings = spec.partition(":")
    if name not in registry:
        raise ConfigError(
            f"{setting}={spec!r}: there is no {what} {name!r}; choose one of {', '.join(sorted(registry))}; "
            "if it is your own, import its file first"
        )
    kind: Any = registry[name]
    kinds = type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    given: dict[str, Any] = {}
    for each in filter(None, re.split(r",(?=\w+=)", settings)):  # a path may hold commas
        field, equals, text = each.partition("=")
        if field not in fields or not equals:
            accepted = f"write name=value with one of {', '.join(fields)}" if fields else "it has no settings"
            raise ConfigError(f"{setting}={spec!r}: {each!r} is not a setting of {name}; {accepted}")
        if field in given:
            raise ConfigError(f"{setting}={spec!r}: {field} is given twice")
        given[field] = _from_text(f"{name}:{field}", text, kinds[field])
    return kind(**given)  # type: ignore[no-any-return]


def _from_text(field: str, text: str, kind: Any) -> Any:
    """Convert text to the type of a setting; for `float | str`, to a number if possible."""
    first = typing.get_args(kind)[0] if typing.get_args(kind) else kind
    first = str if isinstance(first, str) else first  # one of the words of a Literal
    try:
        if first is bool:
            return {"true": True, "false": False}[text]
        return first(text)
    except (ValueError, KeyError):
        if first is not kind and str in typing.get_args(kind):
            return text
        expected = {int: "a whole number", float: "a number", bool: "true or false"}.get(first, str(kind))
        raise ConfigError(f"{field}={text}: must be {expected}") from None
    except TypeError:
        raise ConfigError(
            f"{field}: a setting of type {kind} cannot be written as text; use int, float, bool or str"
        ) from None
