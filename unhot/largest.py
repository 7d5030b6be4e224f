"""The places of the largest numbers: one order for every top-k of an array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORT = 1 << 10  # fewer numbers are sorted as a whole


def largest(values: NDArray[Any], k: int | None = None) -> NDArray[np.intp]:
    """Return the places of the k largest numbers along the last axis, largest first; None: of all.

    Of equal numbers, the one at the smaller place comes first. NaN comes last.

    >>> largest(np.array([1, 3, 2, 3]), 3).tolist()
    [1, 3, 2]
    """
    falling, size = -values, values.shape[-1]
    if k is None or not 0 < k < size or size < SHORT or not values.size:
        return np.argsort(falling, axis=-1, kind="stable")[..., :k]
    if values.ndim > 1:
        return np.apply_along_axis(largest, -1, values, k)
    near = np.flatnonzero(~(falling > np.partition(falling, k - 1)[k - 1]))  # in rising order, with all ties
    return near[np.argsort(falling[near], kind="stable")[:k]]
