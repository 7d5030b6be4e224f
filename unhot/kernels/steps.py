"""A step over any number of columns.

Up to MAX_WIDTH columns, a number known at compile time, are one tile: a `Shape`. More of them, or a number that differs from step to
step, are cut into `Tiles` of fixed widths, so that a kernel is compiled once and not for every k. In the buffer of scores the tiles lie
one behind the other, each with room for a whole number of vectors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unhot.kernels.blocks import MAX_WIDTH, Shape, score, shape, update_into
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd import LANES


class Tiles(NamedTuple):
    """Shapes of falling width."""

    widest: Shape
    four: Shape
    two: Shape
    one: Shape


def step_shape(stride: int, columns: int, inputs: int) -> Shape | Tiles:
    """How a step with that many columns and up to that many inputs is laid out."""
    if columns <= MAX_WIDTH:
        return shape(stride, columns, inputs)
    return Tiles(*(shape(stride, width, inputs) for width in (MAX_WIDTH, 4, 2, 1)))


@generic
def row_shape(shape: Any) -> Any:
    """A Shape for blocks that look at rows only; its group is the largest there is."""


@generic
def score_columns(shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any) -> Any:
    """Scores of all inputs and the n columns from `first` on."""


@generic
def link_columns(
    shape: Any, tables: Any, scores: Any, count: Any, columns: Any, first: Any, n: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    """The layer's link over all of them; returns the loss."""


@generic
def update_columns(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, steps: Any, into: Any, places: Any
) -> Any:
    """`update_into` over all columns."""


@generic
def link(tables: Any, shape: Any, scores: Any, at: Any, count: Any, columns: Any, first: Any, times: Any, times_at: Any, lr: Any) -> Any:
    """Turn the scores of one tile into steps in place; return the loss. Registered by output layers for their Tables."""


@row_shape.register(Shape)
def _shape_of_shape(shape: Any) -> Any:
    return shape


@row_shape.register(Tiles)
def _shape_of_tiles(shape: Any) -> Any:
    return shape.one


@score_columns.register(Shape)
def _score_tile(shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any) -> None:
    score(shape, x, inputs, count, o, columns.row, first, scores, 0)


@link_columns.register(Shape)
def _link_tile(
    shape: Any, tables: Any, scores: Any, count: Any, columns: Any, first: Any, n: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    return link(tables, shape, scores, 0, count, columns, first, times, times_at, lr)


@update_columns.register(Shape)
def _update_tile(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, steps: Any, into: Any, places: Any
) -> None:
    update_into(shape, x, inputs, count, o, columns.row, first, steps, 0, into, places)


@inner
def _room(count: Any) -> Any:
    """Places of one column: the inputs, rounded up to whole vectors."""
    return (count + LANES - 1) // LANES * LANES


@score_columns.register(Tiles)
def _score_tiles(shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any) -> None:
    done, room = 0, _room(count)
    while n - done >= MAX_WIDTH:
        score(shape.widest, x, inputs, count, o, columns.row, first + done, scores, done * room)
        done += MAX_WIDTH
    if n - done >= 4:
        score(shape.four, x, inputs, count, o, columns.row, first + done, scores, done * room)
        done += 4
    if n - done >= 2:
        score(shape.two, x, inputs, count, o, columns.row, first + done, scores, done * room)
        done += 2
    if n - done >= 1:
        score(shape.one, x, inputs, count, o, columns.row, first + done, scores, done * room)


@link_columns.register(Tiles)
def _link_tiles(
    shape: Any, tables: Any, scores: Any, count: Any, columns: Any, first: Any, n: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    done, room, loss = 0, _room(count), 0.0
    while n - done >= MAX_WIDTH:
        loss += link(tables, shape.widest, scores, done * room, count, columns, first + done, times, times_at, lr)
        done += MAX_WIDTH
    if n - done >= 4:
        loss += link(tables, shape.four, scores, done * room, count, columns, first + done, times, times_at, lr)
        done += 4
    if n - done >= 2:
        loss += link(tables, shape.two, scores, done * room, count, columns, first + done, times, times_at, lr)
        done += 2
    if n - done >= 1:
        loss += link(tables, shape.one, scores, done * room, count, columns, first + done, times, times_at, lr)
    return loss


@update_columns.register(Tiles)
def _update_tiles(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, steps: Any, into: Any, places: Any
) -> None:
    done, room = 0, _room(count)
    while n - done >= MAX_WIDTH:
        update_into(shape.widest, x, inputs, count, o, columns.row, first + done, steps, done * room, into, places)
        done += MAX_WIDTH
    if n - done >= 4:
        update_into(shape.four, x, inputs, count, o, columns.row, first + done, steps, done * room, into, places)
        done += 4
    if n - done >= 2:
        update_into(shape.two, x, inputs, count, o, columns.row, first + done, steps, done * room, into, places)
        done += 2
    if n - done >= 1:
        update_into(shape.one, x, inputs, count, o, columns.row, first + done, steps, done * room, into, places)
