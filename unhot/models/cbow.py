"""CBOW: the words around a centre together predict the centre.

    h = mean (or sum) of the input vectors of the m context words,   L = loss(h, t)

The gradient of each context vector is the true one: dL/dh / m for the mean. word2vec.c and gensim leave out
the 1 / m, so their learning rate is in effect m times larger; the default rate here makes up for it.

References: Mikolov et al., Efficient estimation of word representations in vector space, 2013;
            Irsoy, Benton & Stratos, Corrected CBOW performs as well as skip-gram, 2021.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from unhot.kernels.bags import Bags
from unhot.kernels.feeder import Bag, fetch, input_of, prepare, targets_of
from unhot.kernels.window_feeder import centre_target, fetch_entering, prepare_windows
from unhot.kernels.windows import Text, Window, fill_inputs
from unhot.models.model import model
from unhot.models.wiring import Wiring
from unhot.models.word_model import WordModel
from unhot.train.torch_batches import context_bags
from unhot.types import Floats


class CBOWFeeder(NamedTuple):
    """The mean, or the sum, of the words around a centre predicts it."""

    text: Text
    window: Window
    mean: bool


@model("cbow")
@dataclass(kw_only=True)
class CBOW(WordModel):
    """Continuous bag of words.

    >>> model = CBOW(dim=8, min_count=1, epochs=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    combine: Literal["mean", "sum"] = "mean"  # how context vectors become one

    default_lr = 0.1

    def hidden(self, words: Sequence[str]) -> Floats:
        """The mean or the sum of their vectors."""
        share = np.float32(1.0 if self.combine == "mean" else len(words))
        return share * super().hidden(words)

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """One input, made of many rows; its target is the centre."""
        feeder = partial(CBOWFeeder, mean=self.combine == "mean")
        return Wiring(feeder, context_bags, listed=2 * self.window, combine=self.combine)


prepare.register(CBOWFeeder)(prepare_windows)
fetch.register(CBOWFeeder)(fetch_entering)
targets_of.register(CBOWFeeder)(centre_target)


@input_of.register(CBOWFeeder)
def _words_around(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    """The gradient of each of m rows is that of h, by m if h is their mean."""
    kept, share = scratch.feed, np.float32(1.0)
    count, times, contexts = fill_inputs(kept, kept.row, centre, scratch.inputs, 1)
    if feeder.mean:
        share /= np.float32(max(contexts, 1))
    return Bag(count, times, 1, share, share)
