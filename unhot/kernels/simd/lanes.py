"""Vectors of floats in LLVM: the operations of which the blocks consist.

Auto-vectorised loops lose half their time to alias checks, remainder loops and gradients kept in memory. So
the blocks emit vector code directly. Each function here takes the LLVM builder `b` as its first argument and
emits a few instructions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

Value = Any  # an LLVM value (llvmlite has no types)

_FEATURES = llvm.get_host_cpu_features()
LANES = 16 if _FEATURES.get("avx512f") else 8 if _FEATURES.get("avx2") else 4  # floats in a vector
# whether the CPU converts 16-bit floats
HAS_HALVES = llvm.get_process_triple().split("-")[0] not in ("x86_64", "i686") or bool(_FEATURES.get("f16c"))
# vector registers; SSE also has only 16, but the code for NEON, which has 32, does no harm there
REGISTERS = 16 if LANES == 8 else 32
LINE = 64  # bytes in a cache line

F32, I1 = ir.FloatType(), ir.IntType(1)
I8, I16 = ir.IntType(8), ir.IntType(16)
I32, I64 = ir.IntType(32), ir.IntType(64)
VECTOR, INTEGERS = ir.VectorType(F32, LANES), ir.VectorType(I32, LANES)
HALVES = ir.VectorType(ir.HalfType(), LANES)  # 16-bit floats; numba sees their arrays as uint16
LOST = 13  # bits of a float that a half has no room for
# odd numbers without a pattern
GOLDEN, MIX_1 = 0x9E3779B1, 0x85EBCA6B
MIX_2 = 0xC2B2AE35
# Everything but `nnan` and `ninf`: a NaN must reach the loss, where it stops the training.
FAST = ("nsz", "arcp", "contract", "afn", "reassoc")


def i64(value: int) -> Value:
    """Return a 64-bit constant."""
    return ir.Constant(I64, value)


def splat_constant(value: float) -> Value:
    """Return a vector with a constant in all lanes."""
    return ir.Constant(VECTOR, [value] * LANES)


def wide(b: Value, integer: Value) -> Value:
    """Sign-extend an integer to 64 bits, so that products of row and stride never overflow."""
    return integer if integer.type.width == 64 else b.sext(integer, I64)


def call(b: Value, name: str, result: Value, arguments: Sequence[Value]) -> Value:
    """Call an LLVM intrinsic by its full name."""
    function = b.module.globals.get(name) or ir.Function(
        b.module, ir.FunctionType(result, [a.type for a in arguments]), name=name
    )
    return b.call(function, arguments, fastmath=FAST if result in (VECTOR, F32) else ())


def element(b: Value, base: Value, index: Value) -> Value:
    """Load base[index]."""
    return b.load(b.gep(base, [index]))


def row(b: Value, base: Value, number: Value, stride: Value) -> Value:
    """Return the address of a matrix row; the offset is computed in 64 bits."""
    return b.gep(base, [b.mul(wide(b, number), stride)])


def load(b: Value, base: Value, at: Value, lanes: int = LANES) -> Value:
    """Load a vector of floats from base[at]."""
    out = b.load(b.bitcast(b.gep(base, [at]), ir.VectorType(F32, lanes).as_pointer()))
    out.align = 4
    return out


def store(b: Value, vector: Value, base: Value, at: Value) -> None:
    """Store a vector of floats to base[at]."""
    b.store(vector, b.bitcast(b.gep(base, [at]), VECTOR.as_pointer())).align = 4


def is_half(base: Value) -> bool:
    """Return whether an array holds 16-bit floats."""
    return bool(base.type.pointee == I16)


def load_any(b: Value, base: Value, at: Value) -> Value:
    """Load a vector of floats from base[at]; the array may hold 16-bit floats."""
    if not is_half(base):
        return load(b, base, at)
    out = b.load(b.bitcast(b.gep(base, [at]), HALVES.as_pointer()))
    out.align = 2
    return b.fpext(out, VECTOR)


def store_half(b: Value, vector: Value, base: Value, at: Value, noise: Value) -> None:
    """Store a vector as 16-bit floats to base[at], rounded at random by the upper bits of `noise`.

    A step is often smaller than half the distance to the next 16-bit float. Rounded to the nearest float, the
    number would never change.
    """
    raised = b.add(b.bitcast(vector, INTEGERS), b.lshr(noise, integers(32 - LOST)))
    kept = b.and_(raised, integers(-(1 << LOST)))
    b.store(
        b.fptrunc(b.bitcast(kept, VECTOR), HALVES), b.bitcast(b.gep(base, [at]), HALVES.as_pointer())
    ).align = 2


def noise_of(b: Value, vector: Value, number: Value) -> Value:
    """Return random bits in each lane, made from the bits of a vector of floats and from a number."""
    mixed = b.xor(
        b.bitcast(vector, INTEGERS),
        b.mul(splat_integer(b, b.trunc(wide(b, number), I32)), integers(GOLDEN - (1 << 32))),
    )
    mixed = b.mul(mixed, integers(MIX_1 - (1 << 32)))
    return b.mul(b.xor(mixed, b.lshr(mixed, integers(15))), integers(MIX_2 - (1 << 32)))


def integers(value: int) -> Value:
    """Return a vector with a 32-bit constant in all lanes."""
    return ir.Constant(INTEGERS, [value] * LANES)


def splat_integer(b: Value, scalar: Value) -> Value:
    """Return a vector with a 32-bit integer in all lanes."""
    undefined = ir.Constant(INTEGERS, ir.Undefined)
    return b.shuffle_vector(b.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, integers(0))


def spread(b: Value, vector: Value, order: Sequence[int]) -> Value:
    """Return a full vector whose lane i is lane order[i] of the given vector."""
    return b.shuffle_vector(
        vector, ir.Constant(vector.type, ir.Undefined), ir.Constant(INTEGERS, list(order))
    )


def splat(b: Value, scalar: Value) -> Value:
    """Return a vector with a scalar in all lanes."""
    return spread(
        b, b.insert_element(ir.Constant(VECTOR, ir.Undefined), scalar, ir.Constant(I32, 0)), [0] * LANES
    )


def fma(b: Value, x: Value, y: Value, z: Value) -> Value:
    """Return x * y + z."""
    return call(b, f"llvm.fma.v{LANES}f32", VECTOR, [x, y, z])


def polynomial(b: Value, x: Value, coefficients: Sequence[float]) -> Value:
    """Compute sum_i coefficients[i] x**i by Horner's rule."""
    out = splat_constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        out = fma(b, out, x, splat_constant(c))
    return out


def total(b: Value, vector: Value) -> Value:
    """Return the sum of the lanes."""
    return call(b, f"llvm.vector.reduce.fadd.v{LANES}f32", F32, [ir.Constant(F32, -0.0), vector])


def totals(b: Value, vectors: Sequence[Value]) -> Value:
    """Return a vector whose lane i is the sum of the lanes of vectors[i], for up to LANES vectors.

    Other lanes hold arbitrary finite numbers.

    This is a butterfly: at the level of bit s, two vectors become one. Its lanes with bit s = 0 belong to the
    first vector, the others to the second. All sums together cost LANES - 1 merges of three instructions,
    where LANES separate reductions cost 2 log2(LANES) instructions each.
    """
    rows: list[Value | None] = [*vectors, *[None] * (LANES - len(vectors))]
    bit = 1
    while bit < LANES:
        rows = [_merge(b, rows[i], rows[i + 1], bit) for i in range(0, len(rows), 2)]
        bit *= 2
    return rows[0]


def _merge(b: Value, first: Value | None, second: Value | None, bit: int) -> Value | None:
    if first is None:
        return None
    second = first if second is None else second
    own = ir.Constant(INTEGERS, [lane + (LANES if lane & bit else 0) for lane in range(LANES)])
    partner = ir.Constant(INTEGERS, [(lane ^ bit) + (LANES if lane & bit else 0) for lane in range(LANES)])
    return b.fadd(b.shuffle_vector(first, second, own), b.shuffle_vector(first, second, partner), flags=FAST)


def by_segments(b: Value, vector: Value, lanes: int, join: Callable[[Value, Value], Value]) -> Value:
    """Join the lanes of each segment, in all its lanes; a segment is `lanes` neighbours, a power of two."""
    bit = 1
    while bit < lanes:
        vector = join(vector, spread(b, vector, [lane ^ bit for lane in range(LANES)]))
        bit *= 2
    return vector


def when(
    b: Value, condition: Value, carried: Sequence[Value], body: Callable[..., Sequence[Value]]
) -> list[Value]:
    """Run body(carried) if the condition holds; return its result, else `carried`."""
    before, inside = b.block, b.append_basic_block("then")
    after = b.append_basic_block("on")
    b.cbranch(condition, inside, after)
    b.position_at_end(inside)
    out, last = list(body(carried)), b.block
    b.branch(after)
    b.position_at_end(after)
    phis = [b.phi(value.type) for value in carried]
    for phi, old, new in zip(phis, carried, out, strict=True):
        phi.add_incoming(old, before)
        phi.add_incoming(new, last)
    return phis


def switch(
    b: Value, number: Value, cases: Sequence[int], body: Callable[[int], Sequence[Value]]
) -> list[Value]:
    """Run body(case) for the case that equals a number; the last case stands for all other numbers.

    Returns the result of the body. Each case must return the same number of values, of the same types.
    """
    if len(cases) == 1:
        return list(body(cases[0]))
    blocks = [b.append_basic_block(f"case{case}") for case in cases]
    after = b.append_basic_block("after")
    choice = b.switch(number, blocks[-1])
    ends = []
    for case, inside in zip(cases, blocks, strict=True):
        if inside is not blocks[-1]:
            choice.add_case(i64(case), inside)
        b.position_at_end(inside)
        ends.append((list(body(case)), b.block))
        b.branch(after)
    b.position_at_end(after)
    phis = [b.phi(value.type) for value in ends[0][0]]
    for values, end in ends:
        for phi, value in zip(phis, values, strict=True):
            phi.add_incoming(value, end)
    return phis


def loop(
    b: Value, count: Value, carried: Sequence[Value], body: Callable[..., Sequence[Value]]
) -> list[Value]:
    """Run body(i, carried) for i = 0 .. count - 1, count >= 1.

    Each round returns the next `carried`. Returns the result of the last round.
    """
    before, inside = b.block, b.append_basic_block("loop")
    after = b.append_basic_block("done")
    b.branch(inside)
    b.position_at_end(inside)
    i = b.phi(I64)
    i.add_incoming(i64(0), before)
    phis = [b.phi(value.type) for value in carried]
    for phi, value in zip(phis, carried, strict=True):
        phi.add_incoming(value, before)
    out = list(body(i, phis))
    following = b.add(i, i64(1))
    i.add_incoming(following, b.block)
    for phi, value in zip(phis, out, strict=True):
        phi.add_incoming(value, b.block)
    b.cbranch(b.icmp_signed("<", following, count), inside, after)
    b.position_at_end(after)
    return out
