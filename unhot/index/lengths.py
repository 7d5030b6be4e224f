"""Lengths of vectors, vectors of length one and their products, the cosines.

Lengths are computed in float64, where squares of float32 neither overflow nor vanish. A vector of length
zero, or with a number in it that is not finite, has no direction: as a unit vector it is all zeros.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.types import Doubles, Floats

BLOCK_ROWS = 1 << 12  # rows squared at once, so that the norms of a memory-mapped matrix need little memory

SMALL, LARGE = 1e-15, 1e15  # lengths of rows between which float32 neither overflows nor loses digits
GRID = 2.0**32  # finer than float32 near 1, coarser than what float64 loses


def norms(vectors: Floats) -> Doubles:
    """The length of each row."""
    out = np.empty(len(vectors), np.float64)
    for first in range(0, len(vectors), BLOCK_ROWS):
        rows = vectors[first : first + BLOCK_ROWS].astype(np.float64)
        out[first : first + BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return out


def directed(lengths: Doubles) -> NDArray[np.bool_]:
    """Whether vectors of these lengths have a direction."""
    return (lengths > 0) & (lengths < np.inf)


def unit(vector: ArrayLike) -> Doubles:
    """The vector divided by its length."""
    wide = np.asarray(vector, dtype=np.float64)
    norm = float(np.sqrt(wide @ wide))
    return wide / norm if 0 < norm < np.inf else np.zeros_like(wide)


def rounded(cosines: Doubles) -> Floats:
    """Cosines as float32, without what the order of additions has left behind: equal ones are equal."""
    return (np.rint(cosines * GRID) / GRID).astype(np.float32)


def units(vectors: ArrayLike) -> Doubles:
    """Each row divided by its length."""
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))[:, None]
    known = directed(lengths)
    return np.where(known, wide, 0.0) / np.where(known, lengths, 1.0)


def cosines_with(unit: Doubles, vectors: Floats, norms: Doubles) -> Floats:
    """The cosine of a unit vector with every row, by one product in float32; 0 without a direction."""
    usual = (norms > SMALL) & (norms < LARGE)
    with np.errstate(all="ignore"):
        products = vectors @ unit.astype(np.float32)
    cosines = np.divide(products, norms, out=np.zeros(len(vectors)), where=usual).astype(np.float32)
    odd = np.flatnonzero(~usual)
    cosines[odd] = (units(vectors[odd]) @ unit).astype(np.float32)
    return cosines
