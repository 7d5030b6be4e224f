"""Random streams: SplitMix64, a counter put through a mixing function.

    state += GAMMA;  bits = mix(state)

The counter makes it cheap to give every chunk of the corpus its own stream (`stream_key`), so that what a
chunk draws depends on the seed, the epoch and the chunk, never on the thread that happens to train it; and to
ask for the bits that belong to a position (`bits_at`) without drawing those before it.

Reference: Steele, Lea & Flood, Fast splittable pseudorandom number generators, 2014.
"""

from typing import Any

import numpy as np

from unhot.kernels.jit import inner

GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30 = np.uint64(27), np.uint64(30)
_31, _32 = np.uint64(31), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@inner
def mix(z: Any) -> Any:
    """A bijection of 64-bit words that looks random."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@inner
def bits_at(key: Any, position: Any) -> Any:
    """64 random bits that belong to a position of the stream `key`."""
    return mix(key + np.uint64(position) * GAMMA)


@inner
def below(bits: Any, n: Any) -> Any:
    """An integer in 0 .. n - 1 from 64 random bits, n < 2**32.

    The upper half of the 128-bit product bits * n.
    """
    n = np.uint64(n)
    return np.int64(((bits >> _32) * n + (((bits & _LOW) * n) >> _32)) >> _32)


def stream_key(seed: int, epoch: int, purpose: int) -> np.uint64:
    """Return the key of the stream of an epoch for one purpose.

    0 is for windows, 1 + n for the candidates of chunk n, -1 - n for the order of the stretch at position n.
    """
    key = 0
    for part in (seed, epoch, purpose):
        key = _mix_integer(key + part + int(GAMMA))
    return np.uint64(key)


def key_from(key: np.uint64, position: int) -> np.uint64:
    """The key under which position 0 has the bits that `position` has under the given one."""
    return np.uint64((int(key) + position * int(GAMMA)) & (2**64 - 1))


def bits_at_integer(key: int, position: int) -> int:
    """`bits_at` in Python's integers, for use outside kernels."""
    return _mix_integer(key + position * int(GAMMA))


def _mix_integer(z: int) -> int:
    """`mix` in Python's integers."""
    z &= 2**64 - 1
    z = ((z ^ (z >> 30)) * int(_FIRST)) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * int(_SECOND)) & (2**64 - 1)
    return z ^ (z >> 31)
