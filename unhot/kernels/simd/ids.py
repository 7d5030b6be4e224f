"""Blocks that copy and search ids, one vector at a time. See tiles.py for twins."""

from typing import Any

from llvmlite import ir

from unhot.kernels.jit import block
from unhot.kernels.simd.lanes import I1, I32, I64, INTEGERS, LANES, Value, i64, loop


def copy_words_twin(source: Any, at: int, target: Any, to: int, count: int) -> None:
    """Copy source[at : at + count] to target[to : to + count].

    Both arrays need LANES places of slack; the slack of the target is overwritten.
    """
    target[to : to + count] = source[at : at + count]


@block(copy_words_twin)
def copy_words(
    types: Any, b: Value, source: Value, at: Value, target: Value, to: Value, count: Value
) -> None:
    """Copy one vector of ids at a time."""

    def copy(i: Value, _: list[Value]) -> list[Value]:
        shift = b.mul(i, i64(LANES))
        ids = b.load(b.bitcast(b.gep(source, [b.add(at, shift)]), INTEGERS.as_pointer()))
        ids.align = 4
        b.store(ids, b.bitcast(b.gep(target, [b.add(to, shift)]), INTEGERS.as_pointer())).align = 4
        return []

    loop(b, b.sdiv(b.add(count, i64(LANES - 1)), i64(LANES)), [], copy)


def last_match_twin(ids: Any, first: int, count: int, wanted: int) -> int:
    """Return the largest i < count with ids[first + i] == wanted, else -1; `ids` needs LANES more places."""
    return next((i for i in range(count - 1, -1, -1) if ids[first + i] == wanted), -1)


@block(last_match_twin)
def last_match(types: Any, b: Value, ids: Value, first: Value, count: Value, wanted: Value) -> int:
    """Compare one vector of ids at a time: set a bit for each match that is not behind the count."""
    undefined = ir.Constant(INTEGERS, ir.Undefined)
    first_lane = b.insert_element(undefined, wanted, ir.Constant(I32, 0))
    lanes = b.shuffle_vector(first_lane, undefined, ir.Constant(INTEGERS, [0] * LANES))

    def look(i: Value, found: list[Value]) -> list[Value]:
        at = b.mul(i, i64(LANES))
        here = b.load(b.bitcast(b.gep(ids, [b.add(first, at)]), INTEGERS.as_pointer()))
        here.align = 4
        left = b.sub(count, at)
        inside = b.select(b.icmp_signed("<", left, i64(LANES)), b.sub(b.shl(i64(1), left), i64(1)), i64(-1))
        hits = b.and_(b.zext(b.bitcast(b.icmp_signed("==", here, lanes), ir.IntType(LANES)), I64), inside)
        place = b.add(at, b.sub(i64(63), b.ctlz(hits, ir.Constant(I1, 0))))
        return [b.select(b.icmp_unsigned("==", hits, i64(0)), found[0], place)]

    rounds = b.sdiv(b.add(count, i64(LANES - 1)), i64(LANES))
    return loop(b, rounds, [i64(-1)], look)[0]  # type: ignore[no-any-return]


def first_bit_twin(mask: int) -> int:
    """Return the position of the lowest bit that is set in a number other than 0."""
    return (int(mask) & -int(mask)).bit_length() - 1


@block(first_bit_twin)
def first_bit(types: Any, b: Value, mask: Value) -> int:
    """Count the trailing zeros."""
    return b.cttz(mask, ir.Constant(I1, 1))  # type: ignore[no-any-return]
