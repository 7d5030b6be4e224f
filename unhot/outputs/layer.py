"""What an output layer is, the registry of them, and their names as text.

A layer is a frozen dataclass of its settings, registered under a name and written as a spec string such as `negative:k=5,power=0.75`.
It builds constant `Tables` from the vocabulary's counts; for the type of its Tables it registers the compiled `candidates` (which output
columns a step touches) and `link` (what turns their scores into a loss). A layer is one file of this folder.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from unhot.errors import ConfigError
from unhot.types import Counts, Doubles, Ids

LAYERS: dict[str, type[OutputLayer]] = {}
Layer = TypeVar("Layer", bound="type[OutputLayer]")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputLayer:
    """Base of all output layers."""

    name: ClassVar[str]

    def columns(self) -> int:
        """How many columns a step touches at most."""
        raise NotImplementedError

    def rows(self, words: int) -> int:
        """How many output rows a vocabulary of that size needs."""
        return words

    def tables(self, counts: Counts) -> Any:
        """The constant arrays of the kernels."""
        raise NotImplementedError

    def reference(self, scores: Doubles, target: int, draws: Ids) -> float:
        """The loss of one input and one target, in float64: the executable formula."""
        raise NotImplementedError

    def spec(self) -> str:
        """The layer as text; `parse_output` reads it back."""
        settings = ",".join(f"{field.name}={_to_text(getattr(self, field.name))}" for field in dataclasses.fields(self))
        return f"{self.name}:{settings}" if settings else self.name


def output(name: str) -> Callable[[Layer], Layer]:
    """Register a layer under a name."""

    def decorate(layer: Layer) -> Layer:
        layer.name = name
        LAYERS[name] = layer
        return layer

    return decorate


def parse_output(spec: str | OutputLayer) -> OutputLayer:
    """A layer from its spec, e.g. "negative:k=5"; settings that are not named have their defaults."""
    if isinstance(spec, OutputLayer):
        return spec
    if not isinstance(spec, str):
        raise ConfigError(f"output={spec!r}: must be an output layer or its spec, such as 'negative:k=5'")
    name, _, settings = spec.partition(":")
    if name not in LAYERS:
        raise ConfigError(f"output={spec!r}: there is no layer {name!r}; there are {', '.join(sorted(LAYERS))}")
    layer = LAYERS[name]
    kinds = typing.get_type_hints(layer)
    fields = [field.name for field in dataclasses.fields(layer)]
    given: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        field, equals, text = setting.partition("=")
        if field not in fields or not equals:
            raise ConfigError(f"output={spec!r}: {setting!r} is not a setting of {name}; write name=value with {', '.join(fields)}")
        given[field] = _from_text(f"{name}:{field}", text, kinds[field])
    return layer(**given)


def _to_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _from_text(field: str, text: str, kind: Any) -> Any:
    """A value of the type of its field."""
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        return kind(text)
    except (ValueError, KeyError):
        expected = {int: "a whole number", float: "a number", bool: "true or false"}[kind]
        raise ConfigError(f"{field}={text}: must be {expected}") from None
