"""The training loop: examples x columns x link, for every model and every output layer.

    for each example:  columns of the *next* example -> prefetch their rows
                       input of this example -> score -> link -> update

Output layers and models plug in their parts by type: an output layer registers `candidates` and `link` for
its Tables, a feeder provides the examples (feeder.py).

With several threads, each one has its own copies of the most frequent rows (train/hot_rows.py): it passes on
what it has learned, and takes over what others have learned. After every n-th example, n = `HotPlaces.every`,
it exchanges those hot rows that this example has changed:

    common += own - before;   own = before = common

So every hot row is exchanged after n of its updates on average, however frequent it is, and the updates of
all threads count in full. No thread waits for another: as everywhere in training, two threads that write the
same numbers in the same nanosecond may lose a step.
"""

import functools
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.chunk import hot_row
from unhot.kernels.columns import (
    AHEAD,
    PARTS,
    Columns,
    candidates,
    columns_buffer,
    columns_bytes,
    fill_tile,
    first_of,
)
from unhot.kernels.feeder import Inputs, fetch, given_columns, input_of, inputs_buffer, prepare, targets_of
from unhot.kernels.jit import inner, kernel
from unhot.kernels.learning import learn
from unhot.kernels.rng import GAMMA
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import exchange_row, prefetch
from unhot.kernels.simd.tiles import Shape, padded_width
from unhot.kernels.steps import All, tile_shape
from unhot.types import Floats, Ids

# columns of the next example to prefetch: the first-level cache can hold so many beside the current example
PREFETCHED = 32


class Params(NamedTuple):
    """The learned parameters. Rows are padded with zeros to a multiple of LANES floats.

    An array of size zero means that there is no such bias.
    """

    in_vectors: Floats
    out_vectors: Floats
    out_bias: Floats  # [output rows]
    in_bias: Floats  # [input rows]
    ln_z: Floats  # the shared number, then two copies for each thread, LANES apart


class Scratch(NamedTuple):
    """The buffers of one thread."""

    feed: Any  # the buffers of the feeder
    inputs: Inputs
    columns: Columns
    scores: Floats
    hidden: Floats  # [inputs, stride]: copies of the inputs before the step, or their sum or mean
    gradient: Floats  # [1, stride]
    places: Ids  # 0, 1, 2, ...


class Room(NamedTuple):
    """The largest sizes that a step needs."""

    columns: int  # columns that are listed one by one
    width: int  # columns of a tile
    scored: int  # columns that get a score
    inputs: int
    listed: int  # rows of an example, or words of its targets


def scratch(feed: Any, room: Room, stride: int) -> Scratch:
    """Return buffers for steps of the sizes in `room`, together with the feeder's buffers."""
    inputs = room.inputs + LANES
    return Scratch(
        feed=feed,
        inputs=inputs_buffer(room.listed),
        columns=columns_buffer(room.columns, room.width),
        scores=aligned_zeros(_scores(room)),
        hidden=aligned_zeros((inputs, stride)),
        gradient=aligned_zeros((1, stride)),
        places=np.arange(inputs, dtype=np.int32),
    )


def _scores(room: Room) -> int:
    """Return the number of places for the scores of all tiles; each tile ends at a whole vector."""
    if room.width == room.inputs == 1:
        return room.scored + 2 * LANES
    tile = padded_width(room.width) * room.inputs + LANES
    return (-(-room.scored // room.width) + 1) * tile + LANES


def scratch_bytes(feed: Any, room: Room, stride: int) -> int:
    """Estimate the memory that `scratch` takes, with the buffers of the feeder."""
    inputs = room.inputs + LANES
    floats = 4 * (room.listed + LANES) + _scores(room) + (inputs + 1) * stride + inputs
    return int(sum(array.nbytes for array in feed)) + 4 * floats + columns_bytes(room.columns)


@inner
def train_chunk(feeder: Any, shape: Any, tables: Any, params: Any, scratch: Any, where: Any, how: Any) -> Any:
    """Train the examples of a chunk; return the summed loss and the number of (input, target) pairs."""
    columns, hot = scratch.columns, how.hot
    rows = tile_shape(shape)
    state = where.draw_key
    loss = 0.0
    pairs = 0
    first, stop = prepare(feeder, scratch, where, how)
    for place in range(first, stop + AHEAD):
        if place < stop:  # prefetch the rows of this example while the examples before it are trained
            part = place % PARTS
            begin = first_of(columns, part)
            targets = targets_of(feeder, scratch, place)
            n = 0
            if targets.n > 0:
                n, after = candidates(tables, targets, state, columns, begin)
                n, after = given_columns(feeder, tables, scratch, place, targets, after, begin, n)
                n = fill_tile(columns, begin, n, rows.width)
                if targets.same == 1:
                    state = after
            if targets.same > 1 and place % targets.same == targets.same - 1:
                state += np.uint64(columns.row.size) * GAMMA  # no example draws more often
            columns.filled[part] = n
            for c in range(begin, begin + n):
                columns.row[c] = hot_row(columns.row[c], hot.out_rows, hot.out_shift)
            for c in range(begin, begin + min(n, PREFETCHED)):
                prefetch(rows, params.out_vectors, columns.row[c])
            fetch(feeder, rows, params, scratch, place, how)
        trained = place - AHEAD
        if trained >= first and columns.filled[trained % PARTS] > 0:
            example = input_of(feeder, rows, scratch, trained, how)
            if example.rows > 0:
                loss += learn(example, shape, tables, params, scratch, trained % PARTS, how)
                pairs += example.pairs
                exchange_if_due(rows, params, scratch, trained, example.rows, hot)
    return loss, pairs


@functools.cache
def training_kernel(shape: Shape, all_rows: bool) -> Any:
    """Return `train_chunk` as a kernel whose sizes are constants; `all_rows`: all rows are columns.

    The compiler unrolls loops whose length it knows. It starts from code that is kept on disk for all sizes,
    so a new size takes a second, not the time to compile the whole kernel.
    """
    if all_rows:

        @kernel
        def train_all(
            feeder: Any, rows: Any, tables: Any, params: Any, scratch: Any, where: Any, how: Any
        ) -> Any:
            return train_chunk(feeder, All(shape, rows), tables, params, scratch, where, how)

        return train_all

    @kernel
    def train(feeder: Any, rows: Any, tables: Any, params: Any, scratch: Any, where: Any, how: Any) -> Any:
        return train_chunk(feeder, shape, tables, params, scratch, where, how)

    return train


@inner
def exchange_if_due(shape: Any, params: Any, scratch: Any, place: Any, count: Any, hot: Any) -> None:
    """After every n-th example, exchange its hot rows: those of its columns and of its `count` inputs."""
    if hot.every > 0 and place & (hot.every - 1) == 0:
        inputs, columns = scratch.inputs, scratch.columns
        first = first_of(columns, place % PARTS)
        for c in range(first, first + columns.filled[place % PARTS]):
            _exchange(shape, params.out_vectors, params.out_bias, columns.row[c], hot.out_shift, hot.out_rows)
        for b in range(count):
            _exchange(shape, params.in_vectors, params.in_bias, inputs.row[b], hot.in_shift, hot.in_rows)
        if params.ln_z.size > 0:
            _exchange_number(params.ln_z, 0, hot.ln_z_at, LANES)


@inner
def _exchange(shape: Any, matrix: Any, bias: Any, place: Any, shift: Any, rows: Any) -> None:
    """Exchange the row that the thread finds at a place, and its bias, if it is a copy."""
    number = place - shift
    if 0 <= number < rows:
        exchange_row(shape, matrix, number, place, place + rows)
        if bias.size > 0:
            _exchange_number(bias, number, place, rows)


@inner
def _exchange_number(numbers: Any, common: Any, own: Any, rows: Any) -> None:
    """Exchange a single number; its value at the last exchange is `rows` places behind the thread's own."""
    new = numbers[common] + (numbers[own] - numbers[own + rows])
    numbers[common] = new
    numbers[own], numbers[own + rows] = new, new
