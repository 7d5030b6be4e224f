"""Alias table: draw from any distribution with one table look-up.

Walker's method cuts the distribution into V cells of equal mass 1/V, each shared by at most two ids: cell i
gives i with probability threshold[i], otherwise alias[i]. A cell is one 64-bit word: `threshold * 2**32` in
the upper half, the alias in the lower half. So a draw touches one cache line, and 68,000 words take 544 kB,
which stays in the second-level cache.

A draw uses 64 random bits: the integer part of bits / 2**64 * V is the cell, the fraction decides within the
cell. So probabilities are exact to 2**-32 / V for any V.

References: Walker 1977; Vose 1991.
"""

from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import below
from unhot.types import Doubles, Words64

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def alias_table(q: Doubles) -> Words64:
    """Return the alias table of a distribution: [vocabulary]."""
    if q.size == 0 or q.size >= 2**31:
        raise DataError(f"a distribution over {q.size:,} ids: must have between 1 and 2**31 - 1 ids")
    mass = q * (q.size / q.sum())
    threshold, alias = np.ones(q.size), np.arange(q.size, dtype=np.uint64)
    _fill(mass, threshold, alias, np.empty(q.size, np.int64), np.empty(q.size, np.int64))
    return (np.minimum(np.rint(threshold * 2.0**32), 2.0**32 - 1).astype(np.uint64) << _32) | alias


@kernel
def _fill(mass: Any, threshold: Any, alias: Any, small: Any, large: Any) -> None:
    """Fill the table by Vose's method: every cell below the mean mass is filled up by an id above it."""
    smalls, larges = 0, 0
    for i in range(mass.size):
        if mass[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls > 0 and larges > 0:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        threshold[low], alias[low] = mass[low], np.uint64(high)
        mass[high] -= 1.0 - mass[low]
        if mass[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1


@inner
def draw(table: Any, bits: Any) -> Any:
    """Draw an id with 64 random bits."""
    cell = below(bits, table.size)
    fraction = (bits * np.uint64(table.size)) >> _32
    entry = table[cell]
    return np.int32(cell) if fraction < (entry >> _32) else np.int32(entry & _LOW)
