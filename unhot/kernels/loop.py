"""The training loop: windows x columns x link, for every model and every output layer.

    for each centre:  columns of the *next* centre -> their rows are prefetched
                      inputs of this centre -> score -> link -> update

What differs is plugged in by type: an output layer registers `candidates` and `link` for its Tables, a model
registers `choose` (what is predicted), `fetch` (which rows are asked for ahead) and `learn` (from what) for
its Step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.columns import (
    AHEAD,
    PARTS,
    Columns,
    Targets,
    candidates,
    columns_buffer,
    columns_bytes,
    fill_tile,
    first_of,
)
from unhot.kernels.jit import generic, inner, kernel
from unhot.kernels.rng import GAMMA
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import prefetch
from unhot.kernels.steps import tile_shape
from unhot.kernels.windows import (
    Inputs,
    Kept,
    fill_inputs,
    hot_row,
    inputs_buffer,
    keep_words,
    kept_buffer,
    ones_at,
)
from unhot.types import Floats, Ids

SAME_DRAWS = 4  # centres
# columns of the next window that are asked for: what the first-level cache can hold beside this one
PREFETCHED = 32


class Params(NamedTuple):
    """What is learned. Rows are padded with zeros to a multiple of LANES floats.

    A bias of size zero is none.
    """

    in_vectors: Floats
    out_vectors: Floats
    out_bias: Floats  # [output rows]
    in_bias: Floats  # [input rows]
    ln_z: Floats  # the common one, then those of the threads, LANES apart


class Scratch(NamedTuple):
    """Buffers of one thread."""

    kept: Kept
    inputs: Inputs
    columns: Columns
    scores: Floats
    hidden: Floats  # [inputs, stride]: inputs as they were, or their mean
    gradient: Floats  # [1, stride]
    places: Ids  # 0, 1, 2, ...


class Room(NamedTuple):
    """How much a step needs at most."""

    columns: int  # that are written down one by one
    width: int  # of a tile
    scored: int  # columns that get a score
    inputs: int
    bag: int = 0  # rows that an input is made of


def scratch(tokens: int, window: int, room: Room, stride: int) -> Scratch:
    """Buffers for chunks of `tokens` positions."""
    inputs = 2 * window + LANES
    return Scratch(
        kept=kept_buffer(tokens, window),
        inputs=inputs_buffer(window, room.bag),
        columns=columns_buffer(room.columns, room.width),
        scores=aligned_zeros(_scores(room)),
        hidden=aligned_zeros((inputs, stride)),
        gradient=aligned_zeros((1, stride)),
        places=np.arange(inputs, dtype=np.int32),
    )


def _scores(room: Room) -> int:
    """Places for the scores of all tiles.

    An input has up to twice the width in each, and each ends at a whole vector.
    """
    if room.width == room.inputs == 1:
        return room.scored + 2 * LANES
    return (-(-room.scored // room.width) + 1) * (2 * room.width * room.inputs + LANES) + LANES


def scratch_bytes(tokens: int, window: int, room: Room, stride: int) -> int:
    """About how much memory `scratch` takes."""
    inputs = 2 * window + 2 * LANES
    return 4 * (7 * (tokens + inputs) + 4 * room.bag + _scores(room) + (inputs + 1) * stride) + columns_bytes(
        room.columns
    )


@generic
def choose(step: Any, tables: Any, scratch: Any, place: Any, state: Any, part: Any) -> Any:
    """Fill a part of the columns for the centre at a place.

    Return how many there are and the new random state.
    """


@generic
def fetch(step: Any, shape: Any, params: Any, kept: Any, place: Any, window: Any, chunk: Any) -> Any:
    """Ask for input rows that the centre at a place, which is the next one, will need."""


@generic
def learn(
    step: Any, shape: Any, tables: Any, params: Any, scratch: Any, centre: Any, part: Any, chunk: Any
) -> Any:
    """Train the centre at a place, with a part of the columns.

    Returns the loss and the number of (input, target) pairs.
    """


@inner
def predict_centre(step: Any, tables: Any, scratch: Any, place: Any, state: Any, part: Any) -> Any:
    """The target is the centre, for models to register with `choose`."""
    kept, inputs, columns = scratch.kept, scratch.inputs, scratch.columns
    targets = Targets(kept.word, place, inputs.times, ones_at(inputs, 1), 1, 1, 1)
    return candidates(tables, targets, state, columns, first_of(columns, part))


@inner
def predict_contexts(step: Any, tables: Any, scratch: Any, place: Any, state: Any, part: Any) -> Any:
    """The targets are the words around the centre, which share the draws, for models to register with `choose`."""
    return _predict_contexts(tables, scratch, place, state, part, False)


@inner
def predict_each_context(step: Any, tables: Any, scratch: Any, place: Any, state: Any, part: Any) -> Any:
    """The same with draws for each of them, which a few centres in a row share.

    Their rows are fetched once.
    """
    n, _ = _predict_contexts(tables, scratch, place, state, part, True)
    beyond = np.uint64(scratch.columns.row.size)  # no window takes more draws
    return n, (state + beyond * GAMMA if place % SAME_DRAWS == SAME_DRAWS - 1 else state)


@inner
def _predict_contexts(tables: Any, scratch: Any, place: Any, state: Any, part: Any, own_draws: Any) -> Any:
    kept, inputs, columns = scratch.kept, scratch.inputs, scratch.columns
    count, times, total = fill_inputs(kept, kept.word, place, inputs, 1)
    if count == 0:
        return 0, state
    targets = Targets(inputs.row, 0, inputs.times, times, count, total, total if own_draws else 1)
    return candidates(tables, targets, state, columns, first_of(columns, part))


@inner
def fetch_entering(
    step: Any, shape: Any, params: Any, kept: Any, place: Any, window: Any, chunk: Any
) -> None:
    """The row of the word that enters the window, for models to register with `fetch`."""
    prefetch(shape, params.in_vectors, kept.row[place + window.size + 1])


@kernel
def train_chunk(
    step: Any, shape: Any, tables: Any, text: Any, window: Any, params: Any, scratch: Any, chunk: Any
) -> Any:
    """Train the centres of a chunk; return the summed loss and the number of (input, target) pairs."""
    kept, columns, hot, rows = scratch.kept, scratch.columns, chunk.hot, tile_shape(shape)
    state, loss, pairs = chunk.draw_key, 0.0, 0
    first, stop = window.size, keep_words(text, chunk, window, kept)
    for place in range(first, stop + AHEAD):
        if place < stop:  # what this window will touch is on its way while the windows before it are trained
            part = place % PARTS
            begin = first_of(columns, part)
            n, state = choose(step, tables, scratch, place, state, part)
            n = fill_tile(columns, begin, n, len(rows.width))
            columns.filled[part] = n
            for c in range(begin, begin + n):
                columns.row[c] = hot_row(columns.row[c], hot.out_rows, hot.out_shift)
            for c in range(begin, begin + min(n, PREFETCHED)):
                prefetch(rows, params.out_vectors, columns.row[c])
            fetch(step, rows, params, kept, place, window, chunk)
        centre = place - AHEAD
        if centre >= first:
            step_loss, step_pairs = learn(step, shape, tables, params, scratch, centre, centre % PARTS, chunk)
            loss += step_loss
            pairs += step_pairs
    return loss, pairs
