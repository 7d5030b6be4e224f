"""A chunk of training: where its examples are, and how they are trained.

A feeder reads `Where`, the training step reads `How`. Neither needs the other's.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner


class Where(NamedTuple):
    """Which examples are read, in which order, with which streams of random bits.

    Positions [begin, end) of a shard are cut into pieces of `size` positions; the last piece may be shorter.
    The pieces are read in the random order of `order_key` (order.py). A chunk is the pieces [first, last) of
    that order.
    """

    first: int
    last: int
    begin: int
    end: int
    size: int
    order_key: Any  # uint64: the order of the pieces
    window_key: Any  # uint64: bits by position, for which tokens survive and how far they see
    draw_key: Any  # uint64: bits for candidates


def one_piece(start: int, stop: int, window_key: Any, draw_key: Any) -> Where:
    """Return a chunk that is read from position `start` to `stop`, in this order."""
    return Where(0, 1, start, stop, max(stop - start, 1), np.uint64(0), window_key, draw_key)


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


NOWHERE = Where(0, 0, 0, 0, 1, np.uint64(0), np.uint64(0), np.uint64(0))  # no example: enough to compile with
UNCHANGED = How(np.float32(0.0), HotPlaces(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8))  # likewise


@inner
def hot_row(row: Any, rows: Any, shift: Any) -> Any:
    """Where a row is found by this thread."""
    return row + shift if row < rows else row
