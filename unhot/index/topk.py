"""Find the k rows nearest to a query by cosine: screen all rows, and confirm the few that pass in float64.

A row whose bound (see sketch.py) is not above the k-th best cosine so far cannot be among the best k. The
cosines of all other rows are computed from the original rows in float64. So the result is exact and does not
depend on the order of rows and queries, although only a quarter of the matrix's bytes is read. Rows that pass
wait in a short list while they are fetched from memory.

The best rows so far are kept in a binary heap with the worst on top; of equal cosines, the higher row is
worse.
"""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from unhot.index.lengths import GRID
from unhot.index.sketch import ALONE, DEPTH, STRIP, Packed, screen
from unhot.kernels.jit import block, inner, kernel
from unhot.kernels.simd.ids import first_bit
from unhot.kernels.simd.lanes import I8, I32, LANES, LINE, Value, call, i64
from unhot.types import Counts, Doubles, Floats

WAITING = 32  # the most rows that wait to be confirmed
FETCHED = 8  # cache lines of a row that are prefetched
# bytes of the sketch that are screened for all queries in turn: they stay in the second-level cache
CACHE = 1 << 19


class Queries(NamedTuple):
    """The queries of a search, in the forms that the kernels read."""

    units: Doubles  # [queries, dim] unit vectors
    packed: Packed
    exclude: Counts  # [queries, m] rows that a query must not find; -1: none


class Best(NamedTuple):
    """The best rows so far of each query, as heaps, and scratch for the tile being screened."""

    cosines: Floats  # [queries, k]; -inf in entries that are still empty
    ids: Counts  # [queries, k]
    passed: Counts  # [GROUP] for each query, a bit for each row of a tile that passed
    waiting: Counts  # [2, WAITING] the query and the row of each pair that waits to be confirmed


def fetch_twin(values: Any, at: int) -> None:
    """Do nothing: prefetching is only a hint to the processor."""


@block(fetch_twin)
def fetch(types: Any, b: Value, values: Value, at: Value) -> None:
    """Prefetch the first cache lines of a row; beyond the last row this does no harm."""
    for line in range(FETCHED):
        address = b.bitcast(b.gep(values, [b.add(at, i64(line * LINE // 4))]), I8.as_pointer())
        hints = [ir.Constant(I32, value) for value in (0, 3, 1)]
        call(b, "llvm.prefetch.p0", ir.VoidType(), [address, *hints])


@inner
def push(cosines: Any, ids: Any, query: Any, size: Any, cosine: Any, row: Any) -> None:
    """Replace the worst row of a heap of `size` entries by a new row."""
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size:
            left, right = cosines[query, child], cosines[query, child + 1]
            if right < left or (right == left and ids[query, child + 1] > ids[query, child]):
                child += 1
        if cosine < cosines[query, child] or (cosine == cosines[query, child] and row > ids[query, child]):
            break
        cosines[query, place], ids[query, place] = cosines[query, child], ids[query, child]
        place = child
    cosines[query, place], ids[query, place] = cosine, row


@inner
def confirm(rows: Any, queries: Any, best: Any, count: Any) -> None:
    """Compute the cosines of waiting rows from the original rows, and keep those among the best."""
    for i in range(count):
        query, row = best.waiting[0, i], best.waiting[1, i]
        begin = row * rows.stride
        total = 0.0
        for d in range(queries.units.shape[1]):
            total += np.float64(rows.values[begin + d]) * queries.units[query, d]
        cosine = np.float32(np.rint(total / rows.norms[row] * GRID) / GRID)  # as `lengths.rounded`
        # rows come in rising order, so of equal cosines the first stays; a NaN cosine compares as false
        if cosine > best.cosines[query, 0] and not excluded(queries.exclude, query, row):
            push(best.cosines, best.ids, query, best.cosines.shape[1], cosine, row)
            error = queries.packed.errors[query]
            queries.packed.limits[query] = (best.cosines[query, 0] - error) / (np.float32(1.0) + error)


@inner
def excluded(exclude: Any, query: Any, row: Any) -> Any:
    """Return whether a query must not find a row."""
    for i in range(exclude.shape[1]):
        if exclude[query, i] == row:
            return True
    return False


@inner
def line_up(
    tile: Any, rows: Any, queries: Any, best: Any, group: Any, begin: Any, first: Any, last: Any, count: Any
) -> Any:
    """Add the rows that passed for a group of queries to the waiting list; confirm all when it is full.

    Return how many rows wait.
    """
    width = len(tile.queries)
    for j in range(width):
        bits = best.passed[j]
        while bits != 0:
            row = begin + first_bit(bits)
            bits &= bits - 1
            if first <= row and row < last:
                fetch(rows.values, row * rows.stride)
                best.waiting[0, count], best.waiting[1, count] = group * width + j, row
                count += 1
                if count == WAITING:
                    confirm(rows, queries, best, count)
                    count = 0
    return count


@kernel
def find_nearest(
    tile: Any,
    rows: Any,
    sketch: Any,
    queries: Any,
    best: Any,
    first: Any,
    last: Any,
    first_group: Any,
    last_group: Any,
) -> None:
    """Search rows first .. last - 1 for some groups of queries, and keep the best in the queries' heaps."""
    dim = queries.units.shape[1]
    step = ALONE * max(1, CACHE // (STRIP * DEPTH * -(-dim // DEPTH)))
    end = (last + LANES - 1) // LANES
    packed, count = queries.packed, 0
    for begin in range(first // STRIP * ALONE, end, step):
        for group in range(first_group, last_group):
            for number in range(begin, min(begin + step, end), len(tile.together)):
                if screen(
                    tile,
                    sketch.bytes,
                    sketch.factors,
                    sketch.slacks,
                    dim,
                    number,
                    packed.numbers,
                    packed.gains,
                    packed.limits,
                    group,
                    best.passed,
                ):
                    count = line_up(tile, rows, queries, best, group, number * LANES, first, last, count)
    confirm(rows, queries, best, count)


@kernel
def merge_and_sort(cosines: Any, ids: Any) -> None:
    """Merge the best of all parts [parts, queries, k] into the first part; sort best first, ties by row."""
    parts, queries, k = cosines.shape
    for query in range(queries):
        for part in range(1, parts):
            for i in range(k):
                cosine, row = cosines[part, query, i], ids[part, query, i]
                if cosine > cosines[0, query, 0] or (
                    cosine == cosines[0, query, 0] and row < ids[0, query, 0]
                ):
                    push(cosines[0], ids[0], query, k, cosine, row)
        for end in range(k - 1, 0, -1):
            worst, worst_row = cosines[0, query, 0], ids[0, query, 0]
            push(cosines[0], ids[0], query, end, cosines[0, query, end], ids[0, query, end])
            cosines[0, query, end], ids[0, query, end] = worst, worst_row
