"""Exact search by the compiled kernel: the 8-bit copy of the rows, the queries packed for it, the threads."""

import itertools
from typing import NamedTuple

import numpy as np

from unhot.index.sketch import DEPTH, GROUP, STRIP, FlatRows, Sketch, fill_sketch, pack, tile
from unhot.index.topk import WAITING, Best, Queries, find_nearest, merge_and_sort
from unhot.kernels.aligned import aligned_zeros
from unhot.threads import in_order
from unhot.types import Counts, Doubles, Floats

FEW = 2  # queries that are quicker one by one: together they cost as much as a whole group
SHARED = 1 << 25  # numbers multiplied, above which a second thread is worth its start: some 0.3 ms
AT_ONCE = 4  # groups of queries that a thread takes at least, so that it reads the sketch less often


class Share(NamedTuple):
    """What a thread does at once: some groups of queries, some rows."""

    first: int
    last: int
    first_group: int
    last_group: int
    part: int  # which range of rows that is


class Screened:
    """The rows with their sketch."""

    def __init__(self, vectors: Floats, norms: Doubles) -> None:
        """Make the sketch."""
        count, dim = vectors.shape
        if vectors.strides[1] != 4 or vectors.strides[0] < 4 * dim or vectors.strides[0] % 4:
            vectors = np.ascontiguousarray(vectors)
        stride = vectors.strides[0] // 4
        # one type of array for all matrices, so that nothing is compiled twice: flat, from the first number
        # to the last, read-only
        flat = np.lib.stride_tricks.as_strided(
            vectors, ((count - 1) * stride + dim,), (4,), writeable=False
        ).view(np.ndarray)
        places = -(-count // STRIP) * STRIP
        self.rows = FlatRows(flat, stride, norms)
        room = aligned_zeros(places * -(-dim // DEPTH) * DEPTH, np.int8)
        self.sketch = Sketch(room, np.zeros(places, np.float32), np.full(places, -np.inf, np.float32))
        fill_sketch(self.rows, dim, self.sketch)

    def search(
        self, units: Doubles, k: int, exclude: Counts, first: int, last: int, threads: int
    ) -> tuple[Counts, Floats]:
        """The k best of the rows first .. last - 1 for each unit vector, sorted."""
        count, dim = units.shape
        sizes = tile(alone=count <= FEW)
        packed = pack(units, sizes)
        groups = len(packed.limits) // len(sizes.queries)
        tasks = _shares(groups, first, last, threads if count * (last - first) * dim > SHARED else 1)
        parts = 1 + max(task.part for task in tasks)
        ids = np.full((parts, count, k), -1, np.int64)
        cosines = np.full((parts, count, k), -np.inf, np.float32)

        def work(task: Share) -> None:
            # each range of rows is a search of its own, with its own limits
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
    """Compile the search, for one query and for many, or find it on disk."""
    vectors = np.eye(4, dtype=np.float32)
    search = Screened(vectors, np.ones(4))
    for count in (1, 4):
        search.search(np.eye(4)[:count], 1, np.empty((count, 0), np.int64), 0, 4, 1)


def _shares(groups: int, first: int, last: int, threads: int) -> list[Share]:
    """Many queries are shared among the threads; few queries share the rows."""
    if groups >= 2 * threads:
        shares = threads * max(1, groups // (threads * AT_ONCE)) if threads > 1 else 1  # as many for each
        cuts = [groups * i // shares for i in range(shares + 1)]
        return [Share(first, last, begin, end, 0) for begin, end in itertools.pairwise(cuts)]
    cuts = [first + (last - first) * i // threads for i in range(threads + 1)]
    return [Share(begin, end, 0, groups, part) for part, (begin, end) in enumerate(itertools.pairwise(cuts))]
