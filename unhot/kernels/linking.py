"""The links over all columns of a step, for output layers to register.

    link.register(MyTables)(logistic_link)

A layer whose link has a setting registers a function of its own that calls one of these.
"""

from typing import Any

import numpy as np

from unhot.kernels.columns import first_of
from unhot.kernels.jit import inner
from unhot.kernels.simd.links import logistic, softmax, softmax_tile
from unhot.kernels.steps import has_more, tile_room


@inner
def logistic_link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Apply the logistic link to all tiles; `tables` is not used."""
    label, weight = columns.label, columns.weight
    offset, c = columns.offset, first_of(columns, part)
    end, place = c + columns.filled[part], 0
    loss, more = 0.0, True
    while more:
        loss += logistic(shape, scores, place, count, label, weight, offset, c, times, at, lr)
        c += shape.width
        place += tile_room(shape, count)
        more = has_more(shape, c, end)
    return loss


@inner
def softmax_link(
    keep_hits: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Apply the softmax link to each group; `keep_hits`: draws that hit a target stay in its own sum."""
    first, room = first_of(columns, part), tile_room(shape, count)
    label, weight = columns.label, columns.weight
    offset = columns.offset
    if shape.alone:  # one tile is one group
        return softmax_tile(shape, scores, count, label, weight, offset, first, keep_hits, times, at, lr)
    loss = np.float32(0.0)
    for g in range(first, first + columns.groups[part]):
        begin, end = columns.group_first[g], columns.group_first[g + 1]
        place, tiles = begin // shape.width * room, (end - begin) // shape.width
        c = first + begin
        loss += softmax(
            shape, scores, place, room, tiles, count, label, weight, offset, c, keep_hits, times, at, lr
        )
    return loss
