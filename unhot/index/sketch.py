"""The sketch: rows as bytes, from which an upper bound of their cosines is computed.

A *sketch* stores each row x as integers z with x ~ a z, where a = max |x_d| / 127. A unit query u is rounded
in the same way, u ~ c q, with the error e = |u - c q|. Then, by using Cauchy-Schwarz twice,

    cos(x, u) = x . u / |x| <= (1 + e) ((z . q) c / (1 + e) a / |x| + |x - a z| / |x|) + e
                            =: (1 + e) ((z . q) gain factor         + slack)           + e

So the row's cosine can only be above `limit` if (z . q) gain factor + slack > (limit - e) / (1 + e). The
slack also covers the float32 rounding of this computation. If the processor has no products of bytes, the
query stays in float32, with e = 0 and c = 1.

The bytes are stored in strips of STRIP rows, [strip, dim / DEPTH, STRIP, DEPTH]: a vector of 32-bit numbers
holds DEPTH dimensions of LANES rows. So no sum over lanes is needed, and a single query reads the sketch from
front to back. LANES rows of a strip are a *tile*.
"""

import os
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from unhot.index.lengths import LARGE, SMALL
from unhot.kernels.jit import block, kernel
from unhot.kernels.simd.lanes import (
    I32,
    I64,
    INTEGERS,
    LANES,
    REGISTERS,
    VECTOR,
    Value,
    call,
    element,
    fma,
    i64,
    load,
    loop,
    splat,
)
from unhot.types import Doubles, Floats

GROUP = 24 if REGISTERS == 32 else 12  # queries screened together: their sums fill the registers
ALONE = 4  # tiles screened together for a single query: enough sums to hide the latency of an addition
STRIP = ALONE * LANES  # rows whose bytes are interleaved
DEPTH = 4  # dimensions in a 32-bit number
STEPS = 127  # steps of the scale on either side of zero
MAX_DIM = 1 << 16  # up to this dimension, sums of products of bytes fit into 32 bits

_FEATURES = llvm.get_host_cpu_features()
# whether the processor can sum products of bytes (AVX-512 VNNI, AVX-VNNI), and numba compiles for it
_OTHER = any(os.environ.get(name) for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"))
BYTE_PRODUCTS = not _OTHER and bool(_FEATURES.get({16: "avx512vnni", 8: "avxvnni"}.get(LANES, "none")))


class Tile(NamedTuple):
    """Sizes that the compiler must know; each is given as the length of a tuple."""

    together: tuple[int, ...]  # tiles of rows screened together
    queries: tuple[int, ...]  # queries screened together
    bytes: tuple[int, ...]  # one entry if queries are bytes, too; empty if they are float32


def tile(alone: bool, byte_products: bool = BYTE_PRODUCTS) -> Tile:
    """Return the sizes for a single query, or for many queries."""
    return Tile((0,) * (ALONE if alone else 1), (0,) * (1 if alone else GROUP), (0,) * byte_products)


class FlatRows(NamedTuple):
    """The original rows as one flat array, including the padding between rows."""

    values: Floats  # row r begins at r * stride
    stride: int
    norms: Doubles  # [rows]


class Sketch(NamedTuple):
    """The rows as bytes; places after the last row have slack -inf."""

    bytes: Any  # int8 [strips * ceil(dim / DEPTH) * STRIP * DEPTH]
    factors: Floats  # [strips * STRIP]
    slacks: Floats  # [strips * STRIP]; inf: always confirm the row, -inf: never


@kernel
def fill_sketch(rows: Any, dim: Any, sketch: Any) -> None:
    """Write the sketch of all rows; rows without a direction keep the slack -inf."""
    for row in range(rows.norms.shape[0]):
        begin, norm = row * rows.stride, rows.norms[row]
        if not (norm > 0.0 and norm < np.inf):
            continue  # the row has no direction and is never found
        if norm < SMALL or norm > LARGE:
            sketch.slacks[row] = np.inf
            continue
        top = np.float32(0.0)
        for d in range(dim):
            top = max(top, abs(rows.values[begin + d]))
        scale, error = top / np.float32(STEPS), 0.0
        inverse = np.float32(1.0) / scale
        at = (row // STRIP * STRIP * -(-dim // DEPTH) + row % STRIP) * DEPTH
        for d in range(dim):
            value = rows.values[begin + d]
            rounded = np.rint(value * inverse)
            difference = np.float64(value) - np.float64(scale) * np.float64(rounded)
            error += difference * difference
            sketch.bytes[at + d // DEPTH * STRIP * DEPTH + d % DEPTH] = np.int8(rounded)
        sketch.factors[row] = scale / norm
        # the second term is twice the largest change of a cosine by dim + 8 float32 roundings
        sketch.slacks[row] = np.sqrt(error) / norm + (dim + 8) * 2.0**-23


class Packed(NamedTuple):
    """Queries in the form that `screen` reads; places after the last query have limit inf: find nothing."""

    # int32 (holding bytes) or float32 [groups, 1 + steps, width]: initial values of the sums, then the query
    numbers: Any
    gains: Floats  # [groups * width]
    errors: Floats  # [groups * width]
    limits: Floats  # [groups * width] for (z . q) gain factor + slack; inf: the query finds nothing


def pack(units: Doubles, tile: Tile) -> Packed:
    """Pack queries, which are unit vectors or zeros, into the form that `screen` reads."""
    (count, dim), width = units.shape, len(tile.queries)
    groups, steps = -(-count // width), -(-dim // DEPTH)
    shape = (groups, 1 + (steps if tile.bytes else steps * DEPTH), width)
    numbers = np.zeros(shape, np.int32 if tile.bytes else np.float32)
    errors, limits = np.zeros(groups * width, np.float32), np.full(groups * width, np.inf, np.float32)
    packed = Packed(numbers.reshape(-1), np.ones(groups * width, np.float32), errors, limits)
    fill_packed(tile, units, numbers, numbers.view(np.int8), packed)
    return packed


@kernel
def fill_packed(tile: Any, units: Any, numbers: Any, data: Any, packed: Any) -> None:
    """Write the queries into `numbers` and `packed`; `data` is the memory of `numbers` as bytes."""
    width, byte_products = len(tile.queries), len(tile.bytes)
    count, dim = units.shape
    for query in range(count):
        group, place = query // width, query % width
        top = 0.0
        for d in range(dim):
            top = max(top, abs(units[query, d]))
        if top == 0.0:
            continue
        packed.limits[query] = -np.inf
        if byte_products == 0:
            for d in range(dim):
                numbers[group, 1 + d, place] = units[query, d]
            continue
        scale = top / STEPS
        total = 0
        error = 0.0
        for d in range(dim):
            rounded = np.rint(units[query, d] / scale)
            error += (units[query, d] - rounded * scale) ** 2
            total += int(rounded)
            data[group, 1 + d // DEPTH, place * DEPTH + d % DEPTH] = np.int8(rounded)
        # the processor multiplies unsigned by signed bytes, so rows are shifted by 128, which adds
        # 128 * total to each sum; sums begin with minus that
        numbers[group, 0, place] = -128 * total
        packed.errors[query] = np.sqrt(error)
        packed.gains[query] = scale / (1.0 + np.sqrt(error))


def screen_twin(
    tile: Tile,
    data: Any,
    factors: Any,
    slacks: Any,
    dim: int,
    number: int,
    numbers: Any,
    gains: Any,
    limits: Any,
    group: int,
    passed: Any,
) -> int:
    """Write passed[j]: a bit for each row in some tiles of a strip that may be near query j of the group.

    Return 0 if there is no such row for any query.
    """
    width = len(tile.queries)
    count = len(tile.together) * LANES
    steps = -(-dim // DEPTH)
    first = number * LANES
    begin = first // STRIP * STRIP * steps * DEPTH
    strip = data[begin : begin + STRIP * steps * DEPTH].reshape(steps, STRIP, DEPTH)
    z = strip[:, first % STRIP :][:, :count].transpose(1, 0, 2).reshape(count, -1).astype(np.float32)
    lines = 1 + (steps if tile.bytes else steps * DEPTH)
    packed = numbers[group * lines * width :][: lines * width].reshape(lines, width)[1:]
    packed = np.ascontiguousarray(packed.T)  # [width, steps]
    q = packed.view(np.int8).astype(np.float32) if tile.bytes else packed
    here, there = slice(group * width, (group + 1) * width), slice(first, first + count)
    above = (q @ z.T) * gains[here, None] * factors[there] + slacks[there] > limits[here, None]
    for j in range(width):
        passed[j] = np.packbits(np.pad(above[j], (0, 64 - count)), bitorder="little").view(np.int64)[0]
    return int(above.any())


@block(screen_twin)
def screen(
    types: Any,
    b: Value,
    tile: Value,
    data: Value,
    factors: Value,
    slacks: Value,
    dim: Value,
    number: Value,
    numbers: Value,
    gains: Value,
    limits: Value,
    group: Value,
    passed: Value,
) -> int:
    """Emit the vector code of `screen_twin`, with all sums of the tiles in registers."""
    together, width, byte_products = (t.count for t in types[0].types)
    steps = b.sdiv(b.add(dim, i64(DEPTH - 1)), i64(DEPTH))
    strip = b.mul(b.sdiv(number, i64(ALONE)), b.mul(steps, i64(STRIP)))
    begin = b.gep(data, [b.mul(b.add(strip, b.mul(b.srem(number, i64(ALONE)), i64(LANES))), i64(DEPTH))])
    lines = b.add(i64(1), steps if byte_products else b.mul(steps, i64(DEPTH)))
    query = b.gep(numbers, [b.mul(b.mul(group, lines), i64(width))])
    add = _add_bytes if byte_products else _add_floats

    def add_step(step: Value, sums: list[Value]) -> list[Value]:
        places = [
            b.gep(begin, [b.add(b.mul(step, i64(STRIP * DEPTH)), i64(t * LANES * DEPTH))])
            for t in range(together)
        ]
        z = [b.load(b.bitcast(place, INTEGERS.as_pointer())) for place in places]
        for each in z:
            each.align = 4
        return add(b, query, step, z, sums)

    starts = [_splat(b, element(b, query, i64(j))) for j in range(width)]
    sums = loop(b, steps, starts * together, add_step)
    first = b.mul(number, i64(LANES))
    rows = [b.add(first, i64(t * LANES)) for t in range(together)]
    factor, slack = [load(b, factors, r) for r in rows], [load(b, slacks, r) for r in rows]
    found = i64(0)
    for j in range(width):
        at = b.add(b.mul(group, i64(width)), i64(j))
        gain, limit = splat(b, element(b, gains, at)), splat(b, element(b, limits, at))
        bits = i64(0)
        for t in range(together):
            total = sums[t * width + j]
            total = b.sitofp(total, VECTOR) if byte_products else total
            above = b.fcmp_ordered(">", fma(b, b.fmul(total, gain), factor[t], slack[t]), limit)
            bits = b.or_(bits, b.shl(b.zext(b.bitcast(above, ir.IntType(LANES)), I64), i64(t * LANES)))
        b.store(bits, b.gep(passed, [i64(j)]))
        found = b.or_(found, bits)
    return found  # type: ignore[no-any-return]


def _add_bytes(b: Value, query: Value, step: Value, z: list[Value], sums: list[Value]) -> list[Value]:
    """Emit sums[t, j] += z_t . q_j, where the dot product runs over the bytes of each 32-bit number."""
    width = len(sums) // len(z)
    shifted = [b.xor(each, _constant(-0x7F7F7F80)) for each in z]  # each byte + 128
    line = b.mul(b.add(step, i64(1)), i64(width))
    q = [_splat(b, element(b, query, b.add(line, i64(j)))) for j in range(width)]
    name = f"llvm.x86.avx512.vpdpbusd.{32 * LANES}"
    return [call(b, name, INTEGERS, [s, shifted[i // width], q[i % width]]) for i, s in enumerate(sums)]


def _add_floats(b: Value, query: Value, step: Value, z: list[Value], sums: list[Value]) -> list[Value]:
    """Emit sums[t, j] += z_t u_j for each byte of the 32-bit numbers."""
    width = len(sums) // len(z)
    for depth in range(DEPTH):
        raised = [b.shl(each, _constant(8 * (DEPTH - 1 - depth))) for each in z]
        floats = [b.sitofp(b.ashr(each, _constant(24)), VECTOR) for each in raised]
        line = b.mul(b.add(b.mul(step, i64(DEPTH)), i64(1 + depth)), i64(width))
        u = [_splat(b, element(b, query, b.add(line, i64(j)))) for j in range(width)]
        sums = [fma(b, floats[i // width], u[i % width], s) for i, s in enumerate(sums)]
    return sums


def _constant(value: int) -> Value:
    return ir.Constant(INTEGERS, [value] * LANES)


def _splat(b: Value, scalar: Value) -> Value:
    """Copy a 32-bit number, integer or float, to all lanes."""
    if scalar.type != I32:
        return splat(b, scalar)
    undefined = ir.Constant(INTEGERS, ir.Undefined)
    return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, _constant(0))
