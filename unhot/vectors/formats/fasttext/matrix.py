"""Read and write dense matrices: int64 rows, int64 columns, then float32 numbers, row by row.

Reading maps a matrix, which may begin at any byte. NumPy and Numba accept such unaligned arrays, but
`np.take` would copy the whole matrix first.
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
    """A matrix to write that is never in memory as a whole."""

    shape: tuple[int, int]
    blocks: Iterable[Floats]  # [any, columns]; together they have shape[0] rows


def read_shape(cursor: Cursor, expected: tuple[int, int], which: str) -> None:
    """Read the shape of a matrix; raise a `FormatError` if it is not the expected one."""
    at = cursor.at
    found = cursor.numbers("2q", f"the shape of the {which} matrix")
    if found != expected:
        raise cursor.error(
            at,
            f"the {which} matrix has {found[0]} rows of {found[1]} numbers; "
            f"according to header and dictionary it must have {expected[0]} rows of {expected[1]}",
        )


def read_dense(cursor: Cursor, shape: tuple[int, int], which: str) -> Floats:
    """Map a dense matrix, which must have this shape."""
    read_shape(cursor, shape, which)
    what = f"the {which} matrix of {shape[0]} rows of {shape[1]} numbers"
    return cursor.array("<f4", shape[0] * shape[1], what).reshape(shape)


def dense_chunks(matrix: Floats | RowBlocks) -> Iterator[bytes]:
    """Yield the bytes of a dense matrix in chunks."""
    rows, dim = matrix.shape
    yield struct.pack("<2q", rows, dim)
    done = 0
    for block in matrix.blocks if isinstance(matrix, RowBlocks) else (block for _, block in blocks(matrix)):
        if block.ndim != 2 or block.shape[1] != dim or block.dtype != np.float32:
            raise DataError(
                f"a block has shape {block.shape} and type {block.dtype}: give rows of {dim} float32 numbers"
            )
        done += len(block)
        yield np.ascontiguousarray(block, "<f4").tobytes()
    if done != rows:
        raise DataError(
            f"the blocks have {done} rows together, but the matrix has {rows}: give as many rows as its "
            "shape says"
        )
