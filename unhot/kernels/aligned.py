"""Arrays that begin at cache lines and share none with their neighbours.

A vector that lies across two lines costs two accesses; two threads that write to different arrays in one line
fight over it.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from unhot.kernels.simd.lanes import LINE

PAIR = 2 * LINE  # lines are fetched in pairs


def aligned_zeros(shape: int | tuple[int, ...], dtype: DTypeLike = np.float32) -> Any:
    """Like `np.zeros`."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 2 * PAIR, np.uint8)
    first = -raw.ctypes.data % PAIR
    return raw[first : first + size].view(dtype).reshape(shape)
