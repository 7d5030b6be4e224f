"""Cut bytes into tokens some hundred bytes ahead of their use, and prefetch where they are looked up."""

from typing import Any

import numpy as np

from unhot.corpus.reading.scanner import first_slot, separators, word_key
from unhot.corpus.reading.separators import WIDTH
from unhot.kernels.jit import inner
from unhot.kernels.simd.ids import first_bit
from unhot.kernels.simd.rows import prefetch_number
from unhot.types import Starts, Words64

ZERO, ONE = np.uint64(0), np.uint64(1)
AHEAD = 4 * WIDTH  # bytes that are cut into tokens at once
LINE_FEED = 0  # instead of the length of a token


def token_room() -> tuple[Starts, Words64]:
    """Return room for what `find_tokens` finds: where tokens begin and their lengths, and their keys."""
    return np.zeros((2 * AHEAD, 2), np.int64), np.zeros(2 * AHEAD, np.uint64)


@inner
def find_tokens(
    text: Any, base: Any, size: Any, rows: Any, start: Any, words: Any, token: Any, keys: Any
) -> Any:
    """Cut AHEAD bytes into tokens and line ends, and prefetch the slots of their words.

    `start` is where the open token begins, -1: no token is open. Returns the number of tokens, and `start`
    for the bytes that follow. `rows` defines the separators (separators.py).
    """
    n = 0
    for at in range(base, min(base + AHEAD, size), WIDTH):
        special, blank = separators(text, at, size, rows)
        before = (blank << ONE) | np.uint64(start < 0)
        starts, ends = before & ~blank, blank & ~before
        if start < 0 and starts != ZERO:
            start = at + first_bit(starts)
            starts &= starts - ONE
        events = ends | special
        while events != ZERO:
            bit = first_bit(events)
            lowest = events & (~events + ONE)
            events ^= lowest
            if ends & lowest != ZERO:
                length = at + bit - start
                token[n, 0], token[n, 1] = start, length
                key = word_key(text, start, length)
                keys[n] = key
                prefetch_number(words.slots, 2 * first_slot(words, key))
                n += 1
                start = -1
                if starts != ZERO:
                    start = at + first_bit(starts)
                    starts &= starts - ONE
            if special & lowest != ZERO and text[at + bit] == rows[0]:
                token[n, 1] = LINE_FEED
                n += 1
    return n, start
