"""The inner blocks of every training step: score and update.

A *step* has inputs x_0 .. x_{B-1} and output columns o_0 .. o_{n-1}, both given as row numbers of matrices.
It has three phases:

    score      s[b, r] = x_b . o_r
    link       e[b, r] = -lr dL/ds[b, r], and the loss L              (in place of the scores: see links.py)
    update     o_r += sum_b e[b, r] x_b;  x_b += sum_r e[b, r] o_r    (both from the old x and o)

The length of a row and the width of a tile are numbers at run time, so that the code of a block serves all
sizes: it has a branch for each width. Rows are padded with zeros to a multiple of LANES floats. In the buffer
of scores, an input has `padded_width` places, 4 or 8, so that one vector holds whole inputs. Buffers need
LANES floats of slack at the end. `inputs` must hold valid row numbers up to a multiple of the group; the
multiplicity of the extra inputs is zero.

Several columns may have the same matrix row if all but the first have weight and label zero. Columns are
written back from last to first, so the first one, which has the gradient, is written last.

Every block has a twin in plain Python, with the same name and `_twin`. The twin runs without the JIT, and
tests compare the block with it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import block
from unhot.kernels.simd.lanes import (
    FAST,
    LANES,
    REGISTERS,
    Value,
    element,
    fma,
    i64,
    load,
    loop,
    row,
    splat,
    splat_constant,
    store,
    switch,
    totals,
    when,
)

MAX_WIDTH = min(8, LANES)  # columns in one tile
MAX_GROUP = 4  # inputs scored together
UNROLLED = 8  # slices of a row that are kept in registers at the same time


class Shape(NamedTuple):
    """The layout of the rows and columns of a step."""

    blocks: int  # vectors of LANES floats in a row
    width: int  # columns of a tile, 1 to MAX_WIDTH
    alone: bool  # the step is this one tile, with one target
    group: tuple[int, ...]  # its length, known to the compiler, is how many inputs may be scored together


def shape(stride: int, width: int = 1, inputs: int = 1, *, alone: bool = True) -> Shape:
    """Return the shape for rows of `stride` floats, `width` columns and up to `inputs` inputs."""
    return Shape(stride // LANES, width, alone, (0,) * min(MAX_GROUP, inputs))


def padded_width(width: int) -> int:
    """Return how many places an input has in the scores of a tile."""
    return 4 if width <= 4 else 8


def stride_of(b: Value, shape: Value) -> Value:
    """Return the length of a row in floats."""
    return b.mul(b.extract_value(shape, 0), i64(LANES))


def by_width(b: Value, shape: Value, body: Callable[[int], list[Value]]) -> list[Value]:
    """Run body(width) for the width of a shape."""
    return switch(b, b.extract_value(shape, 1), range(1, MAX_WIDTH + 1), body)


def each_slice(
    b: Value, shape: Value, carried: list[Value], body: Callable[[Value, list[Value]], list[Value]]
) -> list[Value]:
    """Run body(position, carried) over the slices of a row, one after the other."""
    return loop(b, b.extract_value(shape, 0), carried, lambda i, c: body(b.mul(i, i64(LANES)), c))


def over_slices(b: Value, shape: Value, step: int, body: Callable[[Value, int], None]) -> None:
    """Run body(position, slices) over the slices of a row, `step` at a time, then once over the rest."""
    blocks = b.extract_value(shape, 0)
    rounds = b.udiv(blocks, i64(step))

    def run(place: Value, slices: int) -> list[Value]:
        if slices:
            body(place, slices)
        return []

    def whole(i: Value, _: list[Value]) -> list[Value]:
        return run(b.mul(i, i64(step * LANES)), step)

    when(b, b.icmp_signed(">", rounds, i64(0)), [], lambda _: loop(b, rounds, [], whole))
    done = b.mul(rounds, i64(step))
    switch(b, b.sub(blocks, done), range(step), lambda rest: run(b.mul(done, i64(LANES)), rest))


def score_twin(
    shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, scores: Any, at: int
) -> None:
    """Set scores[at + b padded + r] = x[inputs[b]] . o[rows[first + r]] for b < count and all columns r."""
    padded = padded_width(shape.width)
    for b in range(count):
        for r in range(shape.width):
            scores[at + b * padded + r] = np.dot(x[inputs[b]], o[rows[first + r]])


@block(score_twin)
def score(
    types: Any, b: Value, shape: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first:
    Value, scores: Value, at: Value,
) -> None:  # fmt: skip
    """Score a group of inputs and all columns at a time, with the sums in registers."""
    stride, most = stride_of(b, shape), types[0].types[3].count

    def score_width(width: int) -> list[Value]:
        padded = padded_width(width)
        group = min(most, LANES // padded)
        columns = [row(b, o, element(b, rows, b.add(first, i64(r))), stride) for r in range(width)]

        def score_group(g: Value, _: Any) -> list[Value]:
            begin = b.mul(g, i64(group))
            xs = [row(b, x, element(b, inputs, b.add(begin, i64(t))), stride) for t in range(group)]

            def add_slice(at: Value, sums: list[Value]) -> list[Value]:
                x_slices = [load(b, base, at) for base in xs]
                o_slices = [load(b, base, at) for base in columns]
                return [fma(b, x_slices[i // width], o_slices[i % width], s) for i, s in enumerate(sums)]

            sums = each_slice(b, shape, [splat_constant(0.0)] * (group * width), add_slice)
            lanes = [
                sums[t * width + r] if r < width else splat_constant(0.0)
                for t in range(group)
                for r in range(padded)
            ]
            store(b, totals(b, lanes), scores, b.add(at, b.mul(begin, i64(padded))))
            return []

        loop(b, b.udiv(b.add(count, i64(group - 1)), i64(group)), [], score_group)
        return []

    by_width(b, shape, score_width)


def update_twin(
    shape: Shape,
    x: Any,
    inputs: Any,
    count: int,
    o: Any,
    rows: Any,
    first: int,
    steps: Any,
    at: int,
    into: Any,
    places: Any,
) -> None:
    """Add sum_b e[b, r] x_b to o_r, and sum_r e[b, r] o_r to into[places[b]], both from the old values.

    `into` may be x, and `places` the inputs: then the inputs, which are all different rows, change in place.
    """
    width = shape.width
    padded = padded_width(width)
    e = np.array([[steps[at + b * padded + r] for r in range(width)] for b in range(count)])  # [count, width]
    old = np.array([o[rows[first + r]] for r in range(width)])  # [width, stride]
    gradient = e.T @ np.array([x[inputs[b]] for b in range(count)])
    for b in range(count):
        into[places[b]] += e[b] @ old
    for r in reversed(range(width)):
        o[rows[first + r]] = old[r] + gradient[r]


@block(update_twin)
def update(
    types: Any, b: Value, shape: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first:
    Value, steps: Value, at: Value, into: Value, places: Value,
) -> None:  # fmt: skip
    """Keep a few slices of all columns and their gradients in registers during the loop over the inputs."""
    stride = stride_of(b, shape)

    def update_width(width: int) -> list[Value]:
        columns = [row(b, o, element(b, rows, b.add(first, i64(r))), stride) for r in range(width)]

        def addresses(i: Value) -> tuple[Value, Value]:
            return row(b, x, element(b, inputs, i), stride), row(b, into, element(b, places, i), stride)

        def step(i: Value, r: int) -> Value:
            place = b.add(at, b.mul(i, i64(padded_width(width))))
            return splat(b, element(b, steps, b.add(place, i64(r))))

        if types[0].types[3].count == 1:
            _update_for_one(b, shape, columns, *addresses(i64(0)), [step(i64(0), r) for r in range(width)])
        else:
            _update_for_many(b, shape, columns, count, addresses, step)
        return []

    by_width(b, shape, update_width)


def _update_for_one(
    b: Value, shape: Value, columns: list[Value], source: Value, target: Value, steps: list[Value]
) -> None:
    """Update for one input: read and write each slice once."""

    def move_slice(at: Value, _: list[Value]) -> list[Value]:
        h, new = load(b, source, at), load(b, target, at)
        old = [load(b, base, at) for base in columns]
        for e, o in zip(steps, old, strict=True):
            new = fma(b, e, o, new)
        store(b, new, target, at)
        for base, e, o in reversed(list(zip(columns, steps, old, strict=True))):
            store(b, fma(b, e, h, o), base, at)
        return []

    each_slice(b, shape, [], move_slice)


def _update_for_many(
    b: Value,
    shape: Value,
    columns: list[Value],
    count: Value,
    addresses: Callable[[Value], tuple[Value, Value]],
    step: Callable[[Value, int], Value],
) -> None:
    """Update for many inputs: loop over the inputs once for every few slices."""
    width = len(columns)

    def slices_at(place: Value, slices: int) -> None:
        ats = [b.add(place, i64(k * LANES)) for k in range(slices)]
        old = [[load(b, base, p) for p in ats] for base in columns]

        def add_input(i: Value, gradients: list[Value]) -> list[Value]:
            source, target = addresses(i)
            xs, new = [load(b, source, p) for p in ats], [load(b, target, p) for p in ats]
            out = []
            for r in range(width):
                e = step(i, r)
                out += [fma(b, e, xs[k], gradients[r * slices + k]) for k in range(slices)]
                new = [fma(b, e, old[r][k], new[k]) for k in range(slices)]
            for k in range(slices):
                store(b, new[k], target, ats[k])
            return out

        gradients = loop(b, count, [splat_constant(0.0)] * (width * slices), add_input)
        for r in reversed(range(width)):
            for k in range(slices):
                store(b, b.fadd(old[r][k], gradients[r * slices + k], flags=FAST), columns[r], ats[k])

    over_slices(b, shape, max(1, min(4, (REGISTERS - 2) // (2 * width + 1))), slices_at)
