"""Skip-gram: a word and a word near it, one predicts the other.

Which one? Windows are symmetric, so both orientations have the same pairs, and the output layer takes what is
cheaper for it:

    predict=centre      each context word c_b of a centre t is an input of its own, h_b = x[c_b], and t is the
                        target of all of them: L = sum_b loss(h_b, t). The inputs share the target and the
                        draws, so a window is a small matrix product.
    predict=contexts    the centre is the one input, h = x[t], and the words around it are its targets:
                        L = sum_b loss(h, c_b). Scores are computed once for a window, which is what layers
                        over the whole vocabulary want.

With `on="cells"` it is trained on the counts of all pairs at once (exact.py).

Reference: Mikolov et al., Efficient estimation of word representations in vector space, 2013.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from unhot.errors import ConfigError
from unhot.kernels.bags import Bags
from unhot.kernels.feeder import Bag, Each, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.window_feeder import centre_target, context_targets, fetch_entering, prepare_windows
from unhot.kernels.windows import Text, Window, contexts_of, fill_inputs
from unhot.models import exact
from unhot.models.engine import Engine
from unhot.models.fitting import Reads, Tells
from unhot.models.model import model
from unhot.models.wiring import Wiring
from unhot.models.word_model import WordModel
from unhot.train.torch_batches import centre_pairs, context_pairs


class CentreFeeder(NamedTuple):
    """The words around a centre predict it, each by itself."""

    text: Text
    window: Window


class ContextsFeeder(NamedTuple):
    """The centre predicts the words around it."""

    text: Text
    window: Window


@model("skipgram")
@dataclass(kw_only=True)
class SkipGram(WordModel):
    """Skip-gram word vectors.

    >>> model = SkipGram(dim=8, min_count=1, epochs=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    # which word of a pair predicts the other; auto: what is cheaper for the output layer
    predict: Literal["auto", "centre", "contexts"] = "auto"
    # cells: on the counts of pairs, exactly, without a draw, for up to 10,000 words; take 30 epochs or more,
    # lr is 0.05 unless given
    on: Literal["text", "cells"] = "text"

    default_lr = 0.025

    def engine_kind(self) -> type[Engine]:
        """What trains it."""
        return exact.OnCells if self.on == "cells" else super().engine_kind()

    def check_engine(self) -> None:
        """Raise a `ConfigError` for settings that do not go together."""
        super().check_engine()
        if self.on == "cells":
            if self.engine != "compiled":
                raise ConfigError(
                    f"engine={self.engine}: on cells there is one engine, matrix products of NumPy; leave "
                    "engine out"
                )
            if self.predict != "auto":
                raise ConfigError(
                    f"predict={self.predict}: on cells rows are the inputs and columns the targets; leave "
                    "predict out"
                )
        elif self.predict == "centre" and self.layer.all_rows and self.engine == "compiled":
            raise ConfigError(
                f"predict=centre: {self.layer.name} scores all words, once for a centre and all its "
                "contexts; use contexts or auto"
            )

    @property
    def first_lr(self) -> float:
        """The learning rate that a training begins with: `lr`, or the default for what it is trained on."""
        return self.lr or (exact.LR if self.on == "cells" else self.default_lr)

    def open_input(self, reads: Reads, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """The encoded text; to be trained on cells, these."""
        if self.on == "text":
            return super().open_input(reads, tells)
        self.check_task()
        counted = {name: getattr(self, name) for name in ("window", "sample", "seed", "threads")}
        counted["weights"] = "dynamic" if self.shrink else "flat"
        return exact.open_cells(self, counted, reads, tells)

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """By orientation."""
        around = 2 * self.window
        predicts = self.layer.predicts if self.predict == "auto" else self.predict
        if predicts == "centre":
            return Wiring(CentreFeeder, centre_pairs, inputs=around, listed=around)
        return Wiring(ContextsFeeder, context_pairs, targets=around, listed=around)


for _feeder in (CentreFeeder, ContextsFeeder):
    prepare.register(_feeder)(prepare_windows)
    fetch.register(_feeder)(fetch_entering)
targets_of.register(CentreFeeder)(centre_target)
targets_of.register(ContextsFeeder)(context_targets)


@input_of.register(CentreFeeder)
def _words_around(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept = scratch.feed
    count, times, contexts = fill_inputs(kept, kept.row, centre, scratch.inputs, len(shape.group))
    return Each(count, times, contexts)


@input_of.register(ContextsFeeder)
def _centre(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    one = np.float32(1.0)
    contexts = contexts_of(kept, centre)
    inputs.row[0] = kept.row[centre]
    return Bag(min(contexts, 1), ones_at(inputs, 1), contexts, one, one)
