"""Hot rows: every thread has its own copies of the most frequent rows.

All threads write the rows of frequent words all the time, and a cache line that another core has just
written takes as long to fetch as one from far memory: two threads lose a fifth of their time to that. So,
with more than one thread, each thread has a copy of the first rows of each matrix (ids are ranks: these are
the most frequent). The copies lie behind the matrix. After each chunk a thread passes on its share of what it
has learned and starts again from the common row:

    common += (own - before) / threads;   own = before = common

That is the average over the threads. It is stable for any number of threads, and frequent words have updates
to spare. The common rows are summed in 32 bits even if the matrix has 16, where a share of a small step would
be lost.
"""

import threading
from typing import NamedTuple

import numpy as np

from unhot.kernels.chunk import HotPlaces
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import as_floats
from unhot.train.params import Sizes
from unhot.types import Floats

HOT_ROWS = 256  # hot rows, at most: copies of both matrices stay in the second-level cache
HOT_SHARE = 64  # at most one row in 64 is hot, so that a small vocabulary is learned at the full rate


def hot_rows(rows: int, threads: int) -> int:
    """Return how many rows of a matrix are copied for each thread."""
    return min(HOT_ROWS, rows // HOT_SHARE) if threads > 1 else 0


class _Copy(NamedTuple):
    common: Floats
    exact: Floats  # the common rows in 32 bits; one array for all threads
    own: Floats
    before: Floats  # the common rows at the last exchange


class HotRows:
    """The copies of all threads.

    The arrays of `params` end with threads * hot rows for the copies, ln_z with LANES numbers per thread.
    """

    def __init__(self, params: Params, has: Sizes) -> None:
        hot, threads = has.hot, has.threads
        self._lock, self._threads = threading.Lock(), threads
        self._copies: list[list[_Copy]] = []
        self.places: list[HotPlaces] = []  # where each thread finds its copies
        sizes = (hot.inputs, hot.outputs, hot.outputs, hot.inputs, LANES)
        exact = [
            as_floats(array)[:rows].astype(np.float32) for array, rows in zip(params, sizes, strict=True)
        ]
        for thread in range(threads):
            shifts = [
                len(array) - (threads - thread) * rows for array, rows in zip(params, sizes, strict=True)
            ]
            self.places.append(
                HotPlaces(
                    hot.inputs, shifts[0], hot.outputs, shifts[1], shifts[4], has.inputs + thread * has.aside
                )
            )
            self._copies.append([])
            for array, shift, rows, sums in zip(map(as_floats, params), shifts, sizes, exact, strict=True):
                if len(array) > 0:
                    own = array[shift : shift + rows]
                    self._copies[-1].append(_Copy(array[:rows], sums, own, own.copy()))

    def refresh(self) -> None:
        """Reset the copies of all threads to the common rows."""
        for copies in self._copies:
            for copy in copies:
                copy.own[:] = copy.before[:] = copy.exact[:] = copy.common

    def exchange(self, thread: int) -> None:
        """Pass on what a thread has learned, and take over what the others have learned."""
        with self._lock:
            for copy in self._copies[thread]:
                copy.exact[:] += (copy.own.astype(np.float32) - copy.before) / self._threads
                copy.own[:] = copy.before[:] = copy.common[:] = copy.exact
