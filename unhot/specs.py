"""Spec strings: a registered dataclass with its settings, such as `negative:k=5,power=0.75`."""

import dataclasses
import functools
import re
import typing
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from unhot.errors import ConfigError

Kind = TypeVar("Kind", bound=Any)
# the types of the fields of a class; finding them takes longer than anything else in making a layer
type_hints: Callable[[Any], dict[str, Any]] = functools.cache(
    functools.partial(typing.get_type_hints, include_extras=True)
)


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
