"""Hashes of words and of runs of words, as fastText computes them, in plain Python.

If h_i is the hash of word i, as a signed 32-bit number, the hash of the run of the words i to j is

    (... (h_i P + h_i+1) P + ... + h_j)  mod 2^64,    P = 116049371

run_buckets.py computes the same in compiled code.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

from unhot.vocab.vocabulary import encode_word

T = TypeVar("T")
HASH_START, HASH_FACTOR = 2166136261, 16777619  # for hashes of words
RUN_FACTOR = 116049371  # for hashes of runs of words
MOST_KEPT, LONGEST_KEPT = 1 << 16, 64  # how many words are cached, and how long they may be
LOW_32, LOW_64 = 2**32 - 1, 2**64 - 1


def remembered(function: Callable[[str], T]) -> Callable[[str], T]:
    """Return the function with a cache for short words.

    A few words make up most of a text. Long words are not cached, because they have many n-grams.
    """
    kept = functools.lru_cache(MOST_KEPT)(function)

    @functools.wraps(function)
    def remembering(word: str) -> T:
        return kept(word) if len(word) <= LONGEST_KEPT else function(word)

    return remembering


@remembered
def word_hash(word: str) -> int:
    """Return the 32-bit FNV-1a hash with fastText's slip: a byte above 127 also flips the upper 24 bits."""
    state = HASH_START
    for byte in encode_word(word):
        state = ((state ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * HASH_FACTOR) & LOW_32
    return state


def run_hashes(words: Sequence[str], longest: int) -> list[int]:
    """Return 64-bit hashes of all runs of 2 to `longest` words, ordered by first word, then by length."""
    signed = [state - 2**32 if state >= 2**31 else state for state in map(word_hash, words)]
    out = []
    for i, state in enumerate(signed):
        for following in signed[i + 1 : i + longest]:
            state = (state * RUN_FACTOR + following) & LOW_64
            out.append(state)
    return out
