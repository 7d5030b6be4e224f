"""The training loop: windows x candidates x link, for every model and every output layer.

    for each centre:  candidates of the *next* centre -> their rows are prefetched
                      inputs of this centre -> score -> link -> update

What differs is plugged in by type: an output layer registers `candidates` and `link` for its Tables, a model registers `learn` for its
Step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.blocks import prefetch
from unhot.kernels.jit import generic, kernel
from unhot.kernels.simd import LANES
from unhot.kernels.steps import row_shape
from unhot.kernels.windows import Inputs, Kept, fill_inputs, inputs_buffer, keep_words, kept_buffer
from unhot.types import Floats, Ids


class Params(NamedTuple):
    """What is learned. Rows are padded with zeros to a multiple of LANES floats."""

    in_vectors: Floats
    out_vectors: Floats


class Columns(NamedTuple):
    """Candidates, in two halves: the columns of this window and of the next one."""

    row: Ids
    label: Floats
    weight: Floats
    offset: Floats


class Scratch(NamedTuple):
    """Buffers of one thread."""

    kept: Kept
    inputs: Inputs
    columns: Columns
    scores: Floats
    hidden: Floats  # [inputs, stride]: inputs as they were, or their mean
    gradient: Floats  # [1, stride]
    places: Ids  # 0, 1, 2, ...


def scratch(tokens: int, window: int, columns: int, stride: int) -> Scratch:
    """Buffers for chunks of `tokens` positions and steps of `columns`."""
    inputs, half = 2 * window + LANES, columns + LANES
    return Scratch(
        kept=kept_buffer(tokens, window),
        inputs=inputs_buffer(window),
        columns=Columns(np.zeros(2 * half, np.int32), *(np.zeros(2 * half, np.float32) for _ in range(3))),
        scores=np.zeros((inputs + LANES) * half, np.float32),
        hidden=np.zeros((inputs, stride), np.float32),
        gradient=np.zeros((1, stride), np.float32),
        places=np.arange(inputs, dtype=np.int32),
    )


@generic
def candidates(tables: Any, target: Any, state: Any, columns: Any, first: Any) -> Any:
    """Fill the columns from `first` on for a target; return how many there are and the new random state."""


@generic
def learn(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, contexts: Any, first: Any, n: Any, lr: Any
) -> Any:
    """One step: `count` different inputs that fill `contexts` places, and n columns. Returns the loss and the number of pairs."""


@kernel
def train_chunk(step: Any, shape: Any, tables: Any, text: Any, window: Any, params: Any, scratch: Any, chunk: Any) -> Any:
    """Train the centres of a chunk; return the summed loss and the number of (input, target) pairs."""
    kept, inputs, columns, rows = scratch.kept, scratch.inputs, scratch.columns, row_shape(shape)
    now, following = 0, columns.row.size // 2
    state, loss, pairs = chunk.draw_key, 0.0, 0
    stop = keep_words(text, chunk, window, kept)
    if stop == window.size:
        return loss, pairs
    n, state = candidates(tables, kept.word[window.size], state, columns, now)
    for centre in range(window.size, stop):
        n_following = n
        if centre + 1 < stop:
            n_following, state = candidates(tables, kept.word[centre + 1], state, columns, following)
            for c in range(following, following + n_following):
                prefetch(rows, params.out_vectors, columns.row[c])
        prefetch(rows, params.in_vectors, kept.word[centre + window.size + 2])
        count, times, contexts = fill_inputs(kept, centre, inputs, len(rows.group))
        if count > 0:
            step_loss, step_pairs = learn(step, shape, tables, params, scratch, count, times, contexts, now, n, chunk.lr)
            loss += step_loss
            pairs += step_pairs
        now, following, n = following, now, n_following
    return loss, pairs
