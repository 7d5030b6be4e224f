"""The examples of a chunk written down, for engines that train batches.

Each centre that sees a word, with all the words it sees.

They are the windows of the compiled loop: the same random bits decide which tokens survive and how far each
centre sees, so both engines train on the same pairs with the same seed. Skip-gram's pairs are every centre
with every word of its window, a CBOW example is a window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import kernel
from unhot.kernels.windows import (
    Chunk,
    Hot,
    Kept,
    Text,
    Window,
    contexts_of,
    keep_threshold,
    keep_words,
    kept_buffer,
)
from unhot.types import Ids, Starts


class Examples(NamedTuple):
    """Windows: centre i sees context[starts[i] : starts[i + 1]], which is never empty."""

    centre: Ids  # [windows]
    context: Ids  # of all windows, from left to right
    starts: Starts  # [windows + 1]


class Places(NamedTuple):
    """Buffers for the windows of a chunk."""

    kept: Kept
    centre: Ids  # the place of each centre that sees a word
    starts: Starts


def places_buffer(tokens: int, window: int) -> Places:
    """Room for chunks of `tokens` positions."""
    return Places(kept_buffer(tokens, window), np.zeros(tokens, np.int32), np.zeros(tokens + 1, np.int64))


def examples(text: Text, window: Window, chunk: Chunk, places: Places) -> Examples:
    """The examples of a chunk, in the order of the text."""
    windows = find_windows(text, window, chunk, places)
    centre, starts = places.centre[:windows], places.starts[: windows + 1].copy()
    context = np.empty(int(starts[-1]), np.int32)
    copy_contexts(places, windows, context)
    return Examples(places.kept.word[centre], context, starts)


def warm_up(window: Window) -> None:
    """Compile, or load from disk, by writing nothing."""
    nothing, start = np.zeros(1, np.int32), np.zeros(2, np.int64)
    nothing.flags.writeable = start.flags.writeable = False  # as the shards are, which are mapped for reading
    chunk = Chunk(
        0, 0, 0, np.uint64(0), np.uint64(0), np.float32(0), Hot(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8)
    )
    examples(Text(nothing, start, keep_threshold(np.ones(1))), window, chunk, places_buffer(0, window.size))


@kernel
def find_windows(text: Any, window: Any, chunk: Any, places: Any) -> Any:
    """Write where the centres of a chunk are that see a word, and where their words begin.

    Returns how many there are.
    """
    kept, centre, starts = places.kept, places.centre, places.starts
    n = 0
    starts[0] = 0
    for place in range(window.size, keep_words(text, chunk, window, kept)):
        contexts = contexts_of(kept, place)
        if contexts > 0:
            centre[n] = place
            n += 1
            starts[n] = starts[n - 1] + contexts
    return n


@kernel
def copy_contexts(places: Any, windows: Any, context: Any) -> None:
    """Write down the words that each centre sees."""
    kept = places.kept
    for i in range(windows):
        place = places.centre[i]
        at, left = places.starts[i], max(kept.begin[place], place - kept.reach[place])
        for j in range(places.starts[i + 1] - at):
            other = left + j
            context[at + j] = kept.word[other + 1 if other >= place else other]
