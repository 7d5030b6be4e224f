"""The compiled part of `subwords.py`: hash the n-grams of words into buckets."""

from typing import Any

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.vocab.hashes import FNV_START, fnv_step, murmur, quarter


@kernel
def fill_ids(text: Any, offsets: Any, settings: Any, starts: Any, ids: Any) -> Any:
    """Write the buckets of all words to `ids`; return the position after the last one.

    Word i is text[offsets[i] : offsets[i + 1]], and its buckets begin at ids[starts[i]].
    """
    at = starts[0]
    for word in range(offsets.size - 1):
        at = put_ids(text, offsets[word], offsets[word + 1], settings, ids, starts[word], starts[word + 1])
    return at


@inner
def put_ids(text: Any, begin: Any, end: Any, settings: Any, ids: Any, at: Any, stop: Any) -> Any:
    """Write the buckets of one word, text[begin:end], to ids[at:stop]; return the position after the last."""
    if settings.hashes > 0:
        at = _put_murmur(text, begin, end, settings, ids, at)
    at, _ = put_from(text, begin, end, begin, settings, ids, at, stop)
    return at


@inner
def put_from(text: Any, begin: Any, end: Any, first: Any, settings: Any, ids: Any, at: Any, stop: Any) -> Any:
    """Write the buckets of the n-grams that begin at `first` or later to ids[at:], until `stop` is reached.

    All n-grams that begin at the same character are written, if one is. Return the position after the last
    one, and where the next n-gram begins; `end`: there is none.
    """
    while first < end and at < stop:
        state = FNV_START
        last, n = first, 0
        while last < end and n < settings.maxn:
            state = fnv_step(state, text[last])
            last, n = last + 1, n + 1
            while last < end and text[last] & 0xC0 == 0x80:
                state = fnv_step(state, text[last])
                last += 1
            if n >= settings.minn and not (n == 1 and (first == begin or last == end)):
                if settings.hashes > 0:
                    at = _put_murmur(text, first, last, settings, ids, at)
                else:
                    ids[at] = state % np.uint64(settings.buckets)
                    at += 1
        first += 1
        while first < end and text[first] & 0xC0 == 0x80:
            first += 1
    return at, first


@inner
def _put_murmur(text: Any, start: Any, stop: Any, settings: Any, ids: Any, at: Any) -> Any:
    """Write the buckets of one piece with floret's hash; return where the next piece's buckets go."""
    h1, h2 = murmur(text, start, stop, settings.seed)
    for number in range(settings.hashes):
        ids[at + number] = quarter(h1, h2, number) % np.uint64(settings.buckets)
    return at + settings.hashes
