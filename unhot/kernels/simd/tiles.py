"""The inner blocks of every training step: score and update.

A *step* takes inputs x_0 .. x_{B-1} and output columns o_0 .. o_{n-1} (both given as row numbers of matrices)
through three phases:

    score      s[b, r] = x_b . o_r
    link       e[b, r] = -lr dL/ds[b, r], and the loss L              (in place of the scores: see links.py)
    update     o_r += sum_b e[b, r] x_b;  x_b += sum_r e[b, r] o_r    (both from the old x and o)

Sizes are known at compile time through the *type* of a `Shape` (the lengths of its tuples), because numba's
disk cache finds types again but not closures. Rows are padded with zeros to a multiple of LANES floats. In
the buffer of scores an input has `padded` = the next power of two >= width places, so that one vector holds
whole inputs. Buffers need LANES floats of slack at the end, and `inputs` must be valid row numbers up to a
multiple of the group; their multiplicity there is zero.

A matrix row may stand in several columns if all but the first of them have weight and label zero: columns are
written back from last to first, so the first one, which carries the gradient, wins.

Every block has a twin in plain Python under the same name with `_twin`: its oracle, and what runs without the
JIT.
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
    totals,
)

MAX_WIDTH = min(8, LANES)  # columns in one tile
UNROLLED = 8  # rounds over a row that are written out; longer rows are looped over


class Shape(NamedTuple):
    """Sizes that the compiler must know, as lengths of tuples."""

    blocks: tuple[int, ...]  # row stride / LANES
    width: tuple[int, ...]  # columns
    group: tuple[int, ...]  # inputs scored together


def shape(stride: int, width: int, inputs: int) -> Shape:
    """The shape for rows of `stride` floats, `width` columns and up to `inputs` inputs."""
    group = max(1, min(4, inputs, LANES // padded_width(width)))
    return Shape((0,) * (stride // LANES), (0,) * width, (0,) * group)


def padded_width(width: int) -> int:
    """The next power of two."""
    return 1 << (width - 1).bit_length()


def sizes(shape_type: Any) -> tuple[int, int, int]:
    """Slices in a row, columns and inputs in a group, from the numba type of a Shape."""
    blocks, width, group = (t.count for t in shape_type.types)
    return blocks, width, group


def over_slices(
    b: Value, blocks: int, step: int, carried: list[Value], body: Callable[..., list[Value]]
) -> list[Value]:
    """Run body(position, slices, carried) over the slices of a row, `step` at a time, the rest at the end."""
    rounds = blocks // step
    if rounds > UNROLLED:
        carried = loop(b, i64(rounds), carried, lambda i, c: body(b.mul(i, i64(step * LANES)), step, c))
    else:
        for i in range(rounds):
            carried = body(i64(i * step * LANES), step, carried)
    rest = blocks - rounds * step
    return body(i64(rounds * step * LANES), rest, carried) if rest else carried


def score_twin(
    shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, scores: Any, at: int
) -> None:
    """scores[at + b padded + r] = x[inputs[b]] . o[rows[first + r]] for b < count and all columns r."""
    padded = padded_width(len(shape.width))
    for b in range(count):
        for r in range(len(shape.width)):
            scores[at + b * padded + r] = np.dot(x[inputs[b]], o[rows[first + r]])


@block(score_twin)
def score(
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first:
    Value, scores: Value, at: Value,
) -> None:  # fmt: skip
    """A group of inputs and all columns at a time, their sums in registers."""
    blocks, width, group = sizes(types[0])
    padded, stride = padded_width(width), blocks * LANES
    columns = [row(b, o, element(b, rows, b.add(first, i64(r))), stride) for r in range(width)]

    def score_group(g: Value, _: Any) -> list[Value]:
        begin = b.mul(g, i64(group))
        xs = [row(b, x, element(b, inputs, b.add(begin, i64(t))), stride) for t in range(group)]

        def add_slice(at: Value, _: int, sums: list[Value]) -> list[Value]:
            x_slices = [load(b, base, at) for base in xs]
            o_slices = [load(b, base, at) for base in columns]
            return [fma(b, x_slices[i // width], o_slices[i % width], s) for i, s in enumerate(sums)]

        sums = over_slices(b, blocks, 1, [splat_constant(0.0)] * (group * width), add_slice)
        lanes = [
            sums[t * width + r] if r < width else splat_constant(0.0)
            for t in range(group)
            for r in range(padded)
        ]
        store(b, totals(b, lanes), scores, b.add(at, b.mul(begin, i64(padded))))
        return []

    groups = b.sdiv(b.add(count, i64(group - 1)), i64(group))
    loop(b, groups, [], score_group)


def update_twin(
    shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, steps: Any, at: int
) -> None:
    """o_r += sum_b e[b, r] x_b and x_b += sum_r e[b, r] o_r, both from the old values.

    Inputs are all different rows.
    """
    old = np.array([x[inputs[b]] for b in range(count)])
    update_into_twin(shape, old, np.arange(count), count, o, rows, first, steps, at, x, inputs)


def update_into_twin(
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
    """o_r += sum_b e[b, r] x_b and into[places[b]] += sum_r e[b, r] o_r, from the old o; x itself stays."""
    width = len(shape.width)
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
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first:
    Value, steps: Value, at: Value,
) -> None:  # fmt: skip
    """In place: x is read once and written once."""
    _update(b, sizes(types[0]), x, inputs, count, o, rows, first, steps, at, None)


@block(update_into_twin)
def update_into(
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first:
    Value, steps: Value, at: Value, into: Value, places: Value,
) -> None:  # fmt: skip
    """Into another matrix."""
    _update(b, sizes(types[0]), x, inputs, count, o, rows, first, steps, at, (into, places))


def _update(
    b: Value, shape_sizes: tuple[int, int, int], x: Value, inputs: Value, count: Value, o: Value, rows: Value,
    first: Value, steps: Value, at: Value, target: tuple[Value, Value] | None,
) -> None:  # fmt: skip
    """A few slices of all columns and their gradients stay in registers while the inputs go by."""
    blocks, width, _ = shape_sizes
    padded, stride = padded_width(width), blocks * LANES
    columns = [row(b, o, element(b, rows, b.add(first, i64(r))), stride) for r in range(width)]
    together = max(1, min(4, (REGISTERS - 2) // (2 * width + 1)))

    def slices_at(place: Value, slices: int, _: list[Value]) -> list[Value]:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]
        old = [[load(b, base, p) for p in places] for base in columns]

        def add_input(i: Value, gradients: list[Value]) -> list[Value]:
            base = b.add(at, b.mul(i, i64(padded)))
            source = row(b, x, element(b, inputs, i), stride)
            xs = [load(b, source, p) for p in places]
            into = source if target is None else row(b, target[0], element(b, target[1], i), stride)
            new = xs if target is None else [load(b, into, p) for p in places]
            out = []
            for r in range(width):
                e = splat(b, element(b, steps, b.add(base, i64(r))))
                out += [fma(b, e, xs[k], gradients[r * slices + k]) for k in range(slices)]
                new = [fma(b, e, old[r][k], new[k]) for k in range(slices)]
            for k in range(slices):
                store(b, new[k], into, places[k])
            return out

        gradients = loop(b, count, [splat_constant(0.0)] * (width * slices), add_input)
        for r in reversed(range(width)):
            for k in range(slices):
                store(b, b.fadd(old[r][k], gradients[r * slices + k], flags=FAST), columns[r], places[k])
        return []

    over_slices(b, blocks, together, [], slices_at)
