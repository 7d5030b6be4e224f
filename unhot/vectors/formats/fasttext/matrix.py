"""Dense matrices: int64 rows, int64 columns, then the numbers row by row in float32.

A matrix that is read is mapped and may begin at any byte: NumPy and Numba take such arrays, but `np.take`
would copy all of it first.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.types import Floats
from unhot.vectors.formats.fasttext.cursor import Cursor
from unhot.vectors.formats.table import blocks


class RowBlocks(NamedTuple):
    """A matrix to be written that is never in memory as a whole."""

    shape: tuple[int, int]
    blocks: Iterable[Floats]  # [any, columns], so many rows in all


def read_shape(cursor: Cursor, expected: tuple[int, int], which: str) -> None:
    """Read the shape of a matrix, which must be the one that the header and the dictionary say."""
    at = cursor.at
    found = cursor.numbers("2q", f"the shape of the {which} matrix")
    if found != expected:
        raise cursor.error(
            at,
            f"the {which} matrix has {found[0]} rows of {found[1]} numbers; "
            f"by the header and the dictionary it must have {expected[0]} rows of {expected[1]}",
        )


def read_dense(cursor: Cursor, shape: tuple[int, int], which: str) -> Floats:
    """Map a matrix that must be of this shape."""
    read_shape(cursor, shape, which)
    what = f"the {which} matrix of {shape[0]} rows of {shape[1]} numbers"
    return cursor.array("<f4", shape[0] * shape[1], what).reshape(shape)


def dense_chunks(matrix: Floats | RowBlocks) -> Iterator[bytes]:
    """The bytes of a matrix, in chunks."""
    rows, dim = matrix.shape
    yield struct.pack("<2q", rows, dim)
    done = 0
    for block in matrix.blocks if isinstance(matrix, RowBlocks) else (block for _, block in blocks(matrix)):
        if block.ndim != 2 or block.shape[1] != dim or block.dtype != np.float32:
            raise DataError(
                f"a block of shape {block.shape} and type {block.dtype}: rows of {dim} float32 numbers are "
                "needed"
            )
        done += len(block)
        yield np.ascontiguousarray(block, "<f4").tobytes()
    if done != rows:
        raise DataError(
            f"blocks of {done} rows in all for a matrix of {rows}: give as many as its shape says"
        )
