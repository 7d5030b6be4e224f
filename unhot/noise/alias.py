"""Alias table: draw from any distribution with one table look-up.

Walker's method cuts the distribution into V cells of equal mass 1/V, each shared by at most two ids: cell i
gives i with probability threshold[i], otherwise alias[i]. A cell is one 64-bit word: `threshold * 2**32` in
the upper half, the alias in the lower half. So a draw touches one cache line, and 68,000 words take 544 kB,
which stays in the second-level cache.

A draw uses 64 random bits: the integer part of bits / 2**64 * V is the cell, the fraction decides within the
cell. So probabilities are exact to 2**-32 / V for any V.

Many small distributions, such as the neighbours of each node of a graph, are one table: row after row.

References: Walker 1977; Vose 1991.
"""

from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import below
from unhot.types import Doubles, Starts, Words64

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def alias_table(q: Doubles) -> Words64:
    """Return the alias table of a distribution: [vocabulary]."""
    if q.size == 0 or q.size >= 2**31:
        raise DataError(f"a distribution over {q.size:,} ids: must have between 1 and 2**31 - 1 ids")
    return alias_rows(np.array([0, q.size]), q)


def alias_rows(starts: Starts, weights: Doubles) -> Words64:
    """Return the alias tables of many distributions; that of row i is at starts[i] : starts[i + 1].

    The weights of a row need not sum to one, but their sum must be above zero. A row may be empty.
    """
    table, longest = np.empty(weights.size, np.uint64), int(np.diff(starts).max(initial=0))
    filled = np.flatnonzero(np.diff(starts))
    scale = np.zeros(starts.size - 1)
    if filled.size == 1:  # `reduceat` would round the sum of a long row otherwise than `sum`
        scale[filled] = weights.size / weights.sum()
    elif filled.size:
        scale[filled] = np.diff(starts)[filled] / np.add.reduceat(weights, starts[:-1][filled])
    room = np.empty(longest, np.int64), np.empty(longest, np.int64)
    _fill(starts, weights, scale, table, np.empty(longest), *room)
    return table


@kernel
def _fill(starts: Any, weights: Any, scale: Any, table: Any, mass: Any, small: Any, large: Any) -> None:
    """Fill each row by Vose's method: every cell below the mean mass is filled up by an id above it."""
    for row in range(scale.size):
        begin, size = starts[row], starts[row + 1] - starts[row]
        smalls, larges = 0, 0
        for i in range(size):
            mass[i] = weights[begin + i] * scale[row]
            table[begin + i] = (_LOW << _32) | np.uint64(i)
            if mass[i] < 1.0:
                small[smalls] = i
                smalls += 1
            else:
                large[larges] = i
                larges += 1
        while smalls > 0 and larges > 0:
            smalls -= 1
            low, high = small[smalls], large[larges - 1]
            threshold = np.uint64(min(np.rint(mass[low] * 2.0**32), 2.0**32 - 1))
            table[begin + low] = (threshold << _32) | np.uint64(high)
            mass[high] -= 1.0 - mass[low]
            if mass[high] < 1.0:
                larges -= 1
                small[smalls] = high
                smalls += 1


@inner
def draw(table: Any, bits: Any) -> Any:
    """Draw an id with 64 random bits."""
    return draw_within(table, 0, table.size, bits)


@inner
def draw_within(table: Any, begin: Any, size: Any, bits: Any) -> Any:
    """Draw from the row of `size` entries that begins at `begin`; return the number of the entry in it."""
    cell = below(bits, size)
    fraction = (bits * np.uint64(size)) >> _32
    entry = table[begin + cell]
    return np.int32(cell) if fraction < (entry >> _32) else np.int32(entry & _LOW)
