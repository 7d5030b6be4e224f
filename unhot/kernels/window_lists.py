"""Lists of the windows of a chunk, for engines that train batches and for evaluation.

The compiled loop trains the same windows: the same random bits decide which tokens survive and how far each
centre sees. Skip-gram pairs every centre with every word of its window. An example of CBOW is a window.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.chunk import NOWHERE, Where
from unhot.kernels.jit import kernel
from unhot.kernels.windows import Kept, Window, contexts_of, keep_words, kept_buffer
from unhot.types import Ids, Starts


class WindowList(NamedTuple):
    """The windows of a chunk: centre i sees contexts[starts[i] : starts[i + 1]], which is never empty."""

    centres: Ids  # [windows]
    contexts: Ids  # the words of all windows, from left to right
    starts: Starts  # [windows + 1]


class WindowBuffer(NamedTuple):
    """Buffers for the windows of a chunk."""

    kept: Kept
    centres: Ids  # the centres that see a word
    places: Ids  # the places of these centres in `kept`
    starts: Starts


def window_buffer(tokens: int, window: int, pieces: int = 1) -> WindowBuffer:
    """Return buffers for chunks of `tokens` positions in `pieces` pieces."""
    centres, places = np.zeros(tokens, np.int32), np.zeros(tokens, np.int32)
    kept = kept_buffer(tokens, window, pieces)
    return WindowBuffer(kept, centres, places, np.zeros(tokens + 1, np.int64))


def list_windows(text: Any, window: Window, where: Where, buffer: WindowBuffer) -> WindowList:
    """Return the windows of a chunk, in the order in which the chunk is read."""
    windows = find_windows(text, window, where, buffer)
    starts = buffer.starts[: windows + 1].copy()
    contexts = np.empty(int(starts[-1]), np.int32)
    copy_contexts(buffer, windows, contexts)
    return WindowList(buffer.centres[:windows].copy(), contexts, starts)


def warm_up(text: Any, window: Window) -> None:
    """Compile the kernels, or load them from disk, by listing no windows."""
    list_windows(text, window, NOWHERE, window_buffer(0, window.size))


@kernel
def find_windows(text: Any, window: Any, where: Any, buffer: Any) -> Any:
    """List the centres of a chunk that see a word, and where their contexts begin; return their number."""
    kept, starts = buffer.kept, buffer.starts
    n = 0
    starts[0] = 0
    for place in range(window.size, keep_words(text, where, window, kept)):
        contexts = contexts_of(kept, place)
        if contexts > 0:
            buffer.centres[n], buffer.places[n] = kept.word[place], place
            n += 1
            starts[n] = starts[n - 1] + contexts
    return n


@kernel
def copy_contexts(buffer: Any, windows: Any, contexts: Any) -> None:
    """Copy the words that each centre sees to `contexts`."""
    kept = buffer.kept
    for i in range(windows):
        place, at = buffer.places[i], buffer.starts[i]
        left = max(kept.begin[place], place - kept.reach[place])
        for j in range(buffer.starts[i + 1] - at):
            other = left + j
            contexts[at + j] = kept.word[other + 1 if other >= place else other]
