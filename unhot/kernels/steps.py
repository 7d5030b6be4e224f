"""A step over any number of columns: score, link, update.

How its columns lie is the shape of the step:

    Shape     in tiles of one width; the last one is filled up with columns of label and weight zero
              (`fill_tile`)
    All       all rows of the matrix, for one input

A kernel is compiled for each of these two, never for each k. In the buffer of scores tiles lie one behind the
other, `tile_room` apart.
"""

from typing import Any, NamedTuple

from unhot.kernels.columns import first_of
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.ranges import score_all, update_all
from unhot.kernels.simd.rows import copy_rows
from unhot.kernels.simd.tiles import MAX_WIDTH, Shape, score, shape, update


class All(NamedTuple):
    """All rows are columns."""

    tile: Shape  # of one column: the blocks look at whole rows
    rows: int


def step_shape(stride: int, columns: int | None, inputs: int) -> Shape:
    """Return the shape of steps that have so many columns (None: they vary) and up to so many inputs."""
    if columns is not None and columns <= MAX_WIDTH:
        return shape(stride, columns, inputs)
    return shape(stride, tile_width(columns), inputs, alone=False)


def tile_width(columns: int | None) -> int:
    """Return the width that wastes the fewest places, the widest of several."""
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
    """`update` over all columns of a part, by the steps in `scratch.scores`."""


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


@tile_shape.register(All)
def _tile_of_all(shape: Any) -> Any:
    return shape.tile


@inner
def has_more(shape: Any, c: Any, end: Any) -> Any:
    """Whether a step has a tile at column c.

    The compiler knows that there is none behind one that is alone, and makes no loop. A range of tiles would
    divide by the width, which takes as long as the link of a tile.
    """
    return not shape.alone and c < end


@inner
def tile_room(shape: Any, count: Any) -> Any:
    """Places of one tile: its inputs, rounded up to whole vectors."""
    return (count * padded_width_of(shape) + LANES - 1) // LANES * LANES


@inner
def padded_width_of(shape: Any) -> Any:
    """Places of one input in a tile."""
    return 4 if shape.width <= 4 else 8


@inner
def update_each(shape: Any, params: Any, scratch: Any, count: Any, part: Any) -> None:
    """Move the inputs, each a row of its own, and all columns, both from the old values.

    One tile reads, and then writes, each slice of x and o once: it needs no copy of the inputs. Several tiles
    read the copy that `keep_inputs` made.
    """
    rows = scratch.inputs.row
    x, numbers = scratch.hidden, scratch.places
    if shape.alone:
        x, numbers = params.in_vectors, rows
    update_columns(shape, x, numbers, count, params.out_vectors, scratch, part, params.in_vectors, rows)


@inner
def keep_inputs(shape: Any, x: Any, rows: Any, count: Any, hidden: Any) -> None:
    """Copy the inputs to `hidden` where several tiles need them as they were."""
    if not shape.alone:
        copy_rows(shape, x, rows, count, hidden)


@score_columns.register(Shape)
def _score_tiles(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> None:
    columns = scratch.columns
    c = first_of(columns, part)
    end, place = c + columns.filled[part], 0
    more = True
    while more:
        score(shape, x, rows, count, o, columns.row, c, scratch.scores, place)
        c += shape.width
        place += tile_room(shape, count)
        more = has_more(shape, c, end)


@score_columns.register(All)
def _score_all(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> None:
    score_all(shape.tile, x, rows[0], o, shape.rows, scratch.scores)


@update_columns.register(Shape)
def _update_tiles(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> None:
    columns, scores = scratch.columns, scratch.scores
    c = first_of(columns, part)
    end, place = c + columns.filled[part], 0
    more = True
    while more:
        update(shape, x, rows, count, o, columns.row, c, scores, place, into, places)
        c += shape.width
        place += tile_room(shape, count)
        more = has_more(shape, c, end)


@update_columns.register(All)
def _update_all(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> None:
    update_all(shape.tile, x, rows[0], o, shape.rows, scratch.scores, into)
