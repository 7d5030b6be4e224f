"""A chunk of training: where its examples are, and how they are trained.

A feeder reads `Where`. The training step reads `How`.
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
    """Return a chunk that is read in order from position `start` to `stop`."""
    return Where(0, 1, start, stop, max(stop - start, 1), np.uint64(0), window_key, draw_key)


class HotPlaces(NamedTuple):
    """The places of a thread's own copies: of the first rows of each matrix, and of ln Z.

    The thread finds row r at r + shift if r < rows, else at r. `loop.py` says when it passes on what it
    has learned.
    """

    in_rows: int
    in_shift: int
    out_rows: int
    out_shift: int
    ln_z_at: int
    aside: int  # the first of the input rows to which frozen rows are copied
    every: int  # examples from one exchange to the next, a power of two; 0: there are no copies


class How(NamedTuple):
    """How training changes the rows."""

    lr: Any  # float32
    hot: HotPlaces
    frozen: Any  # uint8 [input rows], 1: the row never changes; of size zero if all rows are learned


NO_COPIES = HotPlaces(0, 0, 0, 0, 0, 0, 0)
NOWHERE = Where(0, 0, 0, 0, 1, np.uint64(0), np.uint64(0), np.uint64(0))  # no examples: used to compile
UNCHANGED = How(np.float32(0.0), NO_COPIES, np.zeros(0, np.uint8))  # used to compile


@inner
def hot_row(row: Any, rows: Any, shift: Any) -> Any:
    """Return the place where this thread finds a row: its own copy if the row has one."""
    return row + shift if row < rows else row
