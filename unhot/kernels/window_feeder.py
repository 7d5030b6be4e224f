"""Functions shared by the feeders whose examples are the windows of a text.

Such a feeder has a `text` and a `window`. Its places are the places of `Kept`. It predicts the centre of a
window, or the words around it.
"""

from typing import Any

from unhot.kernels.chunk import hot_row
from unhot.kernels.columns import Targets
from unhot.kernels.feeder import fetch, ones_at, prepare, targets_of
from unhot.kernels.jit import inner
from unhot.kernels.simd.rows import prefetch
from unhot.kernels.windows import contexts_of, fill_inputs, keep_words

SAME_DRAWS = 4  # consecutive centres that share their draws


@inner
def prepare_windows(feeder: Any, scratch: Any, where: Any, how: Any) -> Any:
    """Read the words of a chunk that survive sub-sampling, and the places of their rows for this thread."""
    kept, first = scratch.feed, feeder.window.size
    stop = keep_words(feeder.text, where, feeder.window, kept)
    for place in range(stop + first + 1):
        kept.row[place] = hot_row(kept.word[place], how.hot.in_rows, how.hot.in_shift)
    return first, stop


@inner
def centre_target(feeder: Any, scratch: Any, place: Any) -> Any:
    """Return the centre as the target, or no target if the centre sees no word."""
    inputs, kept = scratch.inputs, scratch.feed
    n = min(contexts_of(kept, place), 1)
    return Targets(kept.word, place, inputs.times, ones_at(inputs, 1), n, n, 1, 1)


@inner
def context_targets(feeder: Any, scratch: Any, place: Any) -> Any:
    """Return the words around the centre as targets, which share one set of draws."""
    inputs, kept = scratch.inputs, scratch.feed
    count, times, total = fill_inputs(kept, kept.word, place, inputs, 1)
    return Targets(inputs.row, 0, inputs.times, times, count, total, 1, 1)


@inner
def context_targets_with_draws(feeder: Any, scratch: Any, place: Any) -> Any:
    """Return the words around the centre as targets, each with its own set of draws.

    SAME_DRAWS consecutive centres share the draws, so that their rows are fetched once.
    """
    inputs, kept = scratch.inputs, scratch.feed
    count, times, total = fill_inputs(kept, kept.word, place, inputs, 1)
    return Targets(inputs.row, 0, inputs.times, times, count, total, total, SAME_DRAWS)


@inner
def fetch_entering(feeder: Any, shape: Any, params: Any, scratch: Any, place: Any, how: Any) -> None:
    """Prefetch the row of the word that enters the window next."""
    prefetch(shape, params.in_vectors, scratch.feed.row[place + feeder.window.size + 1])


def register_windows(feeder: type, targets: Any, fetches: Any = fetch_entering) -> None:
    """Register the functions of a feeder: `targets` returns its targets, `fetches` prefetches its rows."""
    prepare.register(feeder)(prepare_windows)
    fetch.register(feeder)(fetches)
    targets_of.register(feeder)(targets)
