"""The columns of a step: the output rows that it reads and changes.

An output layer fills the columns (`candidates`) from the targets of an example, one example ahead of the
training. A column has a row, a label (how often its row is a target), a weight and an offset that is added to
its score. The link (simd/links.py) defines what these mean. Two columns never have the same row, unless all
but the first have label and weight zero.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.ids import last_match
from unhot.kernels.simd.lanes import LANES
from unhot.types import Counts, Floats, Ids

AHEAD = 1  # the columns of an example are filled so many examples before it is trained
PARTS = 2  # > AHEAD
# up to so many rows, a loop is faster than a vector search, which must wait until the last writes are done
FEW = 8


class Columns(NamedTuple):
    """The columns of this example and of the next ones, in PARTS parts of equal size."""

    filled: Counts  # how many columns each part has
    groups: Counts  # how many groups each part has
    row: Ids
    label: Floats
    weight: Floats
    offset: Floats
    # the first column of each group, counted from the first of the part; then the end of the last group
    group_first: Ids
    group_name: Ids  # the number by which a layer finds a group again
    width: int  # the number of columns in a group is a multiple of `width`


class Targets(NamedTuple):
    """The words to predict: n different ones from word[at] on, multiplicities from times[times_at] on."""

    word: Ids
    at: int
    times: Floats
    times_at: int
    n: int
    total: int  # sum of the multiplicities
    rounds: int  # sets of candidates that a sampling layer draws: 1, or up to `total`
    same: int  # how many consecutive examples share their draws


def columns_buffer(columns: int, width: int) -> Columns:
    """Return buffers for steps of up to `columns` columns, in tiles of `width`."""
    part = -(-columns // width) * width + LANES
    row, group_first, group_name = (aligned_zeros(PARTS * part, np.int32) for _ in range(3))
    label, weight, offset = (aligned_zeros(PARTS * part) for _ in range(3))
    filled, groups = aligned_zeros(PARTS, np.int64), aligned_zeros(PARTS, np.int64)
    return Columns(filled, groups, row, label, weight, offset, group_first, group_name, width)


def columns_bytes(columns: int) -> int:
    """Estimate the memory that `columns_buffer` takes."""
    return PARTS * 6 * 4 * (columns + 2 * LANES)


@generic
def candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Fill the columns from `first` on; return their number and the new random state.

    Output layers register this function for their Tables.
    """


@inner
def first_of(columns: Any, part: Any) -> Any:
    """Return the first column of a part."""
    return part * (columns.row.size // PARTS)


@inner
def put(columns: Any, at: Any, row: Any, label: Any, weight: Any, offset: Any) -> None:
    """Write one column."""
    columns.row[at], columns.label[at] = row, np.float32(label)
    columns.weight[at], columns.offset[at] = np.float32(weight), np.float32(offset)


@inner
def put_targets(targets: Any, columns: Any, first: Any) -> Any:
    """Write one column per target, with the multiplicity as label and weight; return their number."""
    for i in range(targets.n):
        times = targets.times[targets.times_at + i]
        put(columns, first + i, targets.word[targets.at + i], times, times, 0.0)
    return targets.n


@inner
def find(columns: Any, first: Any, n: Any, row: Any) -> Any:
    """Return which of the n columns from `first` on has a row, counted from `first`; -1 if there is none."""
    if n > FEW:
        return last_match(columns.row, first, n, np.int32(row))
    for i in range(n):
        if columns.row[first + i] == row:
            return i
    return -1


@inner
def fill_tile(columns: Any, first: Any, n: Any, width: Any) -> Any:
    """Fill up the last tile with columns of the first row that have label and weight zero.

    Returns the new number of columns.
    """
    full = width if n == width else (n + width - 1) // width * width  # division is slow
    for c in range(first + n, first + full):
        put(columns, c, columns.row[first], 0.0, 0.0, columns.offset[first])
    return full


@inner
def _part_of(first: Any) -> Any:
    """Return the part that begins at column `first`: part 0 begins at zero, part 1 does not."""
    return np.int64(first > 0)


@inner
def begin_groups(columns: Any, first: Any) -> None:
    """Start the part at column `first` without any groups."""
    columns.groups[_part_of(first)], columns.group_first[first] = 0, 0


@inner
def end_group(columns: Any, first: Any, n: Any, name: Any) -> Any:
    """Make the columns from the end of the last group up to column n a new group, and fill its last tile.

    Returns the new number of columns.
    """
    part = _part_of(first)
    group = first + columns.groups[part]
    begin = columns.group_first[group]
    n = begin + fill_tile(columns, first + begin, n - begin, columns.width)
    columns.groups[part] += 1
    columns.group_name[group], columns.group_first[group + 1] = name, n
    return n


@inner
def find_group(columns: Any, first: Any, name: Any) -> Any:
    """Return the first column of the group of a name, counted from `first`; -1 if there is none."""
    for group in range(first, first + columns.groups[_part_of(first)]):
        if columns.group_name[group] == name:
            return columns.group_first[group]
    return -1
