"""Find a key among sorted, evenly spread keys: guess its place, then double the steps, then halve them."""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import generic, inner


class Sorted(NamedTuple):
    """Keys in an array."""

    keys: Any


@generic
def key_at(entries: Any, i: Any) -> Any:
    """Return the key of entry i."""


@key_at.register(Sorted)
def sorted_key(entries: Any, i: Any) -> Any:
    """Return the key as it is."""
    return np.int64(entries.keys[i])


@inner
def seek(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> Any:
    """Return the first place from low to high - 1 whose key is not below `key`; high: there is none."""
    if low == high:
        return high
    at = low + ((key * (high - low)) >> bits)
    step = np.int64(1)
    if key_at(entries, at) < key:
        low = at + 1
        while low + step < high and key_at(entries, low + step) < key:
            low += step + 1
            step *= 2
        high = min(high, low + step)
    else:
        high = at
        while high - step >= low and key_at(entries, high - step) >= key:
            high -= step
            step *= 2
        low = max(low, high - step)
    while low < high:
        middle = (low + high) >> 1
        if key_at(entries, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def bucket_of(total: Any) -> Any:
    """Return floor(log2(total)) of a number of at least one."""
    bucket = 0
    while total >= 2.0:
        total *= 0.5
        bucket += 1
    return bucket
