"""What came of a comparison of output layers: figures and a curve for each, all in order."""

import math
from dataclasses import dataclass, field
from typing import Any

from unhot.bench.settings import Settings
from unhot.bench.timed import Point
from unhot.errors import UnhotError
from unhot.evaluate.figures import plain
from unhot.evaluate.held_out import HeldOut
from unhot.models.learned_words import LearnedWords

EXACT = "exact"  # the name of the exact solution
CELLS = "cells"  # what trains it
FULL = "softmax"  # the layer that all are measured by
LEARNED = 0.999  # it has learned something if its loss is below so much of that of the counts


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What came of one layer."""

    layer: str  # its spec as it was given
    spec: str = ""  # with all settings
    engine: str = ""
    lr: float = math.nan  # the first one
    seconds: float = 0.0  # of training
    pairs: int = 0  # trained
    learned_bytes: int = 0  # vectors and biases
    training_bytes: int = 0  # all that training holds: twice the vectors, tables, buffers
    result: HeldOut | None = None  # on all held-out lines
    curve: tuple[Point, ...] = ()  # on some of them
    # its loss of the training lines beyond that of the exact solution, in nats a pair
    train_above: float = math.nan
    failed: str = ""  # why there is no result

    @property
    def pairs_per_second(self) -> float:
        """Speed of training; NaN on cells, where time does not depend on the number of pairs."""
        return self.pairs / self.seconds if self.seconds and self.engine != CELLS else math.nan

    @property
    def final_loss(self) -> float:
        """The loss at the end of the curve."""
        return self.curve[-1].loss if self.curve else math.nan

    def seconds_to(self, loss: float) -> float:
        """When the curve falls to a loss; NaN: never.

        Between two looks, the loss is taken to be linear in the log of the time.
        """
        before: Point | None = None
        for point in self.curve:
            if point.loss <= loss:
                if before is None or point.loss == before.loss:
                    return point.seconds
                part = (before.loss - loss) / (before.loss - point.loss)
                # not behind the look, if it is rounded up
                return min(point.seconds, float(before.seconds * (point.seconds / before.seconds) ** part))
            before = point
        return math.nan


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All layers, the best first."""

    settings: Settings
    words: int  # tokens trained on, once
    vocabulary: int
    held_out_words: int
    curve_words: int  # of them, those that the curves are of
    unigram_perplexity: float  # of the held-out words, each predicted by its count alone
    curve_unigram_perplexity: float  # of those that the curves are of
    layers: tuple[Measured, ...]
    # the exact solution, see `unhot.bench.exact`; None: it was not asked for, or is not known for the model
    exact: Measured | None = None
    interrupted: bool = False
    # seconds to the final loss of the full softmax, by layer; empty if it learned nothing
    to_full: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        """Order the layers and compare them."""
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
        """The full softmax that all are measured by: the first in the table."""
        return next(iter(self.softmaxes), None)

    def above_exact(self, each: Measured) -> float:
        """A layer's cross entropy of the held-out lines beyond that of the exact solution; NaN: not known."""
        if self.exact is None or self.exact.result is None or each.result is None:
            return math.nan
        return each.result.cross_entropy - self.exact.result.cross_entropy

    @property
    def rows(self) -> tuple[Measured, ...]:
        """The exact solution, if there is one, and all layers."""
        return (*(() if self.exact is None else (self.exact,)), *self.layers)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        out: dict[str, Any] = plain(self)
        del out["to_full"], out["rows"]
        for each, facts in zip(self.rows, filter(None, [out["exact"], *out["layers"]]), strict=True):
            facts["curve"] = [dict(zip(Point._fields, point, strict=True)) for point in each.curve]
            facts["seconds_to_full"] = plain(self.to_full.get(each.layer, math.nan))
            facts["above_exact"] = plain(self.above_exact(each))
        return out


def reason(error: BaseException) -> str:
    """Why there is no result, on one line."""
    why = str(error) if isinstance(error, UnhotError) else f"{type(error).__name__}: {error}"
    return " ".join(why.split())


def learned_bytes(learned: LearnedWords) -> int:
    """The size of what is learned: the rows, or what they are made of.

    (`adaptive` has rows of fewer numbers, and projections.)
    """
    sizes = {name: array.nbytes for name, array in learned.params._asdict().items()}
    if learned.own:
        sizes["out_vectors"] = sum(array.nbytes for array in learned.own.values())
        sizes["out_bias"] *= "bias" not in learned.own
    return sum(sizes.values())
