"""The windows of an encoded text as arrays, one chunk at a time.

The same ones as `unhot.corpus.pairs` and as in training.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.kernels.jit import kernel
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import (
    Chunk,
    Hot,
    Text,
    Window,
    contexts_of,
    keep_threshold,
    keep_words,
    kept_buffer,
)
from unhot.types import Doubles, Ids

NOT_COPIED = Hot(0, 0, 0, 0, 0, 0)
NONE_FROZEN = np.zeros(0, np.uint8)


class Windows(NamedTuple):
    """Centres that see at least one word, and what they see, one after the other."""

    centres: Ids
    sizes: Ids  # how many words each centre sees
    contexts: Ids  # [sum of sizes]


def read_windows(
    corpus: Corpus, window: Window, keep: Doubles, seed: int, room: int
) -> Iterator[tuple[Windows, int]]:
    """The windows of a text, and how many positions of it are done.

    About `room` contexts at a time, whatever the window.
    """
    key, threshold, done = stream_key(seed, 0, 0), keep_threshold(keep), 0
    longest = max(shard.ids.size for shard in corpus.shards)
    size = min(longest, max(1, room // (2 * window.size)))
    kept = kept_buffer(size, window.size)
    buffer = Windows(*(np.empty(length, np.int32) for length in (size, size, 2 * window.size * size)))
    for shard in corpus.shards:
        text, bits = Text(shard.ids, shard.starts, threshold), key_from(key, done)
        starts = np.arange(0, shard.ids.size, size)
        sentences = np.searchsorted(shard.starts, starts, side="right") - 1
        for start, sentence in zip(starts.tolist(), sentences.tolist(), strict=True):
            stop = min(start + size, shard.ids.size)
            chunk = Chunk(start, stop, sentence, bits, np.uint64(0), np.float32(0.0), NOT_COPIED, NONE_FROZEN)
            centres, contexts = _fill(text, window, chunk, kept, buffer)
            yield (
                Windows(buffer.centres[:centres], buffer.sizes[:centres], buffer.contexts[:contexts]),
                done + stop,
            )
        done += shard.ids.size


@kernel
def _fill(text: Any, window: Any, chunk: Any, kept: Any, out: Any) -> Any:
    """Write down the windows of a chunk; returns how many centres and how many contexts there are."""
    centres, contexts = 0, 0
    for centre in range(window.size, keep_words(text, chunk, window, kept)):
        size = contexts_of(kept, centre)
        if size > 0:
            out.centres[centres], out.sizes[centres] = kept.word[centre], size
            centres += 1
            left = max(kept.begin[centre], centre - kept.reach[centre])
            for place in range(left, left + size + 1):
                if place != centre:
                    out.contexts[contexts] = kept.word[place]
                    contexts += 1
    return centres, contexts
