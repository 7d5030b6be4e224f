"""CBOW: the words around a centre word together predict the centre word.

    h = mean (or sum) of the input vectors x_i of the m context words,   L = loss(h, t)
    dL/dx_i = dL/dh / m for the mean,   dL/dx_i = dL/dh for the sum

Each context vector moves by this exact gradient. word2vec.c and gensim leave out the 1 / m of the mean, so
their context vectors move m times as far at the same learning rate. The default rate here is higher to make
up for that.

References: Mikolov et al., Efficient estimation of word representations in vector space, 2013;
            Irsoy, Benton & Stratos, Corrected CBOW performs as well as skip-gram, 2021.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from unhot.kernels.bags import Bags
from unhot.kernels.feeder import Bag, input_of
from unhot.kernels.window_feeder import centre_target, register_windows
from unhot.kernels.windows import Text, Window, fill_inputs
from unhot.models.engine import Wiring
from unhot.models.learned_words import LearnedWords
from unhot.models.model import model
from unhot.models.word_answers import WordAnswers
from unhot.models.word_model import WordModel
from unhot.train.torch_batches import context_bags

SUM_LR = 0.025  # the initial learning rate with combine=sum


class CBOWFeeder(NamedTuple):
    """Examples of CBOW: the mean or the sum of the words around a centre word predicts that word."""

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

    combine: Literal["mean", "sum"] = "mean"  # how the context vectors are combined into one

    default_lr = 0.2

    @property
    def usual_lr(self) -> float:
        """The default learning rate; lower for sums, which are longer than means."""
        return SUM_LR if self.combine == "sum" else self.default_lr

    def make_answers(self, learned: LearnedWords) -> WordAnswers:
        """Return what answers questions about the words."""
        return WordAnswers(learned, summed=self.combine == "sum")

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Make one input of all context words; its target is the centre word."""
        feeder = partial(CBOWFeeder, mean=self.combine == "mean")
        window, around = Window(self.window, self.shrink), 2 * self.window
        return Wiring(feeder, context_bags, window, listed=around, combine=self.combine)


register_windows(CBOWFeeder, centre_target)


@input_of.register(CBOWFeeder)
def _words_around(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    """Make the bag of the m words around a centre word: h = share * sum_i x_i.

    dh/dx_i = share, so dL/dx_i = share * dL/dh, with share = 1 / m for the mean and 1 for the sum.
    """
    kept, share = scratch.feed, np.float32(1.0)
    count, times, contexts = fill_inputs(kept, kept.row, centre, scratch.inputs, 1)
    if feeder.mean:
        share /= np.float32(max(contexts, 1))
    # The first `share` makes h. The second is `Bag.moved`: each row moves by moved * (the step of h). Both
    # are the same number, because the chain rule gives dh/dx_i = share. word2vec.c moves by 1 for the mean,
    # too.
    return Bag(count, times, 1, share, share, np.float32(1.0))
