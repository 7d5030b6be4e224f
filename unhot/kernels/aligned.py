"""Arrays in the memory layouts that kernels need: aligned to cache lines, or flat.

Aligned arrays begin at a cache line and share no line with other arrays.

A vector that lies across two lines costs two accesses. Two threads that write to different arrays in one line
slow each other down.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from unhot.kernels.simd.lanes import LINE

PAIR = 2 * LINE  # the processor fetches lines in pairs


def aligned_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> Any:
    """Return an array of zeros, as `np.zeros` does, aligned to a pair of cache lines."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 2 * PAIR, np.uint8)
    first = -raw.ctypes.data % PAIR
    return raw[first : first + size].view(dtype).reshape(shape)


def flat_numbers(matrix: NDArray[Any]) -> tuple[NDArray[Any], int]:
    """Return all numbers of a matrix as one flat read-only array, and where in it row 1 begins.

    Row r begins at r times that place. This is one array type for all matrices, so that nothing is compiled
    twice. The matrix must not be empty; it is copied only if its rows are not contiguous.
    """
    dim, size = matrix.shape[1], matrix.itemsize
    if matrix.strides[1] != size or matrix.strides[0] < size * dim or matrix.strides[0] % size:
        matrix = np.ascontiguousarray(matrix)
    stride = matrix.strides[0] // size
    shape = ((len(matrix) - 1) * stride + dim,)
    return np.lib.stride_tricks.as_strided(matrix, shape, (size,), writeable=False).view(np.ndarray), stride
