"""Read and write the matrices of fastText's files: dense ones, and product-quantised ones as in `.ftz` files.

A dense matrix is int64 rows, int64 columns, then float32 numbers, row by row. Reading maps it, and it may
begin at any byte. NumPy and Numba accept such unaligned arrays, but `np.take` would copy the whole matrix
first.

In a quantised matrix, a row is cut into pieces of `width` numbers (the last piece may be shorter), and each
piece is stored as the number (code) of one of 256 centroids. The length of the row may be stored separately,
as the code of one of 256 lengths; the centroids then describe unit rows.

    row[i] = length[length_codes[i]] * (centroids_0[codes[i, 0]], centroids_1[codes[i, 1]], ...)

In a file: bool separate lengths, int64 rows, int64 columns, int32 bytes of codes, codes, quantiser; with
separate lengths also a code for each row and a quantiser of one number. A quantiser is int32 dim, pieces,
width, width of the last piece, then 256 dim numbers of centroids.

Reference: Jegou, Douze & Schmid, Product quantization for nearest neighbor search, 2011; Joulin et al.,
FastText.zip, 2016.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.types import Bytes, Floats, Ids, Starts
from unhot.vectors.formats.fasttext.header import Cursor
from unhot.vectors.formats.table import blocks

CENTROIDS = 256


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


class Quantizer(NamedTuple):
    """The centroids of all pieces."""

    dim: int
    width: int  # numbers in a piece
    centroids: Floats  # [256 dim]: the centroids of the first piece, then of the second, ...

    @property
    def pieces(self) -> int:
        """The number of pieces of a row, and so of its codes."""
        return -(-self.dim // self.width)

    @property
    def last(self) -> int:
        """The number of numbers in the last piece."""
        return self.dim - (self.pieces - 1) * self.width

    def rows(self, codes: Bytes) -> Floats:
        """Return the rows with the given codes."""
        cut, count = self.dim - self.last, len(codes)
        table = np.asarray(self.centroids[: CENTROIDS * cut]).reshape(-1, CENTROIDS, self.width)
        out = np.empty((count, self.dim), np.float32)
        out[:, :cut] = table[np.arange(self.pieces - 1), codes[:, :-1]].reshape(count, cut)
        out[:, cut:] = self.centroids[CENTROIDS * cut :].reshape(CENTROIDS, self.last)[codes[:, -1]]
        return out


class QuantizedMatrix(NamedTuple):
    """A matrix whose rows are stored as codes."""

    shape: tuple[int, int]
    codes: Bytes  # [rows, pieces]
    quantizer: Quantizer
    length_codes: Bytes | None = None  # [rows]
    lengths: Quantizer | None = None

    def rows(self, ids: Ids | Starts) -> Floats:
        """Return some rows as float32."""
        found = self.quantizer.rows(self.codes[ids])
        if self.lengths is not None and self.length_codes is not None:
            found *= self.lengths.rows(self.length_codes[ids][:, None])
        return found


def read_quantized(cursor: Cursor, shape: tuple[int, int], which: str) -> QuantizedMatrix:
    """Map a quantised matrix, which must have this shape."""
    apart = cursor.flag(f"whether the {which} matrix has separate lengths")
    read_shape(cursor, shape, which)
    rows, dim = shape
    at = cursor.at
    (size,) = cursor.numbers("i", "the size of the codes")
    if size < 0 or (size % rows if rows else size):
        raise cursor.error(at, f"{size} bytes of codes for {rows} rows: must be a multiple of the rows")
    codes = cursor.array("u1", size, f"{size} bytes of codes")
    quantizer = _read_quantizer(cursor, dim)
    if size != rows * quantizer.pieces:
        raise cursor.error(
            at,
            f"there are {size} bytes of codes, but {rows} rows of {quantizer.pieces} pieces need "
            f"{rows * quantizer.pieces}",
        )
    codes = codes.reshape(rows, quantizer.pieces)
    if not apart:
        return QuantizedMatrix(shape, codes, quantizer)
    length_codes = cursor.array("u1", rows, "the codes of the lengths")
    return QuantizedMatrix(shape, codes, quantizer, length_codes, _read_quantizer(cursor, 1))


def _read_quantizer(cursor: Cursor, dim: int) -> Quantizer:
    at = cursor.at
    found, pieces, width, last = cursor.numbers("4i", "the sizes of a quantiser")
    if (
        found != dim
        or not 1 <= width <= dim
        or pieces != -(-dim // width)
        or last != dim - (pieces - 1) * width
    ):
        raise cursor.error(
            at,
            f"the quantiser is for {found} numbers in {pieces} pieces of {width}, the last of {last}: "
            f"rows have {dim} numbers, and the pieces must add up to a row",
        )
    centroids = cursor.array("<f4", CENTROIDS * dim, f"the {CENTROIDS} centroids of {dim} numbers")
    return Quantizer(dim, width, centroids)


def quantized_chunks(matrix: QuantizedMatrix) -> Iterator[bytes]:
    """Yield the bytes of a quantised matrix in chunks."""
    yield struct.pack("<B2qi", matrix.lengths is not None, *matrix.shape, matrix.codes.size)
    yield matrix.codes.tobytes()
    yield _pack(matrix.quantizer)
    if matrix.lengths is not None and matrix.length_codes is not None:
        yield matrix.length_codes.tobytes()
        yield _pack(matrix.lengths)


def _pack(quantizer: Quantizer) -> bytes:
    sizes = struct.pack("<4i", quantizer.dim, quantizer.pieces, quantizer.width, quantizer.last)
    return sizes + quantizer.centroids.astype("<f4", copy=False).tobytes()
