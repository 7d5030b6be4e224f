"""CBOW: the words around a centre together predict the centre.

    h = mean (or sum) of the input vectors of the m context words,   L = loss(h, t)

The gradient of each context vector is the true one: dL/dh / m for the mean. word2vec.c and gensim leave out
the 1 / m, so their learning rate is in effect m times larger; the default rate here makes up for it.

References: Mikolov et al., Efficient estimation of word representations in vector space, 2013;
            Irsoy, Benton & Stratos, Corrected CBOW performs as well as skip-gram, 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unhot.errors import one_of
from unhot.kernels.bags import Bags
from unhot.kernels.learning import learn_bag
from unhot.kernels.loop import choose, fetch, fetch_entering, learn, predict_centre
from unhot.kernels.windows import Window, fill_inputs
from unhot.models.word_model import WordModel
from unhot.train.torch_batches import Batches, context_bags
from unhot.types import Floats


class CBOWStep(NamedTuple):
    """Chooses the step below."""

    mean: bool


@dataclass(kw_only=True)
class CBOW(WordModel):
    """Continuous bag of words.

    >>> model = CBOW(dim=8, min_count=1, epochs=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    combine: str = "mean"  # mean | sum

    name: ClassVar[str] = "cbow"
    default_lr: ClassVar[float] = 0.1

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        one_of("combine", self.combine, ("mean", "sum"))

    def hidden(self, words: Sequence[str]) -> Floats:
        """The mean or the sum of their vectors."""
        share = np.float32(1.0 if self.combine == "mean" else len(words))
        return share * super().hidden(words)

    def step(self, bags: Bags | None = None) -> CBOWStep:
        """One input, made of many rows."""
        return CBOWStep(self.combine == "mean")

    def combines(self) -> str:
        """By setting."""
        return self.combine

    def inputs(self) -> int:
        """The hidden vector."""
        return 1

    def targets(self) -> int:
        """The centre."""
        return 1

    def batches(self) -> Batches:
        """Bags."""
        return Batches(Window(self.window, self.shrink), context_bags, self.combine == "mean", self.batch)


choose.register(CBOWStep)(predict_centre)
fetch.register(CBOWStep)(fetch_entering)


@learn.register(CBOWStep)
def _learn(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    kept, share = scratch.kept, np.float32(1.0)
    count, times, contexts = fill_inputs(kept, kept.row, centre, scratch.inputs, 1)
    if count == 0:
        return 0.0, 0
    if step.mean:
        share /= np.float32(contexts)
    return learn_bag(shape, tables, params, scratch, count, times, share, share, part, chunk), 1
