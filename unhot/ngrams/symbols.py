"""The three symbols of a language model, and the order in which the words of a trie are sorted.

Words have the ids 3, 4, ...: the ids of the corpus, moved by three. Lines are `<s>` word ... word `</s>`.

The n-grams that continue the same n-gram are sorted by the *key* of their last word, not by its id:

    key = (id * multiplier) mod 2^bits

The multiplier is odd, so keys and ids are one to one. It is near 2^bits times the golden ratio, so the keys
of any words are spread evenly over 0 .. 2^bits - 1. A key then nearly says where it stands in a sorted list:
`seek` guesses its place, then doubles the steps, then halves them.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import generic, inner
from unhot.lm.symbols import BEGIN_WORD, END_WORD, UNKNOWN_WORD
from unhot.lm.symbols import UNKNOWN as UNKNOWN

BEGIN, END = 1, 2
SYMBOLS = (UNKNOWN_WORD, BEGIN_WORD, END_WORD)
GOLDEN = (5**0.5 - 1) / 2


class Keys(NamedTuple):
    """How ids become keys."""

    bits: int
    multiplier: int
    inverse: int  # id = (key * inverse) mod 2^bits


def keys_of(words: int) -> Keys:
    """Return the keys for ids below `words`."""
    bits = max(2, (words - 1).bit_length())
    multiplier = int(GOLDEN * (1 << bits)) | 1
    return Keys(bits, multiplier, pow(multiplier, -1, 1 << bits))


@inner
def key_of(keys: Any, word: Any) -> Any:
    """Return the key of a word."""
    return (word * keys.multiplier) & ((1 << keys.bits) - 1)


def word_of(keys: Any, key: Any) -> Any:
    """Return the word of a key, or the words of an array of keys."""
    return (key * keys.inverse) & ((1 << keys.bits) - 1)


word_of_key = inner(word_of)


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
