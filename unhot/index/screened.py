"""Exact search with the compiled kernel: make the 8-bit copy of the rows and share work among threads."""

import itertools
from typing import NamedTuple

import numpy as np

from unhot.index.sketch import DEPTH, GROUP, STRIP, FlatRows, Sketch, fill_sketch, pack, tile
from unhot.index.topk import WAITING, Best, Queries, find_nearest, merge_and_sort
from unhot.kernels.aligned import aligned_zeros, flat_numbers
from unhot.threads import in_order
from unhot.types import Counts, Doubles, Floats

FEW = 2  # up to this many queries are faster one by one: together they cost as much as a whole group
SHARED = 1 << 25  # with more multiplications than this (about 0.3 ms), a second thread is worth its start
AT_ONCE = 4  # the fewest groups of queries that a thread takes, so that it reads the sketch less often


class Share(NamedTuple):
    """One task of a thread: some groups of queries and a range of rows."""

    first: int
    last: int
    first_group: int
    last_group: int
    part: int  # the number of the range of rows


class Screened:
    """The rows of a matrix with their sketch, the 8-bit copy."""

    def __init__(self, vectors: Floats, norms: Doubles) -> None:
        """Take the rows and their lengths, and make the sketch."""
        count, dim = vectors.shape
        places = -(-count // STRIP) * STRIP
        self.rows = FlatRows(*flat_numbers(vectors), norms)
        room = aligned_zeros(places * -(-dim // DEPTH) * DEPTH, np.int8)
        self.sketch = Sketch(room, np.zeros(places, np.float32), np.full(places, -np.inf, np.float32))
        fill_sketch(self.rows, dim, self.sketch)

    def search(
        self, units: Doubles, k: int, exclude: Counts, first: int, last: int, threads: int
    ) -> tuple[Counts, Floats]:
        """Return, for each unit vector, the k nearest of the rows first .. last - 1, best first."""
        count, dim = units.shape
        sizes = tile(alone=count <= FEW)
        packed = pack(units, sizes)
        groups = len(packed.limits) // len(sizes.queries)
        tasks = _shares(groups, first, last, threads if count * (last - first) * dim > SHARED else 1)
        parts = 1 + max(task.part for task in tasks)
        ids = np.full((parts, count, k), -1, np.int64)
        cosines = np.full((parts, count, k), -np.inf, np.float32)

        def work(task: Share) -> None:
            # each range of rows is searched by itself, with its own limits
            own = packed if parts == 1 else packed._replace(limits=packed.limits.copy())
            passed, waiting = np.zeros(GROUP, np.int64), np.zeros((2, WAITING), np.int64)
            best = Best(cosines[task.part], ids[task.part], passed, waiting)
            find_nearest(sizes, self.rows, self.sketch, Queries(units, own, exclude), best, *task[:4])

        if len(tasks) == 1:
            work(tasks[0])
        else:
            list(in_order(tasks, work, threads))
        merge_and_sort(cosines, ids)
        return ids[0], cosines[0]


def warm_up_search() -> None:
    """Compile the search kernels, for one query and for many, or load them from disk."""
    vectors = np.eye(4, dtype=np.float32)
    search = Screened(vectors, np.ones(4))
    for count in (1, 4):
        search.search(np.eye(4)[:count], 1, np.empty((count, 0), np.int64), 0, 4, 1)


def _shares(groups: int, first: int, last: int, threads: int) -> list[Share]:
    """Return the tasks of the threads: each takes some of many queries, or some rows if queries are few."""
    if groups >= 2 * threads:
        # a multiple of the number of threads
        shares = threads * max(1, groups // (threads * AT_ONCE)) if threads > 1 else 1
        cuts = [groups * i // shares for i in range(shares + 1)]
        return [Share(first, last, begin, end, 0) for begin, end in itertools.pairwise(cuts)]
    cuts = [first + (last - first) * i // threads for i in range(threads + 1)]
    return [Share(begin, end, 0, groups, part) for part, (begin, end) in enumerate(itertools.pairwise(cuts))]
