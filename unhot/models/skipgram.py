"""Skip-gram: one word of each pair of neighbouring words predicts the other.

Windows are symmetric, so both directions of prediction have the same pairs. By default the model uses the
direction that is cheaper for its output layer:

    predict=centre      each context word c_b of a centre word t is an input of its own, h_b = x[c_b], and t
                        is the target of all of them: L = sum_b loss(h_b, t). The inputs share the target and
                        the draws, so a window is a small matrix product.
    predict=contexts    the centre word is the one input, h = x[t], and the words around it are its targets:
                        L = sum_b loss(h, c_b). Scores are computed once for each window, which suits layers
                        over the whole vocabulary.

With `on="cells"` the model is trained on the counts of all pairs at once (exact.py).

Reference: Mikolov et al., Efficient estimation of word representations in vector space, 2013.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from unhot.errors import ConfigError
from unhot.kernels.bags import Bags
from unhot.kernels.feeder import Bag, Each, input_of, ones_at
from unhot.kernels.window_feeder import centre_target, context_targets, register_windows
from unhot.kernels.windows import Text, Window, contexts_of, fill_inputs
from unhot.models import exact
from unhot.models.cell_model import CellData
from unhot.models.engine import Wiring, near_words
from unhot.models.fitting import Begins, InEpochs, Reads, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.model import model
from unhot.models.windows import check_start
from unhot.models.word_model import WordModel
from unhot.train.torch_batches import centre_pairs, context_pairs


class CentreFeeder(NamedTuple):
    """Examples of predict=centre: each word around a centre word predicts it by itself."""

    text: Text
    window: Window


class ContextsFeeder(NamedTuple):
    """Examples of predict=contexts: the centre word predicts the words around it."""

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

    # which word of a pair is predicted: the centre word, or the context words around it; auto: whichever is
    # cheaper for the output layer
    predict: Literal["auto", "centre", "contexts"] = "auto"
    # what to train on: the text, or its cells, the counts of all word pairs. Cells give the exact loss,
    # without random draws, for up to 10,000 words; use 30 epochs or more; the default of lr is then 0.05
    on: Literal["text", "cells"] = "text"

    default_lr = 0.05

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other."""
        super().check()
        if self.on == "cells":
            if self.engine != "compiled":
                raise ConfigError(
                    f"engine={self.engine}: training on cells always uses NumPy's matrix products; leave "
                    "engine out"
                )
            if self.predict != "auto":
                raise ConfigError(
                    f"predict={self.predict}: in training on cells, rows are always the inputs and columns "
                    "the targets; leave predict out"
                )
        elif self.predict == "centre" and self.layer.all_rows and self.engine == "compiled":
            raise ConfigError(
                f"predict=centre: {self.layer.name} scores all words once for each centre word and all its "
                "contexts; use predict=contexts or auto"
            )

    @property
    def usual_lr(self) -> float:
        """The default learning rate for training on text or on cells."""
        return exact.LR if self.on == "cells" else self.default_lr

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Open the encoded text, or with `on="cells"` the cells."""
        if self.on == "text":
            return super().prepare(reads, begins, tells)
        check_start(self, begins)
        return exact.open_cells(self, self.grown(reads, begins), tells)

    def training(self, data: Any, begins: Begins, tells: Tells) -> InEpochs[LearnedWords]:
        """Return a training on the windows of the text, or on its cells."""
        if isinstance(data, CellData):
            return self.windows(near_words(data.text), begins, tells, **data.chosen)
        return super().training(data, begins, tells)

    @property
    def predicts(self) -> str:
        """Which word of a window is predicted: as `predict` says, or whichever is cheaper for the layer."""
        return self.layer.predicts if self.predict == "auto" else self.predict

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring for the direction of prediction: which words are inputs, which are targets."""
        engine = exact.OnCells if self.on == "cells" else None
        return skipgram_wiring(self.predicts, Window(self.window, self.shrink))._replace(engine=engine)


def skipgram_wiring(predicts: str, window: Window) -> Wiring:
    """Return which words predict which: those around a centre word the centre, or the centre those."""
    around = 2 * window.size
    if predicts == "centre":
        return Wiring(CentreFeeder, centre_pairs, window, inputs=around, listed=around)
    return Wiring(ContextsFeeder, context_pairs, window, targets=around, listed=around)


register_windows(CentreFeeder, centre_target)
register_windows(ContextsFeeder, context_targets)


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
    return Bag(min(contexts, 1), ones_at(inputs, 1), contexts, one, one, one)
