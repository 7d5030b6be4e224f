"""Kernels on sparse rows: products with dense matrices and with each other, and mutual information.

Row i has the values x[i, j] = values[p] in the columns j = columns[p], starts[i] <= p < starts[i + 1]. The
kernels take a range of rows, begin .. end - 1, so that threads can share the rows.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import read_only
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import add_to_rows, sum_rows
from unhot.types import Doubles, Floats, Ids, Starts


class SparseRows(NamedTuple):
    """Sparse rows in read-only arrays, so that one compiled kernel serves arrays in memory and on disk."""

    starts: Starts  # [rows + 1]
    columns: Ids
    values: Doubles


def rows_of(starts: Starts, columns: Ids, values: Doubles) -> SparseRows:
    """Return CSR arrays as read-only `SparseRows`, the form that kernels take."""
    return SparseRows(read_only(starts), read_only(columns), read_only(values))


def cuts(starts: Starts, parts: int, first: int = 0, last: int | None = None) -> list[tuple[int, int]]:
    """Cut rows first .. last - 1 into parts with about equally many cells; return (begin, end) of each."""
    last = starts.size - 1 if last is None else last
    places = np.linspace(starts[first], starts[last], parts + 1)[1:-1]
    ends = [first, *(first + np.searchsorted(starts[first : last + 1], places)).tolist(), last]
    return [(begin, end) for begin, end in zip(ends[:-1], ends[1:], strict=True) if begin < end]


@inner
def floats_of(rows: Any, i: Any, largest: Any, scratch: Any) -> Any:
    """Write x[i, j] / largest, for all cells of row i, to scratch as float32; return the number of cells."""
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
    """Multiply by a dense matrix: out[i] = sum_j x[i, j] / largest dense[j].

    shape     holds the stride of dense and out (see blocks.py)
    largest   divides all values, so that they are neither too large nor too small for float32
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
    """Multiply the transposed matrix by a dense one: out[j] += sum_i x[i, j] / largest dense[i].

    No transposed copy is needed. The sum runs over the rows i of the range. Each thread has its own `out`.
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
    """Compute log x[i, j] + row_terms[i] + column_terms[j] for each cell; return the number of cells kept.

    positive  keep only results above zero
    lengths   [end - begin] output: the number of cells kept in each row
    columns   [cells] output: the columns of the cells kept, row after row
    values    [cells] output: their values
    """
    count = 0
    for i in range(begin, end):
        before = count
        for p in range(rows.starts[i], rows.starts[i + 1]):
            value = math.log(rows.values[p]) + row_terms[i] + column_terms[rows.columns[p]]
            columns[count] = rows.columns[p]
            values[count] = value
            count += 1 if value > 0.0 or not positive else 0  # the next cell overwrites one that is not kept
        lengths[i - begin] = count - before
    return count


@kernel
def fill_lengths(rows: SparseRows, begin: int, end: int, out: Doubles) -> None:
    """Compute the length of each row: out[i] = sqrt(sum_j x[i, j]^2)."""
    for i in range(begin, end):
        total = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[p] * rows.values[p]
        out[i] = math.sqrt(total)


@kernel
def fill_dots(rows: SparseRows, dense: Doubles, begin: int, end: int, out: Doubles) -> None:
    """Multiply by a dense vector: out[i] = sum_j x[i, j] dense[j]."""
    for i in range(begin, end):
        total = 0.0
        for p in range(rows.starts[i], rows.starts[i + 1]):
            total += rows.values[p] * dense[rows.columns[p]]
        out[i] = total


@kernel
def fill_pair_dots(rows: SparseRows, a: Ids, b: Ids, out: Doubles) -> None:
    """Compute dot products of pairs of rows: out[n] = sum_j x[a[n], j] x[b[n], j]."""
    for n in range(out.size):
        p, q = rows.starts[a[n]], rows.starts[b[n]]
        p_end, q_end = rows.starts[a[n] + 1], rows.starts[b[n] + 1]
        total = 0.0
        while p < p_end and q < q_end:
            left, right = rows.columns[p], rows.columns[q]
            if left == right:
                total += rows.values[p] * rows.values[q]
            # columns rise, so the row with the smaller column moves on, and both do if the columns are equal
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
    """Compute cosines: out[q, i - first] = cosine of row i and query q; NaN if the row is empty.

    queries   unit vectors, transposed: row j lists the queries q (as columns) that have a value in column j
    sums      [queries] scratch

    Only columns where both the row and the query have a value are multiplied, a small part of all.
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
