"""Blocks that sum, change, copy and prefetch whole rows of a matrix.

See tiles.py for shapes and twins.

Except for `copy_rows`, the rows may hold 16-bit floats. Their array then has the type uint16, since numba has
no arithmetic for 16-bit floats.
"""

from typing import Any

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block
from unhot.kernels.simd.lanes import (
    FAST,
    GOLDEN,
    I8,
    I32,
    LANES,
    LINE,
    LOST,
    MIX_1,
    MIX_2,
    Value,
    call,
    element,
    fma,
    i64,
    is_half,
    load,
    load_any,
    loop,
    noise_of,
    row,
    splat,
    splat_constant,
    store,
    store_half,
)
from unhot.kernels.simd.tiles import UNROLLED, Shape, each_slice, over_slices, stride_of

PREFETCHED = 8  # cache lines of a row to prefetch


def as_floats(matrix: Any) -> Any:
    """View a matrix as floats: uint16 holds 16-bit floats."""
    return matrix.view(np.float16) if matrix.dtype == np.uint16 else matrix


def sum_rows_twin(
    shape: Shape, x: Any, inputs: Any, times: Any, times_at: int, count: int, scale: float, out: Any
) -> None:
    """Set out[0] = scale sum_b times[b] x[inputs[b]]."""
    rows = as_floats(x)
    out[0] = scale * sum(times[times_at + b] * rows[inputs[b]].astype(np.float32) for b in range(count))


@block(sum_rows_twin)
def sum_rows(
    types: Any, b: Value, shape: Value, x: Value, inputs: Value, times: Value, times_at: Value, count: Value,
    scale: Value, out: Value,
) -> None:  # fmt: skip
    """Keep up to UNROLLED slices of the sum in registers at a time."""
    stride = stride_of(b, shape)

    def slices_at(place: Value, slices: int) -> None:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]

        def add_input(i: Value, sums: list[Value]) -> list[Value]:
            source, weight = (
                row(b, x, element(b, inputs, i), stride),
                splat(b, element(b, times, b.add(times_at, i))),
            )
            return [fma(b, weight, load_any(b, source, p), s) for p, s in zip(places, sums, strict=True)]

        sums = loop(b, count, [splat_constant(0.0)] * slices, add_input)
        for p, s in zip(places, sums, strict=True):
            store(b, b.fmul(splat(b, scale), s, flags=FAST), out, p)

    over_slices(b, shape, UNROLLED, slices_at)


def add_to_rows_twin(
    shape: Shape, gradient: Any, scale: float, x: Any, inputs: Any, times: Any, times_at: int, count: int
) -> None:
    """Add scale times[b] gradient[0] to x[inputs[b]] for all b."""
    rows, scaled = as_floats(x), np.float32(scale) * gradient[0]
    for b in range(count):
        new = rows[inputs[b]] + np.float32(times[times_at + b]) * scaled
        rows[inputs[b]] = new if rows is x else rounded_twin(new, scaled, inputs[b])


def rounded_twin(numbers: Any, gradient: Any, number: int) -> Any:
    """Round floats to 16 bits as `store_half` does with the noise of `noise_of`."""
    with np.errstate(over="ignore"):
        mixed = (gradient.view(np.uint32) ^ np.uint32(int(number) * GOLDEN % 2**32)) * np.uint32(MIX_1)
        noise = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(MIX_2)
    raised = numbers.astype(np.float32).view(np.uint32) + (noise >> np.uint32(32 - LOST))
    return (raised >> np.uint32(LOST) << np.uint32(LOST)).view(np.float32).astype(np.float16)


@block(add_to_rows_twin)
def add_to_rows(
    types: Any, b: Value, shape: Value, gradient: Value, scale: Value, x: Value, inputs: Value, times: Value,
    times_at: Value, count: Value,
) -> None:  # fmt: skip
    """Keep up to UNROLLED slices of the gradient in registers during the loop over the rows.

    16-bit floats are rounded at random.
    """
    stride = stride_of(b, shape)

    def slices_at(place: Value, slices: int) -> None:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]
        scaled = [b.fmul(splat(b, scale), load(b, gradient, p), flags=FAST) for p in places]

        def add_row(i: Value, _: list[Value]) -> list[Value]:
            number = element(b, inputs, i)
            target, weight = row(b, x, number, stride), splat(b, element(b, times, b.add(times_at, i)))
            for p, g in zip(places, scaled, strict=True):
                new = fma(b, weight, g, load_any(b, target, p))
                if is_half(x):
                    store_half(b, new, target, p, noise_of(b, g, number))
                else:
                    store(b, new, target, p)
            return []

        loop(b, count, [], add_row)

    over_slices(b, shape, UNROLLED, slices_at)


def copy_rows_twin(shape: Shape, x: Any, inputs: Any, count: int, out: Any) -> None:
    """Copy x[inputs[b]] to out[b] for all b."""
    for b in range(count):
        out[b] = x[inputs[b]]


@block(copy_rows_twin)
def copy_rows(types: Any, b: Value, shape: Value, x: Value, inputs: Value, count: Value, out: Value) -> None:
    """Copy one slice at a time."""
    stride = stride_of(b, shape)

    def copy(i: Value, _: list[Value]) -> list[Value]:
        source, target = row(b, x, element(b, inputs, i), stride), row(b, out, i, stride)

        def copy_slice(place: Value, _: list[Value]) -> list[Value]:
            store(b, load(b, source, place), target, place)
            return []

        return each_slice(b, shape, [], copy_slice)

    loop(b, count, [], copy)


def exchange_row_twin(shape: Shape, x: Any, common: int, own: int, before: int) -> None:
    """Add x[own] - x[before] to x[common], and copy the sum to x[own] and x[before]."""
    rows = as_floats(x)
    step = rows[own].astype(np.float32) - rows[before].astype(np.float32)
    new = rows[common].astype(np.float32) + step
    rows[common] = rows[own] = rows[before] = new if rows is x else rounded_twin(new, step, common)


@block(exchange_row_twin)
def exchange_row(
    types: Any, b: Value, shape: Value, x: Value, common: Value, own: Value, before: Value
) -> None:
    """Exchange one slice at a time. 16-bit floats are rounded at random."""
    stride = stride_of(b, shape)
    rows = [row(b, x, number, stride) for number in (common, own, before)]

    def exchange_slice(place: Value, _: list[Value]) -> list[Value]:
        shared, mine, old = (load_any(b, source, place) for source in rows)
        step = b.fsub(mine, old)
        new = b.fadd(shared, step)
        for target in rows:
            if is_half(x):
                store_half(b, new, target, place, noise_of(b, step, common))
            else:
                store(b, new, target, place)
        return []

    each_slice(b, shape, [], exchange_slice)


def prefetch_twin(shape: Shape, matrix: Any, number: int) -> None:
    """Prefetch a row; without the JIT, do nothing."""


@block(prefetch_twin)
def prefetch(types: Any, b: Value, shape: Value, matrix: Value, number: Value) -> None:
    """Prefetch a row that will be written soon."""
    _ask_for(b, shape, matrix, number, 1)


@block(prefetch_twin)
def prefetch_to_read(types: Any, b: Value, shape: Value, matrix: Value, number: Value) -> None:
    """Prefetch a row that will only be read, so that other cores keep their copies of it."""
    _ask_for(b, shape, matrix, number, 0)


def prefetch_number_twin(numbers: Any, index: int) -> None:
    """Prefetch a number of a flat array that will be read soon; without the JIT, do nothing."""


@block(prefetch_number_twin)
def prefetch_number(types: Any, b: Value, numbers: Value, index: Value) -> None:
    """Prefetch the cache line of a number."""
    line = b.bitcast(b.gep(numbers, [index]), I8.as_pointer())
    arguments = [line, ir.Constant(I32, 0), ir.Constant(I32, 3), ir.Constant(I32, 1)]
    call(b, "llvm.prefetch.p0", ir.VoidType(), arguments)


def _ask_for(b: Value, shape: Value, matrix: Value, number: Value, write: int) -> None:
    """Prefetch up to PREFETCHED cache lines: the hardware itself fetches the rest of a longer row."""
    stride = stride_of(b, shape)
    start = b.bitcast(row(b, matrix, number, stride), I8.as_pointer())
    floats = LINE // (2 if is_half(matrix) else 4)
    lines = b.udiv(b.add(stride, i64(floats - 1)), i64(floats))
    lines = b.select(b.icmp_unsigned("<", lines, i64(PREFETCHED)), lines, i64(PREFETCHED))

    def ask(i: Value, _: list[Value]) -> list[Value]:
        line = b.gep(start, [b.mul(i, i64(LINE))])
        arguments = [line, ir.Constant(I32, write), ir.Constant(I32, 3), ir.Constant(I32, 1)]
        call(b, "llvm.prefetch.p0", ir.VoidType(), arguments)
        return []

    loop(b, lines, [], ask)
