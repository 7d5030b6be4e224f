"""A chunk of training: where its examples are, and how they are trained.

A feeder reads `Where`, the training step reads `How`. Neither needs the other's.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner


class Where(NamedTuple):
    """Which examples: positions [start, stop) of a shard, and the streams of random bits of these."""

    start: int
    stop: int
    sentence: int  # the sentence that `start` is in
    window_key: Any  # uint64: bits by position, for which tokens survive and how far they see
    draw_key: Any  # uint64: bits for candidates


class HotPlaces(NamedTuple):
    """Where a thread has its own rows: copies of the first rows of each matrix, and of ln Z.

    Row r of a matrix with copies is found at r + shift if r < rows.
    """

    in_rows: int
    in_shift: int
    out_rows: int
    out_shift: int
    ln_z_at: int
    aside: int  # the first of the input rows that frozen ones are copied to


class How(NamedTuple):
    """How examples change the rows."""

    lr: Any  # float32
    hot: HotPlaces
    frozen: Any  # uint8 [input rows], 1: never changed; of size zero if all are learned


NOWHERE = Where(0, 0, 0, np.uint64(0), np.uint64(0))  # no example: enough to compile with
UNCHANGED = How(np.float32(0.0), HotPlaces(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8))  # likewise


@inner
def hot_row(row: Any, rows: Any, shift: Any) -> Any:
    """Where a row is found by this thread."""
    return row + shift if row < rows else row
