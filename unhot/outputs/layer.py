"""What an output layer is, the registry of them, and their names as text.

A layer is a frozen dataclass of its settings, registered under a name and written as a spec string such as
`negative:k=5,power=0.75`. It builds constant `Tables` from the vocabulary's counts; for the type of its
Tables it registers the compiled `candidates` (which output columns a step touches) and `link` (what turns
their scores into a loss). `reference` is the same loss in float64, and `log_weight` says what the scores are
worth as probabilities. A layer is one file of this folder, or of your own: importing it registers it.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from unhot.errors import ConfigError, DataError, finite
from unhot.outputs.count_losses import CountLoss
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids

FILE = "file:"  # begins a setting that names a file
KEEP = "keep the vocabulary as it is (counts=model.vocabulary, --keep-vocabulary)"
LAYERS: dict[str, type[OutputLayer]] = {}
Layer = TypeVar("Layer", bound="type[OutputLayer]")


class Biases(NamedTuple):
    """Which biases a layer learns."""

    out: bool = False  # one for each output row
    each_input: bool = False  # one for each input row
    ln_z: bool = False  # one for all


@dataclasses.dataclass(frozen=True, kw_only=True)
class OutputLayer:
    """Base of all output layers.

    `counts` are those of what is predicted: how often each word of the output vocabulary occurs, by id.
    """

    name: ClassVar[str]
    # what is cheaper as the target in skip-gram: the centre, or its contexts
    predicts: ClassVar[str] = "centre"
    all_rows: ClassVar[bool] = False  # every row is a column of every step
    rows_are_words: ClassVar[bool] = True  # row i is the vector of word i
    # the method's paper has biases, so that in unhot.nn it has them unless told otherwise
    biased: ClassVar[bool] = True
    compiled: ClassVar[bool] = True  # there is a kernel for it; otherwise it is for torch alone
    on_cells: ClassVar[bool] = False  # its loss of a whole text is a sum over cells, see `count_loss`
    own_columns: ClassVar[bool] = False  # each example of a batch has columns of its own

    def __post_init__(self) -> None:
        """Check the types; layers check the ranges."""
        for name, kind in typing.get_type_hints(type(self)).items():
            if kind in (bool, str) and not isinstance(getattr(self, name), kind):
                raise ConfigError(
                    f"{self.name}:{name}={getattr(self, name)!r}: must be "
                    f"{'true or false' if kind is bool else 'text'}"
                )
            if kind is float:
                object.__setattr__(self, name, finite(f"{self.name}:{name}", getattr(self, name)))

    def check_files(self) -> None:
        """Raise a `DataError` if a file that is named does not exist.

        Better before a long text is read than after it.
        """
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            named = isinstance(value, str) and value.startswith(FILE)
            if named and not Path(value.removeprefix(FILE)).is_file():
                raise DataError(f"{self.name}:{field.name}={value}: there is no such file")

    def fixed_columns(self) -> int | None:
        """How many columns a step with one target has, where that never changes."""
        return None

    def columns(self, counts: Counts, targets: int) -> int:
        """How many columns a step with so many targets writes down at most; over all rows, the targets."""
        self.check_compiled()
        if not self.all_rows:
            raise NotImplementedError
        return targets

    def draws(self) -> int:
        """How many noise words are drawn for each target."""
        return 0

    def set_of_draws(self) -> int:
        """How many columns each further set of draws adds, where there are several (`Targets.rounds`)."""
        return 0

    def batch_columns(self, counts: Counts, size: int) -> int:
        """About how many scores an example of a batch of that size has in memory at once, in torch."""
        return self.rows(counts) if self.all_rows else self.columns(counts, 1)

    def batch_memory(self, counts: Counts, dim: int, size: int) -> int:
        """About how many bytes a step of torch takes beside what is learned.

        These are scores and their gradients, with the rows of each example, or a gradient of all rows.
        """
        columns = self.batch_columns(counts, size)
        if self.own_columns:
            return 4 * size * columns * (3 + 2 * dim)
        return 4 * (4 * size * columns + self.rows(counts) * dim + size * dim)

    def part_words(self) -> int | None:
        """How many different words a part of the text may have, for layers that learn part by part."""
        return None

    def rows(self, counts: Counts) -> int:
        """How many output rows a vocabulary needs."""
        return counts.size

    def grown_rows(self, moved: Ids) -> Ids:
        """Which old row each output row of a grown vocabulary goes on from, given each word's old id.

        It is -1 for a new one.
        """
        if not self.rows_are_words:
            raise ConfigError(
                f"{self.name}: its rows are not those of the words but come from their counts, so it cannot "
                f"go on with other words or counts: {KEEP}, or start from the vectors alone"
            )
        return moved

    def biases(self) -> Biases:
        """Which biases are learned."""
        return Biases(out=getattr(self, "bias", False))

    def start_bias(self, counts: Counts) -> Doubles:
        """Where the biases of the output rows begin: [rows].

        They are zero, or what the counts say: what they converge to without inputs.
        """
        return np.zeros(self.rows(counts))

    def check_compiled(self) -> None:
        """Raise a `ConfigError` if there is no kernel for the layer."""
        if not self.compiled:
            raise ConfigError(
                f"{self.name}: has no compiled kernel: train with engine='torch' (pip install "
                "'unhot[torch]'), in the shell --engine torch"
            )

    def tables(self, counts: Counts) -> Any:
        """The constant arrays of the kernels."""
        self.check_compiled()
        raise NotImplementedError

    def sketch(self) -> Any:
        """Tables of the right types without content, to compile with before the vocabulary is known."""
        return self.tables(np.ones(1, np.int64))

    def fresh(self, tables: Any) -> Any:
        """The tables for the next chunk of training: the same unless the layer learns while it reads."""
        return tables

    def seen(self, tables: Any) -> Counts:
        """The targets that the tables have counted, by word; of size zero if the layer counts none."""
        return np.zeros(0, np.int64)

    def check_cells(self) -> None:
        """Raise a `ConfigError` if the loss of a whole text is no sum over cells."""
        if not self.on_cells:
            accepted = sorted((name for name, layer in LAYERS.items() if layer.on_cells), reverse=True)
            raise ConfigError(
                f"output={self.spec()}: cannot be trained on cells; "
                f"use one of {', '.join(accepted)}, or train on text"
            )

    def count_loss(self, counts: Counts) -> CountLoss:
        """The loss of a whole text, given how often inputs and targets stand together."""
        self.check_cells()
        raise NotImplementedError

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The loss of one input and one target, in float64: the executable formula.

        scores [rows] holds the products and all learned biases; draws are the noise words, for layers that
        draw.
        """
        raise NotImplementedError

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """What the layer takes for log P of all words, not normalised: scores [..., rows] -> [..., words]."""
        raise NotImplementedError

    def pairs_log_prob(
        self, scores: Doubles, which: Ids, targets: Ids, counts: Counts
    ) -> tuple[Doubles, Doubles]:
        """Log P of targets[i] under scores[which[i]] [pairs], and of what all weights sum to [inputs]."""
        weight = self.log_weight(scores, counts)
        log_z = log_sum_exp(weight)
        return weight[which, targets] - log_z[which], log_z

    def topk(self, score: Callable[..., Doubles], k: int, counts: Counts) -> tuple[Ids, Doubles]:
        """The k most likely words of one input and their log-probabilities.

        `score(rows)` gives scores of some rows, `score()` of all.
        """
        weight = self.log_weight(score(), counts)
        best = np.argsort(-weight, kind="stable")[:k]
        return best.astype(np.int32), weight[best] - log_sum_exp(weight)

    def spec(self) -> str:
        """The layer as text; `parse_output` reads it back."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        settings = ",".join(
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in values.items()
        )
        return f"{self.name}:{settings}" if settings else self.name


class LogProbabilityLayer(OutputLayer):
    """Base of layers whose scores converge to log P(w | h), up to a constant for each h."""

    def start_bias(self, counts: Counts) -> Doubles:
        """Log P of each word by its count."""
        return log_share(counts)

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """The score."""
        return scores


def positive(field: str, value: float) -> None:
    """Raise a `ConfigError` unless a number is above zero, and large enough to divide by."""
    if value < np.finfo(np.float64).tiny:
        raise ConfigError(f"{field}={value}: must be > 0")


def log_share(counts: Counts) -> Doubles:
    """The log of each word's share of the text; a word that was never seen counts as half a one."""
    seen = np.maximum(counts, 0.5)
    out: Doubles = np.log(seen / seen.sum())
    return out


def log_odds(log_p: Doubles) -> Doubles:
    """log(P / (1 - P)), finite also where P rounds to one."""
    return log_p - np.log(np.maximum(-np.expm1(log_p), np.finfo(np.float64).tiny))


def output(name: str) -> Callable[[Layer], Layer]:
    """Register a layer under a name."""

    def decorate(layer: Layer) -> Layer:
        there = LAYERS.get(name, layer)
        if (there.__module__, there.__qualname__) != (layer.__module__, layer.__qualname__):
            raise ConfigError(
                f"output layer {name!r}: {there.__module__} has registered one of that name; choose another"
            )
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
        raise ConfigError(
            f"output={spec!r}: there is no layer {name!r}; there are {', '.join(sorted(LAYERS))}; import "
            "your own before you name it"
        )
    layer = LAYERS[name]
    kinds = typing.get_type_hints(layer)
    fields = [field.name for field in dataclasses.fields(layer)]
    given: dict[str, Any] = {}
    for setting in filter(None, re.split(r",(?=\w+=)", settings)):  # a path may hold commas
        field, equals, text = setting.partition("=")
        if field not in fields or not equals:
            accepted = f"write name=value with {', '.join(fields)}" if fields else "it has none"
            raise ConfigError(f"output={spec!r}: {setting!r} is not a setting of {name}; {accepted}")
        if field in given:
            raise ConfigError(f"output={spec!r}: {field} is given twice")
        given[field] = _from_text(f"{name}:{field}", text, kinds[field])
    return layer(**given)


def _from_text(field: str, text: str, kind: Any) -> Any:
    """A value of the type of its field; of a type such as `float | str`, a number where it can be one."""
    first = typing.get_args(kind)[0] if typing.get_args(kind) else kind
    try:
        if first is bool:
            return {"true": True, "false": False}[text]
        return first(text)
    except (ValueError, KeyError):
        if first is not kind:
            return text
        expected = {int: "a whole number", float: "a number", bool: "true or false"}.get(kind, str(kind))
        raise ConfigError(f"{field}={text}: must be {expected}") from None
    except TypeError:
        raise ConfigError(
            f"{field}: a setting of type {kind} cannot be written as text; use int, float, bool or str"
        ) from None
