"""Hot rows: every thread has its own copies of the most frequent rows.

All threads write the rows of frequent words all the time, and a cache line that another core has just
written takes as long to fetch as one from far memory: two threads lose a quarter of their time to that. So,
with more than one thread, each thread has a copy of the first rows of each matrix (ids are ranks: these are
the most frequent). The copies lie behind the matrix.

A thread passes on all that it has learned, often (kernels/loop.py). Until then the others learn from an
older row. So the number of examples between two exchanges falls with the number of threads: on average, a
copy lacks at most `ON_THEIR_WAY` updates by other threads. With 2, 8 and 32 threads vectors are as
good as with one (docs/results/threads.md). If a thread passed on only its share of the change, 1 / threads,
frequent words would learn the more slowly, the more threads there are; if it passed on everything after a
whole chunk, eight threads would diverge.
"""

from unhot.kernels.chunk import HotPlaces
from unhot.kernels.loop import Params
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import as_floats
from unhot.train.params import COPIES, Sizes
from unhot.types import Floats

HOT_ROWS = 256  # hot rows, at most: copies of both matrices stay in the second-level cache
HOT_SHARE = 64  # at most one row in 64 is hot, so that a small vocabulary is learned at the full rate
ON_THEIR_WAY = 128  # updates by other threads that a thread's copy of a row lacks, on average


def hot_rows(rows: int, threads: int) -> int:
    """Return how many rows of a matrix are copied for each thread."""
    return min(HOT_ROWS, rows // HOT_SHARE) if threads > 1 else 0


def exchange_interval(threads: int) -> int:
    """Return the number of examples from one exchange of a thread to the next, a power of two."""
    return 1 << max(ON_THEIR_WAY // (threads - 1), 1).bit_length() - 1 if threads > 1 else 0


class HotRows:
    """The copies of all threads.

    The arrays of `params` end with threads * hot rows for the copies, ln_z with LANES numbers per thread.
    A thread's own rows come first, then the same rows as they were at the last exchange.
    """

    def __init__(self, params: Params, has: Sizes) -> None:
        hot, threads = has.hot, has.threads
        self.places: list[HotPlaces] = []  # where each thread finds its copies
        self._copies: list[
            list[tuple[Floats, Floats, Floats]]
        ] = []  # common, own and last rows of each array
        sizes = (hot.inputs, hot.outputs, hot.outputs, hot.inputs, LANES)
        for thread in range(threads):
            shifts = [
                len(array) - (threads - thread) * COPIES * rows
                for array, rows in zip(params, sizes, strict=True)
            ]
            aside = has.inputs + thread * has.aside
            self.places.append(
                HotPlaces(
                    *(hot.inputs, shifts[0], hot.outputs, shifts[1], shifts[4], aside),
                    every=exchange_interval(threads),
                )
            )
            self._copies.append(
                [
                    (array[:rows], array[shift : shift + rows], array[shift + rows : shift + 2 * rows])
                    for array, shift, rows in zip(map(as_floats, params), shifts, sizes, strict=True)
                    if len(array) > 0
                ]
            )

    def refresh(self) -> None:
        """Reset the copies of all threads to the common rows."""
        for copies in self._copies:
            for common, own, before in copies:
                own[:] = before[:] = common

    def exchange(self, thread: int) -> None:
        """Exchange all hot rows of a thread: the kernel does this only with those that it comes across."""
        for common, own, before in self._copies[thread]:
            common += own - before
            own[:] = common
            before[:] = own
