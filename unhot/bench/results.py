"""A comparison of output layers: the settings that all layers share, and the results.

The settings are the model, the text and the time. The results are figures and a curve for each layer, the
best first.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Literal

from unhot.bench.trials import Point
from unhot.errors import ConfigError, at_least, one_of, whole
from unhot.evaluate.held_out import HeldOut
from unhot.json_file import plain
from unhot.models.learned_words import LearnedWords
from unhot.models.load import word_models
from unhot.models.word_model import WordModel
from unhot.outputs import OutputLayer, parse_output

EXACT = "exact"  # the name of the exact solution
CELLS = "cells"  # the engine of the exact solution
FULL = "softmax"  # the layer that is the reference for all
LEARNED = 0.999  # a layer has learned something if its loss is below this share of that of the counts alone
EPOCHS = 1 << 30  # never reached: the clock ends the training


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings that all layers share."""

    model: str = "skipgram"  # skipgram | cbow
    dim: int = 100
    window: int = 5
    min_count: int = 5
    max_vocab: int = 10_000
    tokenizer: Any = "whitespace"
    held_out: float = 0.05  # share of the lines to hold out
    held_out_words: int = 100_000  # hold out at most about this many words
    minutes: float = 5.0  # of the whole comparison
    seconds: float | None = None  # training time of each layer; None: what the minutes allow
    lr: float | None = None  # the learning rate of all layers; None: the best of a few for each layer
    engine: Literal["auto", "compiled", "torch"] = "auto"  # auto: compiled if the layer has kernels
    threads: int = 2
    seed: int = 1
    force: bool = False  # read files even if they do not look like text
    exact: bool = True  # skipgram: find the exact solution first, and compare each layer with it

    def __post_init__(self) -> None:
        """Check the ranges."""
        one_of("model", self.model, tuple(word_models()))
        one_of("engine", self.engine, ("auto", "compiled", "torch"))
        at_least("minutes", self.minutes, 1e-3)
        if self.seconds is not None:
            at_least("seconds", self.seconds, 1e-3)
        if not isinstance(self.exact, bool):
            raise ConfigError(f"exact={self.exact!r}: must be true or false")
        whole("held_out_words", self.held_out_words, 1)
        if not 0 < at_least("held_out", self.held_out, 0) <= 0.5:
            raise ConfigError(
                f"held_out={self.held_out!r}: must be a share of the lines above 0 and at most 0.5"
            )
        self.new_model(parse_output("softmax"), self.lr)  # checks all other settings

    def finds_exact(self) -> bool:
        """Return whether the exact solution is wanted and available.

        Counts of pairs determine the loss of skip-gram, but not that of CBOW.
        """
        return self.exact and self.model == "skipgram"

    def engine_of(self, layer: OutputLayer) -> Literal["compiled", "torch"]:
        """Return the engine that trains a layer."""
        if self.engine != "auto":
            return self.engine
        try:
            layer.check_compiled()
        except ConfigError:
            return "torch"
        return "compiled"

    def new_model(self, layer: OutputLayer, lr: float | None) -> WordModel:
        """Make a model to train until the clock stops it, with the windows and words of `held_out`."""
        shared = ("dim", "window", "min_count", "max_vocab", "threads", "seed")
        given: dict[str, Any] = {name: getattr(self, name) for name in shared}
        return word_models()[self.model](
            **given,
            output=layer,
            engine=self.engine_of(layer),
            lr=lr,
            epochs=EPOCHS,
            shrink=False,
            sample=0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The results of one layer."""

    layer: str  # its spec as it was given
    spec: str = ""  # its spec with all settings
    engine: str = ""
    lr: float = math.nan  # the initial learning rate
    seconds: float = 0.0  # of training
    pairs: int = 0  # the number of pairs trained
    learned_bytes: int = 0  # the size of vectors and biases
    training_bytes: int = 0  # the memory of training: twice the vectors, tables, buffers
    result: HeldOut | None = None  # measured on all held-out lines
    curve: tuple[Point, ...] = ()  # measured on some of the held-out lines
    # its loss on the training lines minus that of the exact solution, in nats per pair
    train_above: float = math.nan
    failed: str = ""  # why there is no result

    @property
    def pairs_per_second(self) -> float:
        """The speed of training; NaN on cells, where the time does not depend on the number of pairs."""
        return self.pairs / self.seconds if self.seconds and self.engine != CELLS else math.nan

    @property
    def final_loss(self) -> float:
        """The loss at the end of the curve."""
        return self.curve[-1].loss if self.curve else math.nan

    def seconds_to(self, loss: float) -> float:
        """Return the time at which the curve falls to a loss; NaN if it never does.

        Between two points, the loss is interpolated linearly in the log of the time.
        """
        before: Point | None = None
        for point in self.curve:
            if point.loss <= loss:
                if before is None or point.loss == before.loss:
                    return point.seconds
                part = (before.loss - loss) / (before.loss - point.loss)
                # rounding must not give a time after the point
                return min(point.seconds, float(before.seconds * (point.seconds / before.seconds) ** part))
            before = point
        return math.nan


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The results of all layers, the best first."""

    settings: Settings
    words: int  # the number of tokens in the training lines
    vocabulary: int
    held_out_words: int
    curve_words: int  # the number of held-out words that the curves are measured on
    unigram_perplexity: float  # of the held-out words, each predicted by its count alone
    curve_unigram_perplexity: float  # the same of the words that the curves are measured on
    layers: tuple[Measured, ...]
    # the exact solution, see `unhot.bench.exact`; None: not asked for, or not available for this model
    exact: Measured | None = None
    interrupted: bool = False
    # seconds to the final loss of the full softmax, by layer; empty if the full softmax learned nothing
    to_full: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        """Sort the layers and compare them with the full softmax."""
        ordered = sorted(
            self.layers,
            key=lambda each: (each.result is None, each.result.cross_entropy if each.result else 0.0),
        )
        object.__setattr__(self, "layers", tuple(ordered))
        goal = next((each.final_loss for each in ordered if each.layer == self.full), math.inf)
        learned = goal < LEARNED * math.log(self.curve_unigram_perplexity)
        reached = {each.layer: each.seconds_to(goal) for each in ordered if each.result and learned}
        object.__setattr__(self, "to_full", reached)

    @property
    def softmaxes(self) -> list[str]:
        """The full softmaxes that have a result, the best first."""
        return [each.layer for each in self.layers if each.result and each.spec.partition(":")[0] == FULL]

    @property
    def full(self) -> str | None:
        """The full softmax that is the reference for all layers: the first in the table."""
        return next(iter(self.softmaxes), None)

    def above_exact(self, each: Measured) -> float:
        """Return a layer's held-out cross entropy minus that of the exact solution; NaN if not known."""
        if self.exact is None or self.exact.result is None or each.result is None:
            return math.nan
        return each.result.cross_entropy - self.exact.result.cross_entropy

    @property
    def rows(self) -> tuple[Measured, ...]:
        """The results of the exact solution, if there is one, and of all layers."""
        return (*(() if self.exact is None else (self.exact,)), *self.layers)

    def as_dict(self) -> dict[str, Any]:
        """Return the results as plain data, for JSON."""
        out: dict[str, Any] = plain(self)
        del out["to_full"], out["rows"]
        for each, facts in zip(self.rows, filter(None, [out["exact"], *out["layers"]]), strict=True):
            facts["curve"] = [dict(zip(Point._fields, point, strict=True)) for point in each.curve]
            facts["seconds_to_full"] = plain(self.to_full.get(each.layer, math.nan))
            facts["above_exact"] = plain(self.above_exact(each))
        return out


def learned_bytes(learned: LearnedWords) -> int:
    """Return the bytes of the learned parameters.

    For `adaptive` these are shorter rows and projections, not the rows of `params`.
    """
    sizes = {name: array.nbytes for name, array in learned.params._asdict().items()}
    if learned.own:
        sizes["out_vectors"] = sum(array.nbytes for array in learned.own.values())
        sizes["out_bias"] *= "bias" not in learned.own
    return sum(sizes.values())
