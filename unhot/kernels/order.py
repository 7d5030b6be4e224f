"""A random order of 0 .. count - 1 without a list: each place is computed from a key.

A Feistel network is a bijection of the pairs (left, right) of numbers of `half` bits, whatever its round
function f:

    left, right = right, left xor f(right)

Pairs that stand for a number of `count` or more are put through it again, until one stands for less. The
network permutes the numbers below 4**half in cycles, so this is a bijection of the numbers below `count`.

Reference: Black and Rogaway, Ciphers with arbitrary finite domains, 2002.
"""

from typing import Any

import numpy as np

from unhot.kernels.jit import inner
from unhot.kernels.rng import bits_at

ROUNDS = 4


@inner
def shuffled(key: Any, place: Any, count: Any) -> Any:
    """Return which of the numbers 0 .. count - 1 stands at a place of the order."""
    half = 1
    while 1 << (2 * half) < count:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for turn in range(ROUNDS):
            bits = bits_at(key, (turn << half) | right) & np.uint64(mask)
            left, right = right, left ^ np.int64(bits)
        place = (left << half) | right
        if place < count:
            return place
