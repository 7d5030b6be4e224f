"""The two hashes of character n-grams: fastText's (32-bit FNV-1a) and floret's (128-bit Murmur 3).

fastText's hash has a slip, which cannot be mended because existing files depend on it: each byte is
sign-extended before it is mixed in, so a byte above 127 also flips the upper 24 bits.

References: Fowler, Noll & Vo, FNV hash; Appleby, MurmurHash3_x64_128.
"""

from typing import Any

import numpy as np

from unhot.kernels.jit import inner
from unhot.types import Bytes

_LOW = np.uint64(0xFFFFFFFF)
FNV_START, _FNV_PRIME = np.uint64(2166136261), np.uint64(16777619)
_SIGN = np.uint64(0xFFFFFF00)
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_N1, _N2 = np.uint64(0x52DCE729), np.uint64(0x38495AB5)
_M1, _M2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_5, _8, _27, _31, _32, _33, _64 = (np.uint64(n) for n in (5, 8, 27, 31, 32, 33, 64))


@inner
def fnv_step(state: Any, byte: Any) -> Any:
    """Return the hash of some bytes plus one more; `state` is the hash so far, FNV_START at the beginning."""
    value = np.uint64(byte)
    if byte > 127:
        value |= _SIGN
    return ((state ^ value) * _FNV_PRIME) & _LOW


@inner
def murmur(text: Bytes, start: Any, stop: Any, seed: Any) -> Any:
    """Return the 128-bit hash of text[start:stop] as two 64-bit numbers."""
    h1 = h2 = np.uint64(seed)
    length = stop - start
    blocks = length // 16
    for block in range(blocks):
        at = start + 16 * block
        h1 = (_rotate(h1 ^ _mixed(_bytes(text, at, 8), _31, _C1, _C2), _27) + h2) * _5 + _N1
        h2 = (_rotate(h2 ^ _mixed(_bytes(text, at + 8, 8), _33, _C2, _C1), _31) + h1) * _5 + _N2
    at, rest = start + 16 * blocks, length - 16 * blocks
    if rest > 8:
        h2 ^= _mixed(_bytes(text, at + 8, rest - 8), _33, _C2, _C1)
    if rest > 0:
        h1 ^= _mixed(_bytes(text, at, min(rest, 8)), _31, _C1, _C2)
    h1 ^= np.uint64(length)
    h2 ^= np.uint64(length)
    h1 += h2
    h2 += h1
    h1, h2 = _scattered(h1), _scattered(h2)
    h1 += h2
    h2 += h1
    return h1, h2


@inner
def quarter(h1: Any, h2: Any, number: Any) -> Any:
    """Return one of the four 32-bit parts of a 128-bit hash."""
    half = h1 if number < 2 else h2
    return half >> _32 if number % 2 else half & _LOW


@inner
def _bytes(text: Bytes, at: Any, count: Any) -> Any:
    """Return up to eight bytes as a number; the first byte is the lowest."""
    out = np.uint64(0)
    for i in range(count):
        out |= np.uint64(text[at + i]) << (_8 * np.uint64(i))
    return out


@inner
def _rotate(bits: Any, by: Any) -> Any:
    return (bits << by) | (bits >> (_64 - by))


@inner
def _mixed(bits: Any, by: Any, first: Any, second: Any) -> Any:
    return _rotate(bits * first, by) * second


@inner
def _scattered(bits: Any) -> Any:
    bits = (bits ^ (bits >> _33)) * _M1
    bits = (bits ^ (bits >> _33)) * _M2
    return bits ^ (bits >> _33)
