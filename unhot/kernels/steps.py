"""A step over any number of columns: score, link, update.

How many columns a step has, and where they are, is the shape of the step:

    Shape     up to MAX_WIDTH of them, a number known at compile time: one tile
    Tiles     any number, in tiles of one width; the last one is filled up with columns of label and weight
              zero (`fill_tile`)
    All       all rows of the matrix, for one input

A kernel is compiled for each of these, never for each k. In the buffer of scores tiles lie one behind the
other, `tile_room` apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.ranges import score_all, update_all
from unhot.kernels.simd.rows import copy_rows
from unhot.kernels.simd.tiles import MAX_WIDTH, Shape, score, shape, update, update_into


class Tiles(NamedTuple):
    """Any number of columns, in tiles of this shape."""

    tile: Shape


class All(NamedTuple):
    """All rows are columns."""

    tile: Shape  # of one column: the blocks look at whole rows
    rows: int


StepShape = Shape | Tiles | All


def step_shape(stride: int, columns: int | None, inputs: int) -> Shape | Tiles:
    """How a step is laid out that has so many columns (None: they vary) and up to so many inputs."""
    if columns is not None and columns <= MAX_WIDTH:
        return shape(stride, columns, inputs)
    return Tiles(shape(stride, tile_width(columns), inputs))


def tile_width(columns: int | None) -> int:
    """The width that wastes the fewest places, the widest of several."""
    if columns is None:
        return MAX_WIDTH
    return min(range(MAX_WIDTH, MAX_WIDTH // 2, -1), key=lambda width: -(-columns // width) * width)


@generic
def tile_shape(shape: Any) -> Any:
    """The shape of a tile; what blocks that look at whole rows take."""


@generic
def score_columns(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any
) -> Any:
    """Scores of all inputs and the n columns from `first` on."""


@generic
def update_columns(
    shape: Any,
    x: Any,
    inputs: Any,
    count: Any,
    o: Any,
    columns: Any,
    first: Any,
    n: Any,
    steps: Any,
    into: Any,
    places: Any,
) -> Any:
    """`update_into` over all columns."""


@generic
def keep_inputs(shape: Any, x: Any, inputs: Any, count: Any, hidden: Any) -> Any:
    """Copy the inputs to `hidden` where several tiles need them as they were."""


@generic
def update_both(shape: Any, params: Any, scratch: Any, count: Any, first: Any, n: Any) -> Any:
    """Move the inputs and all columns, both from the old values."""


@generic
def tile_count(shape: Any, n: Any) -> Any:
    """How many tiles n columns make."""


@generic
def link(
    tables: Any,
    shape: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    """Turn the scores of a step into steps, -lr dL/ds, in place; return the loss.

    Registered by output layers for their Tables.
    """


@tile_shape.register(Shape)
def _tile_of_shape(shape: Any) -> Any:
    return shape


@tile_shape.register(Tiles)
@tile_shape.register(All)
def _tile_of_tiles(shape: Any) -> Any:
    return shape.tile


@inner
def tile_room(shape: Any, count: Any) -> Any:
    """Places of one tile: its inputs, rounded up to whole vectors."""
    padded = padded_width_of(shape)
    return (count * padded + LANES - 1) // LANES * LANES


@inner
def padded_width_of(shape: Any) -> Any:
    """Places of one input in a tile, at compile time: the next power of two."""
    width = len(shape.width)
    return 1 if width <= 1 else 2 if width <= 2 else 4 if width <= 4 else 8


@inner
def score_place(shape: Any, count: Any, b: Any, c: Any) -> Any:
    """Where the score of input b and column c is."""
    width = len(shape.width)
    return c // width * tile_room(shape, count) + b * padded_width_of(shape) + c % width


@keep_inputs.register(Shape)
def _keep_none(shape: Any, x: Any, inputs: Any, count: Any, hidden: Any) -> None:
    """In one tile each slice of x and o is read, and then written, once."""


@keep_inputs.register(Tiles)
def _keep_inputs(shape: Any, x: Any, inputs: Any, count: Any, hidden: Any) -> None:
    copy_rows(shape.tile, x, inputs, count, hidden)


@update_both.register(Shape)
def _update_both(shape: Any, params: Any, scratch: Any, count: Any, first: Any, n: Any) -> None:
    rows, columns = scratch.inputs.row, scratch.columns.row
    update(shape, params.in_vectors, rows, count, params.out_vectors, columns, first, scratch.scores, 0)


@update_both.register(Tiles)
def _update_both_in_tiles(shape: Any, params: Any, scratch: Any, count: Any, first: Any, n: Any) -> None:
    hidden, places, o, columns = scratch.hidden, scratch.places, params.out_vectors, scratch.columns
    x, rows, scores = params.in_vectors, scratch.inputs.row, scratch.scores
    update_columns(shape, hidden, places, count, o, columns, first, n, scores, x, rows)


@tile_count.register(Shape)
def _one_tile(shape: Any, n: Any) -> Any:
    return 1


@tile_count.register(Tiles)
def _tiles(shape: Any, n: Any) -> Any:
    return n // len(shape.tile.width)


@score_columns.register(Shape)
def _score_tile(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any
) -> None:
    score(shape, x, inputs, count, o, columns.row, first, scores, 0)


@score_columns.register(Tiles)
def _score_tiles(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any
) -> None:
    width, room = len(shape.tile.width), tile_room(shape.tile, count)
    for tile in range(n // width):
        score(shape.tile, x, inputs, count, o, columns.row, first + tile * width, scores, tile * room)


@score_columns.register(All)
def _score_all(
    shape: Any, x: Any, inputs: Any, count: Any, o: Any, columns: Any, first: Any, n: Any, scores: Any
) -> None:
    score_all(shape.tile, x, inputs[0], o, shape.rows, scores)


@update_columns.register(Shape)
def _update_tile(
    shape: Any,
    x: Any,
    inputs: Any,
    count: Any,
    o: Any,
    columns: Any,
    first: Any,
    n: Any,
    steps: Any,
    into: Any,
    places: Any,
) -> None:
    update_into(shape, x, inputs, count, o, columns.row, first, steps, 0, into, places)


@update_columns.register(Tiles)
def _update_tiles(
    shape: Any,
    x: Any,
    inputs: Any,
    count: Any,
    o: Any,
    columns: Any,
    first: Any,
    n: Any,
    steps: Any,
    into: Any,
    places: Any,
) -> None:
    width, room = len(shape.tile.width), tile_room(shape.tile, count)
    for tile in range(n // width):
        update_into(
            shape.tile,
            x,
            inputs,
            count,
            o,
            columns.row,
            first + tile * width,
            steps,
            tile * room,
            into,
            places,
        )


@update_columns.register(All)
def _update_all(
    shape: Any,
    x: Any,
    inputs: Any,
    count: Any,
    o: Any,
    columns: Any,
    first: Any,
    n: Any,
    steps: Any,
    into: Any,
    places: Any,
) -> None:
    update_all(shape.tile, x, inputs[0], o, shape.rows, steps, into)
