"""The links over all columns of a step, for output layers to register.

    link.register(MyTables)(logistic_link)

A layer whose link has a setting registers a function of its own that calls one of these.
"""

from typing import Any

from unhot.kernels.columns import first_of
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.links import logistic, softmax, softmax_tile
from unhot.kernels.simd.tiles import Shape
from unhot.kernels.steps import Tiles, tile_count, tile_room, tile_shape


@generic
def _softmax(
    shape: Any, keep_hits: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """By the shape of the step."""


@inner
def logistic_link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """The logistic link over all tiles, whatever the tables."""
    tile, c = tile_shape(shape), first_of(columns, part)
    label, weight = columns.label, columns.weight
    offset = columns.offset
    loss = 0.0
    for t in range(tile_count(shape, columns.filled[part])):
        place = t * tile_room(tile, count)
        loss += logistic(tile, scores, place, count, label, weight, offset, c, times, at, lr)
        c += len(tile.width)
    return loss


@inner
def softmax_link(
    keep_hits: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """The softmax link over each group; `keep_hits` says whether a target's draws stay in its own sum."""
    return _softmax(shape, keep_hits, scores, count, columns, part, times, at, lr)


@_softmax.register(Shape)
def _softmax_tile(
    shape: Any, keep_hits: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """A step of a single tile has a single group and a single target."""
    first, label = first_of(columns, part), columns.label
    weight, offset = columns.weight, columns.offset
    return softmax_tile(shape, scores, count, label, weight, offset, first, keep_hits, times, at, lr)


@_softmax.register(Tiles)
def _softmax_tiles(
    shape: Any, keep_hits: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    tile, first = shape.tile, first_of(columns, part)
    width, room = len(tile.width), tile_room(tile, count)
    label, weight = columns.label, columns.weight
    offset = columns.offset
    loss = 0.0
    for g in range(first, first + columns.groups[part]):
        begin, end = columns.group_first[g], columns.group_first[g + 1]
        place, tiles = begin // width * room, (end - begin) // width
        c = first + begin
        loss += softmax(
            tile, scores, place, room, tiles, count, label, weight, offset, c, keep_hits, times, at, lr
        )
    return loss
