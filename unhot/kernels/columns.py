"""The columns of a step: which output rows it touches, and what they are to it.

An output layer fills them (`candidates`) from the targets of a window, one window ahead of the training. A
column has a row, a label (how many of the targets it is), a weight and an offset that is added to its score;
what they mean is up to the link (links.py). Two columns never have the same row, unless all but the first
have label and weight zero.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.ids import last_match
from unhot.kernels.simd.lanes import LANES
from unhot.types import Counts, Floats, Ids

AHEAD = 1  # examples whose columns are filled before they are trained
PARTS = 2  # > AHEAD
# among so many rows a loop is quicker than a search by vectors, which must wait for what was just written
FEW = 8


class Columns(NamedTuple):
    """The columns of this window and of the next ones, in PARTS parts of equal size."""

    filled: Counts  # how many columns each part has
    groups: Counts  # how many groups each part has
    row: Ids
    label: Floats
    weight: Floats
    offset: Floats
    # first columns of the groups, counted from the part's first; behind the last one, where it ends
    group_first: Ids
    group_name: Ids  # what a layer calls a group, to find it again
    width: int  # a group takes a multiple of so many columns


class Targets(NamedTuple):
    """What is to be predicted: n different words from word[at] on, each as often as times[times_at] says."""

    word: Ids
    at: int
    times: Floats
    times_at: int
    n: int
    total: int  # sum of the multiplicities
    rounds: int  # sets of draws, for layers that draw: 1, or up to `total`
    same: int  # how many examples in a row draw the same


def columns_buffer(columns: int, width: int) -> Columns:
    """Room for steps of so many columns."""
    part = -(-columns // width) * width + LANES
    row, group_first, group_name = (aligned_zeros(PARTS * part, np.int32) for _ in range(3))
    label, weight, offset = (aligned_zeros(PARTS * part) for _ in range(3))
    filled, groups = aligned_zeros(PARTS, np.int64), aligned_zeros(PARTS, np.int64)
    return Columns(filled, groups, row, label, weight, offset, group_first, group_name, width)


def columns_bytes(columns: int) -> int:
    """About how much memory they take."""
    return PARTS * 6 * 4 * (columns + 2 * LANES)


@generic
def candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Fill the columns from `first` on; return how many there are and the new random state.

    Registered by layers for their Tables.
    """


@inner
def first_of(columns: Any, part: Any) -> Any:
    """Where a part begins."""
    return part * (columns.row.size // PARTS)


@inner
def put(columns: Any, at: Any, row: Any, label: Any, weight: Any, offset: Any) -> None:
    """Write one column."""
    columns.row[at], columns.label[at] = row, np.float32(label)
    columns.weight[at], columns.offset[at] = np.float32(weight), np.float32(offset)


@inner
def put_targets(targets: Any, columns: Any, first: Any) -> Any:
    """One column for each target, its label and weight the multiplicity."""
    for i in range(targets.n):
        times = targets.times[targets.times_at + i]
        put(columns, first + i, targets.word[targets.at + i], times, times, 0.0)
    return targets.n


@inner
def find(columns: Any, first: Any, n: Any, row: Any) -> Any:
    """The column among the n from `first` on that has a row, counted from `first`; -1 if there is none."""
    if n > FEW:
        return last_match(columns.row, first, n, np.int32(row))
    for i in range(n):
        if columns.row[first + i] == row:
            return i
    return -1


@inner
def fill_tile(columns: Any, first: Any, n: Any, width: Any) -> Any:
    """Fill up the last tile with the first column's row, without label and weight.

    Returns the number of columns then.
    """
    full = width if n == width else (n + width - 1) // width * width  # a division takes long
    for c in range(first + n, first + full):
        put(columns, c, columns.row[first], 0.0, 0.0, columns.offset[first])
    return full


@inner
def _part_of(first: Any) -> Any:
    """The part that begins there: of two, the second one does not begin at zero."""
    return np.int64(first > 0)


@inner
def begin_groups(columns: Any, first: Any) -> None:
    """The columns from `first` on are in no group yet."""
    columns.groups[_part_of(first)], columns.group_first[first] = 0, 0


@inner
def end_group(columns: Any, first: Any, n: Any, name: Any) -> Any:
    """All columns behind the last group are one, up to n.

    Returns how many there are when its last tile is filled.
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
    """The first column, counted from `first`, of the group of that name; -1 if there is none."""
    for group in range(first, first + columns.groups[_part_of(first)]):
        if columns.group_name[group] == name:
            return columns.group_first[group]
    return -1
