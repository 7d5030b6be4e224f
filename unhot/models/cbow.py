"""CBOW: the words around a centre together predict the centre.

    h = mean (or sum) of the input vectors of the m context words,   L = loss(h, t)

The gradient of each context vector is the true one: dL/dh / m for the mean. word2vec.c and gensim leave out the 1 / m, so their learning
rate is in effect m times larger; the default rate here makes up for it.

References: Mikolov et al., Efficient estimation of word representations in vector space, 2013;
            Irsoy, Benton & Stratos, Corrected CBOW performs as well as skip-gram, 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unhot.errors import one_of
from unhot.kernels.loop import learn
from unhot.kernels.rows import add_to_rows, sum_rows
from unhot.kernels.steps import link_columns, row_shape, score_columns, update_columns
from unhot.kernels.windows import ones_at
from unhot.models.words import WordModel


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

    def step(self) -> CBOWStep:
        """One input, made of many rows."""
        return CBOWStep(self.combine == "mean")

    def inputs(self) -> int:
        """The hidden vector."""
        return 1


@learn.register(CBOWStep)
def _learn(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, contexts: Any, first: Any, n: Any, lr: Any
) -> Any:
    x, o, inputs, columns, scores = params.in_vectors, params.out_vectors, scratch.inputs, scratch.columns, scratch.scores
    rows, once, share = row_shape(shape), ones_at(inputs, 1), np.float32(1.0)
    if step.mean:
        share /= np.float32(contexts)
    sum_rows(rows, x, inputs.row, inputs.times, times, count, share, scratch.hidden)
    score_columns(shape, scratch.hidden, scratch.places, 1, o, columns, first, n, scores)
    loss = link_columns(shape, tables, scores, 1, columns, first, n, inputs.times, once, lr)
    scratch.gradient[:] = np.float32(0.0)
    update_columns(shape, scratch.hidden, scratch.places, 1, o, columns, first, n, scores, scratch.gradient, scratch.places)
    add_to_rows(rows, scratch.gradient, share, x, inputs.row, inputs.times, times, count)
    return loss, 1
