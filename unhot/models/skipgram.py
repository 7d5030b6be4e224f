"""Skip-gram: every word around a centre predicts the centre.

Each context word c_b of a centre t is an input of its own, h_b = x[c_b], and t is the target of all of them:

    L = sum_b loss(h_b, t)

In this orientation, many inputs and one target, the inputs share the target and the draws, so a window is a small matrix product. Windows
are symmetric, so it estimates the same as the textbook's "the centre predicts its contexts".

Reference: Mikolov et al., Efficient estimation of word representations in vector space, 2013.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

from unhot.kernels.blocks import Shape, score, update
from unhot.kernels.jit import generic
from unhot.kernels.loop import learn
from unhot.kernels.rows import copy_rows
from unhot.kernels.steps import Tiles, link, link_columns, score_columns, update_columns
from unhot.models.words import WordModel


class SkipGramStep(NamedTuple):
    """Chooses the step below; a type without a field would be none to numba."""

    inputs: int


class SkipGram(WordModel):
    """Skip-gram word vectors.

    >>> model = SkipGram(dim=8, min_count=1, epochs=1).fit([["a", "b", "a", "c"]] * 10)
    >>> model.vectors["a"].shape
    (8,)
    """

    name: ClassVar[str] = "skipgram"
    default_lr: ClassVar[float] = 0.025

    def step(self) -> SkipGramStep:
        """Many inputs."""
        return SkipGramStep(self.inputs())

    def inputs(self) -> int:
        """All words of the widest window."""
        return 2 * self.window


@learn.register(SkipGramStep)
def _learn(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, contexts: Any, first: Any, n: Any, lr: Any
) -> Any:
    return _learn_inputs(shape, tables, params, scratch, count, times, first, n, lr), contexts


@generic
def _learn_inputs(shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, first: Any, n: Any, lr: Any) -> Any:
    """Score, link and update all inputs; returns the loss."""


@_learn_inputs.register(Shape)
def _learn_tile(shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, first: Any, n: Any, lr: Any) -> Any:
    """In one tile nothing needs to be copied: each slice of x and o is read, and then written, once."""
    x, o, inputs, columns, scores = params.in_vectors, params.out_vectors, scratch.inputs, scratch.columns, scratch.scores
    score(shape, x, inputs.row, count, o, columns.row, first, scores, 0)
    loss = link(tables, shape, scores, 0, count, columns, first, inputs.times, times, lr)
    update(shape, x, inputs.row, count, o, columns.row, first, scores, 0)
    return loss


@_learn_inputs.register(Tiles)
def _learn_tiles(shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, first: Any, n: Any, lr: Any) -> Any:
    """Every tile needs the old inputs, so they are copied first."""
    x, o, inputs, columns, scores = params.in_vectors, params.out_vectors, scratch.inputs, scratch.columns, scratch.scores
    copy_rows(shape.one, x, inputs.row, count, scratch.hidden)
    score_columns(shape, x, inputs.row, count, o, columns, first, n, scores)
    loss = link_columns(shape, tables, scores, count, columns, first, n, inputs.times, times, lr)
    update_columns(shape, scratch.hidden, scratch.places, count, o, columns, first, n, scores, x, inputs.row)
    return loss
