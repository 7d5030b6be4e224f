"""Lengths of vectors, unit vectors, and cosines.

Lengths are computed in float64, where squares of float32 numbers neither overflow nor underflow. A vector
of length zero has no direction: its unit vector is all zeros, and so are its cosines. A vector with a number
that is not finite has none either: its unit vector and its cosines are NaN.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from unhot.types import Doubles, Floats

BLOCK_ROWS = 1 << 12  # rows squared at a time, so that the norms of a mapped matrix need little memory

SMALL, LARGE = 1e-15, 1e15  # between these row lengths, float32 neither overflows nor loses digits
GRID = 2.0**32  # 1 / GRID is finer than float32 near 1, and coarser than rounding errors of float64


def norms(vectors: Floats | Doubles) -> Doubles:
    """Return the length of each row."""
    out = np.empty(len(vectors), np.float64)
    for first in range(0, len(vectors), BLOCK_ROWS):
        rows = vectors[first : first + BLOCK_ROWS].astype(np.float64)
        out[first : first + BLOCK_ROWS] = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return out


def directed(lengths: Doubles) -> NDArray[np.bool_]:
    """Return whether vectors of these lengths have a direction."""
    return (lengths > 0) & (lengths < np.inf)


def unit(vector: ArrayLike) -> Doubles:
    """Return the vector divided by its length: zeros if that is zero, NaN if it is not finite."""
    wide = np.asarray(vector, dtype=np.float64)
    with np.errstate(over="ignore"):  # only numbers beyond float32 can be that large
        norm = float(np.sqrt(wide @ wide))
    if not norm < np.inf:
        return np.full_like(wide, np.nan)
    return wide / norm if norm else wide * 0.0


def rounded(cosines: Doubles) -> Floats:
    """Round cosines to float32, so that equal ones stay equal whatever the order of additions was."""
    return (np.rint(cosines * GRID) / GRID).astype(np.float32)


def units(vectors: ArrayLike, lengths: Doubles | None = None, dtype: DTypeLike = np.float64) -> NDArray[Any]:
    """Return each row divided by its length; rows of zeros stay zeros, rows that are not finite are NaN.

    `lengths`: what `norms` returned for these rows. The quotients are computed in float64.
    """
    rows = np.asarray(vectors)
    lengths = norms(rows) if lengths is None else lengths
    divisors = np.where(lengths < np.inf, lengths, np.nan)[:, None]
    out: NDArray[Any] = np.zeros(rows.shape, dtype)
    np.divide(rows, divisors, out=out, where=divisors != 0, casting="same_kind")
    return out


def without_nan(units: Doubles) -> tuple[Doubles, NDArray[np.bool_]]:
    """Return unit vectors with zeros in place of NaN, and which of them were NaN."""
    lost = np.isnan(units.sum(axis=1))
    return np.where(lost[:, None], 0.0, units), lost


def cosines_with(unit: Doubles, vectors: Floats, norms: Doubles) -> Floats:
    """Return the cosine of a unit vector with every row, by one float32 product; see above for odd rows."""
    usual = (norms > SMALL) & (norms < LARGE)
    with np.errstate(all="ignore"):
        products = vectors @ unit.astype(np.float32)
    cosines = np.divide(products, norms, out=np.zeros(len(vectors)), where=usual).astype(np.float32)
    odd = np.flatnonzero(~usual)
    cosines[odd] = (units(vectors[odd]) @ unit).astype(np.float32)
    return cosines
