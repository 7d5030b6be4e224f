"""The links over all columns of a step, for output layers to register.

    link.register(MyTables)(logistic_link)

A layer whose link has a setting registers a function of its own that calls one of these.
"""

from __future__ import annotations

from typing import Any

from unhot.kernels.columns import first_of
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.links import logistic, softmax, softmax_tile
from unhot.kernels.simd.tiles import Shape
from unhot.kernels.steps import Tiles, tile_room


@generic
def _logistic(
    shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    """By the shape of the step."""


@generic
def _softmax(
    shape: Any,
    keep_hits: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    """By the shape of the step."""


@inner
def logistic_link(
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
    """The logistic link, whatever the tables."""
    return _logistic(shape, scores, count, columns, part, times, times_at, lr)


@inner
def softmax_link(
    keep_hits: Any,
    shape: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    """The softmax link over each group; `keep_hits` says whether a target's draws stay in its own sum."""
    return _softmax(shape, keep_hits, scores, count, columns, part, times, times_at, lr)


@_logistic.register(Shape)
def _logistic_tile(
    shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    first = first_of(columns, part)
    return logistic(
        shape, scores, 0, count, columns.label, columns.weight, columns.offset, first, times, times_at, lr
    )


@_logistic.register(Tiles)
def _logistic_tiles(
    shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, times_at: Any, lr: Any
) -> Any:
    tile, first, loss = shape.tile, first_of(columns, part), 0.0
    width, room = len(tile.width), tile_room(tile, count)
    for t in range(columns.filled[part] // width):
        c = first + t * width
        loss += logistic(
            tile,
            scores,
            t * room,
            count,
            columns.label,
            columns.weight,
            columns.offset,
            c,
            times,
            times_at,
            lr,
        )
    return loss


@_softmax.register(Shape)
def _softmax_tile(
    shape: Any,
    keep_hits: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    """A step of a single tile has a single group and a single target."""
    first, label, weight, offset = first_of(columns, part), columns.label, columns.weight, columns.offset
    return softmax_tile(shape, scores, count, label, weight, offset, first, keep_hits, times, times_at, lr)


@_softmax.register(Tiles)
def _softmax_tiles(
    shape: Any,
    keep_hits: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    tile, first, loss = shape.tile, first_of(columns, part), 0.0
    width, room, label, weight, offset = (
        len(tile.width),
        tile_room(tile, count),
        columns.label,
        columns.weight,
        columns.offset,
    )
    for g in range(first, first + columns.groups[part]):
        begin, end = columns.group_first[g], columns.group_first[g + 1]
        at, tiles, c = begin // width * room, (end - begin) // width, first + begin
        loss += softmax(
            tile, scores, at, room, tiles, count, label, weight, offset, c, keep_hits, times, times_at, lr
        )
    return loss
