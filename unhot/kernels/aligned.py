"""Arrays that begin at a cache line and share no line with other arrays.

A vector that lies across two lines costs two accesses. Two threads that write to different arrays in one line
slow each other down.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from unhot.kernels.simd.lanes import LINE

PAIR = 2 * LINE  # the processor fetches lines in pairs


def aligned_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> Any:
    """Return an array of zeros, as `np.zeros` does, aligned to a pair of cache lines."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 2 * PAIR, np.uint8)
    first = -raw.ctypes.data % PAIR
    return raw[first : first + size].view(dtype).reshape(shape)
