"""Sparse rows: times dense matrices, with each other, and as pointwise mutual information.

Row i has the values x[i, j] = values[p] in the columns j = columns[p], starts[i] <= p < starts[i + 1]. All
kernels take a range of rows, begin .. end - 1, so that threads share the rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import read_only
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import add_to_rows, sum_rows
from unhot.types import Doubles, Floats, Ids, Starts


class SparseRows(NamedTuple):
    """Sparse rows; read-only arrays, so that one compiled kernel serves those in memory and those on disk."""

    starts: Starts  # [rows + 1]
    columns: Ids
    values: Doubles


def rows_of(starts: Starts, columns: Ids, values: Doubles) -> SparseRows:
    """Arrays as kernels take them."""
    return SparseRows(read_only(starts), read_only(columns), read_only(values))


def cuts(starts: Starts, parts: int, first: int = 0, last: int | None = None) -> list[tuple[int, int]]:
    """Rows first .. last - 1 in parts with about equally many cells: (begin, end) of each that has rows."""
    last = starts.size - 1 if last is None else last
    places = np.linspace(starts[first], starts[last], parts + 1)[1:-1]
    ends = [first, *(first + np.searchsorted(starts[first : last + 1], places)).tolist(), last]
    return [(begin, end) for begin, end in zip(ends[:-1], ends[1:], strict=True) if begin < end]


@inner
def floats_of(rows: Any, i: Any, largest: Any, scratch: Any) -> Any:
    """Write x[i, j] / largest to scratch as float32; returns how many there are."""
    begin, count = rows.starts[i], rows.starts[i + 1] - rows.starts[i]
    for p in range(count):
        scratch[p] = np.float32(rows.values[begin + p] / largest)
    return count


@kernel
def multiply(
    shape: Any,
    rows: SparseRows,
    largest: float,
    dense: Floats,
    scratch: Floats,
    begin: int,
    end: int,
    out: Floats,
) -> None:
    """out[i] = sum_j x[i, j] / largest dense[j]: the matrix times a dense one.

    shape     says the stride of dense and out (see blocks.py)
    largest   what all values are divided by, so that none of them is too large or too small for float32
    scratch   [longest row]
    out       all zeros
    """
    one = np.float32(1.0)
    for i in range(begin, end):
        count = floats_of(rows, i, largest, scratch)
        if count > 0:
            columns = rows.columns[rows.starts[i] : rows.starts[i + 1]]
            sum_rows(shape, dense, columns, scratch, 0, count, one, out[i : i + 1])


@kernel
def multiply_transposed(
    shape: Any,
    rows: SparseRows,
    largest: float,
    dense: Floats,
    scratch: Floats,
    begin: int,
    end: int,
    out: Floats,
) -> None:
    """out[j] += sum_i x[i, j] / largest dense[i], for the rows i of a range.

    This is the transposed matrix times a dense one; no transposed copy is needed. Threads have an `out` each.
    """
    one = np.float32(1.0)
    for i in range(begin, end):
        count = floats_of(rows, i, largest, scratch)
        if count > 0:
            columns = rows.columns[rows.starts[i] : rows.starts[i + 1]]
            add_to_rows(shape, dense[i : i + 1], one, out, columns, scratch, 0, count)


@kernel
def information(
    rows: SparseRows,
    row_terms: Doubles,
    column_terms: Doubles,
    positive: bool,
    begin: int,
    end: int,
    lengths: Starts,
    columns: Ids,
    values: Doubles,
) -> int:
    """Fill in log x[i, j] + row_terms[i] + column_terms[j] for each cell; returns how many there are.

    positive  only where it is above zero
    lengths   [end - begin] how many cells of each row
    columns   [cells], and values: these, one row behind the other
    """
    count = 0
    for i in range(begin, end):
        before = count
        for p in range(rows.starts[i], rows.starts[i + 1]):
            value = math.log(rows.values[p]) + row_terms[i] + column_terms[rows.columns[p]]
            columns[count] = rows.columns[p]
            values[count] = value
            count += 1 if value > 0.0 or not positive else 0  # what is not counted is written over
        lengths[i - begin] = count - before
    return count


@kernel
def fill_lengths(rows: SparseRows, begin: int, end: int, out: Doubles) -> None:
    """out[i] = sqrt(sum_j x[i, j]^2)."""
    for i in range(begin, end):
        total = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[p] * rows.values[p]
        out[i] = math.sqrt(total)


@kernel
def fill_dots(rows: SparseRows, dense: Doubles, begin: int, end: int, out: Doubles) -> None:
    """out[i] = sum_j x[i, j] dense[j]."""
    for i in range(begin, end):
        total = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[p] * dense[rows.columns[p]]
        out[i] = total


@kernel
def fill_pair_dots(rows: SparseRows, a: Ids, b: Ids, out: Doubles) -> None:
    """out[n] = sum_j x[a[n], j] x[b[n], j]: both rows go by, columns rising."""
    for n in range(out.size):
        p, q = rows.starts[a[n]], rows.starts[b[n]]
        p_end, q_end = rows.starts[a[n] + 1], rows.starts[b[n] + 1]
        total = 0.0
        while p < p_end and q < q_end:
            left, right = rows.columns[p], rows.columns[q]
            if left == right:
                total += rows.values[p] * rows.values[q]
            p, q = p + (left <= right), q + (right <= left)
        out[n] = total


@kernel
def fill_cosines(
    rows: SparseRows,
    lengths: Doubles,
    queries: SparseRows,
    begin: int,
    end: int,
    first: int,
    sums: Doubles,
    out: Floats,
) -> None:
    """out[q, i - first] = the cosine of row i with query q; NaN if the row has no direction.

    queries   of length one, by columns: row j has the queries q (as columns) with a value there
    sums      [queries]

    Only values that both have are multiplied, which is a small part of all.
    """
    for i in range(begin, end):
        for q in range(sums.size):
            sums[q] = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            value, column = rows.values[p], rows.columns[p]
            for at in range(queries.starts[column], queries.starts[column + 1]):
                sums[queries.columns[at]] += value * queries.values[at]
        scale = 1.0 / lengths[i] if lengths[i] > 0.0 else np.nan
        for q in range(sums.size):
            out[q, i - first] = sums[q] * scale
