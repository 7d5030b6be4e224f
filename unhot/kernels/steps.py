"""A step over any number of columns: score, link, update.

The shape of a step says how its columns are laid out:

    Shape     tiles of one width; the last tile is filled up with columns of label and weight zero
              (`fill_tile`)
    All       all rows of the matrix, for one input

The tiles follow each other in the buffer of scores, `tile_room` apart.
"""

from typing import Any, NamedTuple

from unhot.kernels.columns import first_of
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.ranges import score_all, update_all
from unhot.kernels.simd.rows import copy_rows
from unhot.kernels.simd.tiles import MAX_WIDTH, Shape, score, shape, update


class All(NamedTuple):
    """The shape of a step whose columns are all rows of the matrix."""

    tile: Shape  # a tile of one column, for blocks that work on whole rows
    rows: int


def step_shape(stride: int, columns: int | None, inputs: int) -> Shape:
    """Return the shape of steps with `columns` columns (None: it varies) and up to `inputs` inputs."""
    if columns is not None and columns <= MAX_WIDTH:
        return shape(stride, columns, inputs)
    return shape(stride, tile_width(columns), inputs, alone=False)


def tile_width(columns: int | None) -> int:
    """Return the width of tiles that wastes the fewest places; of several such widths, the widest."""
    if columns is None:
        return MAX_WIDTH
    return min(range(MAX_WIDTH, MAX_WIDTH // 2, -1), key=lambda width: -(-columns // width) * width)


@generic
def tile_shape(shape: Any) -> Any:
    """Return the shape of a tile, as blocks that work on whole rows take it."""


@generic
def score_columns(shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any) -> Any:
    """Score `count` inputs, x[rows], with all columns of a part; write the scores to `scratch.scores`."""


@generic
def update_columns(
    shape: Any, x: Any, rows: Any, count: Any, o: Any, scratch: Any, part: Any, into: Any, places: Any
) -> Any:
    """Apply `update` to all columns of a part, with the steps in `scratch.scores`."""


@generic
def link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Turn the scores of a step into steps, -lr dL/ds, in place; return the loss.

    The multiplicities of the inputs are in `times`, from index `at` on. Output layers register this function
    for their Tables.
    """


@tile_shape.register(Shape)
def _tile_of_shape(shape: Any) -> Any:
    return shape


@tile_shape.register(All)
def _tile_of_all(shape: Any) -> Any:
    return shape.tile


@inner
def has_more(shape: Any, c: Any, end: Any) -> Any:
    """Return whether a step has another tile, at column c.

    If the tile is alone, the compiler knows that no tile follows, and makes no loop. A loop over a range of
    tiles would divide by the width, which takes as long as the link of a tile.
    """
    return not shape.alone and c < end


@inner
def tile_room(shape: Any, count: Any) -> Any:
    """Return the number of places of a tile of `count` inputs, rounded up to whole vectors."""
    return (count * padded_width_of(shape) + LANES - 1) // LANES * LANES


@inner
def padded_width_of(shape: Any) -> Any:
    """Return the number of places of one input in a tile."""
    return 4 if shape.width <= 4 else 8


@inner
def update_each(shape: Any, params: Any, scratch: Any, count: Any, part: Any) -> None:
    """Update the inputs, each of which is one row, and all columns, both from the old values.

    A tile that is alone reads and then writes each slice of x and o once, so it needs no copy of the inputs.
    Several tiles read the copy that `keep_inputs` made.
    """
    rows = scratch.inputs.row
    x, numbers = scratch.hidden, scratch.places
    if shape.alone:
        x, numbers = params.in_vectors, rows
    update_columns(shape, x, numbers, count, params.out_vectors, scratch, part, params.in_vectors, rows)


@inner
def keep_inputs(shape: Any, x: Any, rows: Any, count: Any, hidden: Any) -> None:
    """Copy the inputs to `hidden` if there are several tiles, which need the old values."""
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
