"""Random streams: SplitMix64, a counter put through a mixing function.

    state += GAMMA;  bits = mix(state)

With a counter, it is cheap to give every chunk of the corpus its own stream (`stream_key`). Its draws
then depend on the seed, the epoch and the chunk, never on the thread that trains it. It is also cheap to
compute the bits of one position (`bits_at`) without drawing the bits before it.

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
    """Mix the bits of a 64-bit word: a bijection that looks random."""
    z = (z ^ (z >> _30)) * _FIRST
    z = (z ^ (z >> _27)) * _SECOND
    return z ^ (z >> _31)


@inner
def bits_at(key: Any, position: Any) -> Any:
    """Return the 64 random bits of a position in the stream `key`."""
    return mix(key + np.uint64(position) * GAMMA)


@inner
def below(bits: Any, n: Any) -> Any:
    """Return an integer in 0 .. n - 1 from 64 random bits, n < 2**32.

    It is the upper half of the 128-bit product bits * n.
    """
    n = np.uint64(n)
    return np.int64(((bits >> _32) * n + (((bits & _LOW) * n) >> _32)) >> _32)


def stream_key(seed: int, epoch: int, purpose: int) -> np.uint64:
    """Return the key of the stream for one purpose in an epoch.

    Purpose 0 is windows, 1 + n the candidates of chunk n, -1 - n the order of the stretch at position n.
    """
    key = 0
    for part in (seed, epoch, purpose):
        key = _mix_integer(key + part + int(GAMMA))
    return np.uint64(key)


def key_from(key: np.uint64, position: int) -> np.uint64:
    """Return the key whose position 0 has the bits of `position` under the given key."""
    return np.uint64((int(key) + position * int(GAMMA)) & (2**64 - 1))


def bits_at_integer(key: int, position: int) -> int:
    """Compute `bits_at` with Python integers, for use outside kernels."""
    return _mix_integer(key + position * int(GAMMA))


def _mix_integer(z: int) -> int:
    """Compute `mix` with Python integers."""
    z &= 2**64 - 1
    z = ((z ^ (z >> 30)) * int(_FIRST)) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * int(_SECOND)) & (2**64 - 1)
    return z ^ (z >> 31)
