"""A step over any number of columns: score, link, update.

How many columns a step has, and where they are, is the shape of the step:

    Shape     up to MAX_WIDTH of them, a number known at compile time: one tile
    Tiles     any number, in tiles of one width; the last one is filled up with columns of label and weight
              zero (`fill_tile`)
    All       all rows of the matrix, for one input

A kernel is compiled for each of these, never for each k. In the buffer of scores tiles lie one behind the
other, `tile_room` apart.
"""

from typing import Any, NamedTuple

from unhot.kernels.columns import first_of
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
def score_columns(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> Any:
    """The scores of `count` inputs, x[rows], and of all columns of a part, to `scratch.scores`."""


@generic
def update_columns(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> Any:
    """`update_into` over all columns of a part, by the steps in `scratch.scores`."""


@generic
def keep_inputs(shape: Any, x: Any, rows: Any, count: Any, hidden: Any) -> Any:
    """Copy the inputs to `hidden` where several tiles need them as they were."""


@generic
def update_both(shape: Any, params: Any, scratch: Any, count: Any, part: Any) -> Any:
    """Move the inputs and all columns, both from the old values."""


@generic
def tile_count(shape: Any, n: Any) -> Any:
    """How many tiles n columns make."""


@generic
def link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Turn the scores of a step into steps, -lr dL/ds, in place; return the loss.

    The inputs' multiplicities are times[at] and those behind it. Registered by output layers for their
    Tables.
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
def _keep_none(shape: Any, x: Any, rows: Any, count: Any, hidden: Any) -> None:
    """In one tile each slice of x and o is read, and then written, once."""


@keep_inputs.register(Tiles)
def _keep_inputs(shape: Any, x: Any, rows: Any, count: Any, hidden: Any) -> None:
    copy_rows(shape.tile, x, rows, count, hidden)


@tile_count.register(Shape)
def _one_tile(shape: Any, n: Any) -> Any:
    return 1


@tile_count.register(Tiles)
def _tiles(shape: Any, n: Any) -> Any:
    return n // len(shape.tile.width)


@score_columns.register(Shape)
@score_columns.register(Tiles)
def _score_tiles(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> None:
    tile, columns = tile_shape(shape), scratch.columns
    width, room = len(tile.width), tile_room(tile, count)
    first = first_of(columns, part)
    for t in range(tile_count(shape, columns.filled[part])):
        score(tile, x, rows, count, o, columns.row, first + t * width, scratch.scores, t * room)


@score_columns.register(All)
def _score_all(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> None:
    score_all(shape.tile, x, rows[0], o, shape.rows, scratch.scores)


@update_both.register(Shape)
def _update_both(shape: Any, params: Any, scratch: Any, count: Any, part: Any) -> None:
    rows, columns = scratch.inputs.row, scratch.columns
    x, o = params.in_vectors, params.out_vectors
    first = first_of(columns, part)
    update(shape, x, rows, count, o, columns.row, first, scratch.scores, 0)


@update_both.register(Tiles)
def _update_both_in_tiles(shape: Any, params: Any, scratch: Any, count: Any, part: Any) -> None:
    hidden, places = scratch.hidden, scratch.places
    o = params.out_vectors
    update_columns(shape, hidden, places, count, o, scratch, part, params.in_vectors, scratch.inputs.row)


@update_columns.register(Shape)
@update_columns.register(Tiles)
def _update_tiles(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> None:
    tile, columns = tile_shape(shape), scratch.columns
    scores = scratch.scores
    width, room = len(tile.width), tile_room(tile, count)
    first = first_of(columns, part)
    for t in range(tile_count(shape, columns.filled[part])):
        update_into(tile, x, rows, count, o, columns.row, first + t * width, scores, t * room, into, places)


@update_columns.register(All)
def _update_all(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> None:
    update_all(shape.tile, x, rows[0], o, shape.rows, scratch.scores, into)
