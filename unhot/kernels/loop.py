"""The training loop: windows x candidates x link, for every model and every output layer.

    for each centre:  candidates of the *next* centre -> their rows are prefetched
                      inputs of this centre -> score -> link -> update

What differs is plugged in by type: an output layer registers `candidates` and `link` for its Tables, a model registers `learn` for its
Step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.jit import generic, kernel
from unhot.kernels.rows import prefetch
from unhot.kernels.simd import LANES
from unhot.kernels.steps import row_shape
from unhot.kernels.windows import Inputs, Kept, fill_inputs, hot_row, inputs_buffer, keep_words, kept_buffer
from unhot.types import Counts, Floats, Ids


class Params(NamedTuple):
    """What is learned. Rows are padded with zeros to a multiple of LANES floats."""

    in_vectors: Floats
    out_vectors: Floats


AHEAD = 1  # windows whose candidates are drawn before they are trained
PARTS = 2  # > AHEAD


class Columns(NamedTuple):
    """Candidates of this window and of the next ones, in PARTS parts."""

    filled: Counts  # how many columns each part has
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
        columns=Columns(
            aligned_zeros(PARTS, np.int64), aligned_zeros(PARTS * half, np.int32), *(aligned_zeros(PARTS * half) for _ in range(3))
        ),
        scores=aligned_zeros((inputs + LANES) * half),
        hidden=aligned_zeros((inputs, stride)),
        gradient=aligned_zeros((1, stride)),
        places=np.arange(inputs, dtype=np.int32),
    )


def scratch_bytes(tokens: int, window: int, columns: int, stride: int) -> int:
    """About how much memory `scratch` takes."""
    inputs, half = 2 * window + 2 * LANES, columns + LANES
    return 4 * (7 * (tokens + inputs) + inputs * half + PARTS * 4 * half + (inputs + 1) * stride)


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
    state, loss, pairs, size = chunk.draw_key, 0.0, 0, columns.row.size // PARTS
    first, stop = window.size, keep_words(text, chunk, window, kept)
    for target in range(first, stop + AHEAD):
        if target < stop:  # what this window will touch is on its way while the windows before it are trained
            part = target % PARTS
            columns.filled[part], state = candidates(tables, kept.word[target], state, columns, part * size)
            for c in range(part * size, part * size + columns.filled[part]):
                columns.row[c] = hot_row(columns.row[c], chunk.hot.rows, chunk.hot.out_shift)
                prefetch(rows, params.out_vectors, columns.row[c])
            prefetch(rows, params.in_vectors, kept.row[target + window.size + 1])
        centre = target - AHEAD
        if centre >= first:
            count, times, contexts = fill_inputs(kept, centre, inputs, len(rows.group))
            if count > 0:
                part = centre % PARTS
                step_loss, step_pairs = learn(
                    step, shape, tables, params, scratch, count, times, contexts, part * size, columns.filled[part], chunk.lr
                )
                loss += step_loss
                pairs += step_pairs
    return loss, pairs
