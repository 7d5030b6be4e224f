"""The exchange of hot rows: a thread passes on what it has learned, and takes over what others have learned.

With several threads, each one has its own copies of the most frequent rows (train/hot_rows.py). After every
n-th example, n = `HotPlaces.every`, it exchanges those hot rows that this example has changed:

    common += own - before;   own = before = common

So every hot row is exchanged after n of its updates on average, however frequent it is, and the updates of
all threads count in full. No thread waits for another: as everywhere in training, two threads that write the
same numbers in the same nanosecond may lose a step.
"""

from typing import Any

from unhot.kernels.columns import PARTS, first_of
from unhot.kernels.jit import inner
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.rows import exchange_row


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
