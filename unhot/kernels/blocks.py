"""The inner blocks of every training loop: score, update, and rows summed, added, copied and prefetched.

A *step* takes inputs x_0 .. x_{B-1} and output columns o_0 .. o_{n-1} (both given as row numbers of matrices) through three phases:

    score      s[b, r] = x_b . o_r
    link       e[b, r] = -lr dL/ds[b, r], and the loss L                 (in place of the scores: see links.py)
    update     o_r += sum_b e[b, r] x_b;  x_b += sum_r e[b, r] o_r       (both from the old x and o)

Sizes are known at compile time through the *type* of a `Shape` (the lengths of its tuples), because numba's disk cache finds types again
but not closures. Rows are padded with zeros to a multiple of LANES floats. In the buffer of scores an input has `padded` = the next power
of two >= width places, so that one vector holds whole inputs. Buffers need LANES floats of slack at the end, and `inputs` must be valid row
numbers up to a multiple of the group; their multiplicity there is zero.

A matrix row may stand in several columns if all but the first of them have weight and label zero: columns are written back from last to
first, so the first one, which carries the gradient, wins.

Every block has a twin in plain Python under the same name with `_twin`: its oracle, and what runs without the JIT.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block
from unhot.kernels.simd import (
    FAST,
    I8,
    I32,
    INTEGERS,
    LANES,
    LINE,
    REGISTERS,
    Value,
    call,
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
PREFETCHED = 8  # cache lines of a row asked for ahead


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


def _over_slices(b: Value, blocks: int, step: int, carried: list[Value], body: Callable[..., list[Value]]) -> list[Value]:
    """Run body(position, slices, carried) over the slices of a row, `step` of them at a time and the rest at the end."""
    rounds = blocks // step
    if rounds > UNROLLED:
        carried = loop(b, i64(rounds), carried, lambda i, c: body(b.mul(i, i64(step * LANES)), step, c))
    else:
        for i in range(rounds):
            carried = body(i64(i * step * LANES), step, carried)
    rest = blocks - rounds * step
    return body(i64(rounds * step * LANES), rest, carried) if rest else carried


def score_twin(shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, scores: Any, at: int) -> None:
    """scores[at + b padded + r] = x[inputs[b]] . o[rows[first + r]] for the inputs b < count and all columns r."""
    padded = padded_width(len(shape.width))
    for b in range(count):
        for r in range(len(shape.width)):
            scores[at + b * padded + r] = np.dot(x[inputs[b]], o[rows[first + r]])


@block(score_twin)
def score(
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first: Value, scores: Value, at: Value
) -> None:
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

        sums = _over_slices(b, blocks, 1, [splat_constant(0.0)] * (group * width), add_slice)
        lanes = [sums[t * width + r] if r < width else splat_constant(0.0) for t in range(group) for r in range(padded)]
        store(b, totals(b, lanes), scores, b.add(at, b.mul(begin, i64(padded))))
        return []

    groups = b.sdiv(b.add(count, i64(group - 1)), i64(group))
    loop(b, groups, [], score_group)


def update_twin(shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, steps: Any, at: int) -> None:
    """o_r += sum_b e[b, r] x_b and x_b += sum_r e[b, r] o_r, both from the old values; inputs are all different rows."""
    old = np.array([x[inputs[b]] for b in range(count)])
    update_into_twin(shape, old, np.arange(count), count, o, rows, first, steps, at, x, inputs)


def update_into_twin(
    shape: Shape, x: Any, inputs: Any, count: int, o: Any, rows: Any, first: int, steps: Any, at: int, into: Any, places: Any
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
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first: Value, steps: Value, at: Value
) -> None:
    """In place: x is read once and written once."""
    _update(b, sizes(types[0]), x, inputs, count, o, rows, first, steps, at, None)


@block(update_into_twin)
def update_into(
    types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, o: Value, rows: Value, first: Value, steps: Value, at: Value,
    into: Value, places: Value,
) -> None:  # fmt: skip
    """Into another matrix."""
    _update(b, sizes(types[0]), x, inputs, count, o, rows, first, steps, at, (into, places))


def _update(
    b: Value, shape_sizes: tuple[int, int, int], x: Value, inputs: Value, count: Value, o: Value, rows: Value, first: Value, steps: Value,
    at: Value, target: tuple[Value, Value] | None,
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

    _over_slices(b, blocks, together, [], slices_at)


def sum_rows_twin(shape: Shape, x: Any, inputs: Any, times: Any, times_at: int, count: int, scale: float, out: Any) -> None:
    """out[0] = scale sum_b times[b] x[inputs[b]]."""
    out[0] = scale * sum(times[times_at + b] * x[inputs[b]] for b in range(count))


@block(sum_rows_twin)
def sum_rows(
    types: Any, b: Value, _: Value, x: Value, inputs: Value, times: Value, times_at: Value, count: Value, scale: Value, out: Value
) -> None:
    """All slices of the sum in registers, up to UNROLLED of them at a time."""
    blocks, _, _ = sizes(types[0])
    stride = blocks * LANES

    def slices_at(place: Value, slices: int, _: list[Value]) -> list[Value]:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]

        def add_input(i: Value, sums: list[Value]) -> list[Value]:
            source, weight = row(b, x, element(b, inputs, i), stride), splat(b, element(b, times, b.add(times_at, i)))
            return [fma(b, weight, load(b, source, p), s) for p, s in zip(places, sums, strict=True)]

        sums = loop(b, count, [splat_constant(0.0)] * slices, add_input)
        for p, s in zip(places, sums, strict=True):
            store(b, b.fmul(splat(b, scale), s, flags=FAST), out, p)
        return []

    _over_slices(b, blocks, UNROLLED, [], slices_at)


def add_to_rows_twin(shape: Shape, gradient: Any, scale: float, x: Any, inputs: Any, times: Any, times_at: int, count: int) -> None:
    """x[inputs[b]] += scale times[b] gradient[0] for all b."""
    for b in range(count):
        x[inputs[b]] += np.float32(scale * times[times_at + b]) * gradient[0]


@block(add_to_rows_twin)
def add_to_rows(
    types: Any, b: Value, _: Value, gradient: Value, scale: Value, x: Value, inputs: Value, times: Value, times_at: Value, count: Value
) -> None:
    """Up to UNROLLED slices of the gradient in registers while the rows go by."""
    blocks, _, _ = sizes(types[0])
    stride = blocks * LANES

    def slices_at(place: Value, slices: int, _: list[Value]) -> list[Value]:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]
        scaled = [b.fmul(splat(b, scale), load(b, gradient, p), flags=FAST) for p in places]

        def add_row(i: Value, _: list[Value]) -> list[Value]:
            target, weight = row(b, x, element(b, inputs, i), stride), splat(b, element(b, times, b.add(times_at, i)))
            for p, g in zip(places, scaled, strict=True):
                store(b, fma(b, weight, g, load(b, target, p)), target, p)
            return []

        loop(b, count, [], add_row)
        return []

    _over_slices(b, blocks, UNROLLED, [], slices_at)


def copy_words_twin(source: Any, at: int, target: Any, to: int, count: int) -> None:
    """target[to : to + count] = source[at : at + count]; both need LANES places of slack, what stands there in the target is lost."""
    target[to : to + count] = source[at : at + count]


@block(copy_words_twin)
def copy_words(types: Any, b: Value, source: Value, at: Value, target: Value, to: Value, count: Value) -> None:
    """A vector of ids at a time."""

    def copy(i: Value, _: list[Value]) -> list[Value]:
        shift = b.mul(i, i64(LANES))
        ids = b.load(b.bitcast(b.gep(source, [b.add(at, shift)]), INTEGERS.as_pointer()))
        ids.align = 4
        b.store(ids, b.bitcast(b.gep(target, [b.add(to, shift)]), INTEGERS.as_pointer())).align = 4
        return []

    loop(b, b.sdiv(b.add(count, i64(LANES - 1)), i64(LANES)), [], copy)


def copy_rows_twin(shape: Shape, x: Any, inputs: Any, count: int, out: Any) -> None:
    """out[b] = x[inputs[b]] for all b."""
    for b in range(count):
        out[b] = x[inputs[b]]


@block(copy_rows_twin)
def copy_rows(types: Any, b: Value, _: Value, x: Value, inputs: Value, count: Value, out: Value) -> None:
    """A slice at a time."""
    blocks, _, _ = sizes(types[0])
    stride = blocks * LANES

    def copy(i: Value, _: list[Value]) -> list[Value]:
        source, target = row(b, x, element(b, inputs, i), stride), row(b, out, i, stride)

        def copy_slice(place: Value, _slices: int, _: list[Value]) -> list[Value]:
            store(b, load(b, source, place), target, place)
            return []

        return _over_slices(b, blocks, 1, [], copy_slice)

    loop(b, count, [], copy)


def prefetch_twin(shape: Shape, matrix: Any, number: int) -> None:
    """Ask for a row that will be written soon; changes nothing."""


@block(prefetch_twin)
def prefetch(types: Any, b: Value, _: Value, matrix: Value, number: Value) -> None:
    """All cache lines of the row, up to PREFETCHED of them: the hardware follows a longer row by itself."""
    blocks, _, _ = sizes(types[0])
    start = b.bitcast(row(b, matrix, number, blocks * LANES), I8.as_pointer())
    for line in range(0, min(4 * blocks * LANES, PREFETCHED * LINE), LINE):
        arguments = [b.gep(start, [i64(line)]), ir.Constant(I32, 1), ir.Constant(I32, 3), ir.Constant(I32, 1)]
        call(b, "llvm.prefetch.p0", ir.VoidType(), arguments)
