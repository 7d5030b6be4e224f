"""Blocks for layers whose columns are all rows of a matrix: softmax, one-vs-all.

A step has one input x and V rows. It has the same three phases as in tiles.py, but looks up no row numbers.
The bandwidth of the memory limits its speed: the matrix is read once to score and once to update. The scores
of neighbouring rows are neighbours in the buffer, which needs LANES floats of slack.
"""

from typing import Any

import numpy as np

from unhot.kernels.jit import block
from unhot.kernels.simd.elementary import exp
from unhot.kernels.simd.lanes import (
    F32,
    FAST,
    LANES,
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
    total,
    totals,
    when,
)
from unhot.kernels.simd.links import LOWEST, maximum, softplus
from unhot.kernels.simd.tiles import UNROLLED, Shape, each_slice, over_slices, stride_of

AT_ONCE = min(8, LANES)  # rows scored together: their addresses fit into registers


def score_all_twin(shape: Shape, x: Any, number: int, o: Any, rows: int, scores: Any) -> None:
    """Set scores[w] = x[number] . o[w] for all w < rows."""
    scores[:rows] = o[:rows] @ x[number]


@block(score_all_twin)
def score_all(
    types: Any, b: Value, shape: Value, x: Value, number: Value, o: Value, rows: Value, scores: Value
) -> None:
    """Score LANES rows together, with the sums of AT_ONCE rows in registers; score the rest one by one."""
    stride = stride_of(b, shape)
    source = row(b, x, number, stride)

    def sums_of(first: Value, together: int) -> list[Value]:
        begins = [row(b, o, b.add(first, i64(r)), stride) for r in range(together)]

        def add_slice(at: Value, sums: list[Value]) -> list[Value]:
            h = load(b, source, at)
            return [fma(b, h, load(b, begin, at), s) for begin, s in zip(begins, sums, strict=True)]

        return each_slice(b, shape, [splat_constant(0.0)] * together, add_slice)

    def many(i: Value, _: list[Value]) -> list[Value]:
        first = b.mul(i, i64(LANES))
        parts = [sums_of(b.add(first, i64(r)), AT_ONCE) for r in range(0, LANES, AT_ONCE)]
        store(b, totals(b, [each for part in parts for each in part]), scores, first)
        return []

    def one(i: Value, _: list[Value]) -> list[Value]:
        at = b.add(full, i)
        store(
            b, totals(b, sums_of(at, 1)), scores, at
        )  # the next row overwrites the other lanes, or they are slack
        return []

    groups = b.sdiv(rows, i64(LANES))
    full = b.mul(groups, i64(LANES))
    _if_any(b, groups, many)
    _if_any(b, b.sub(rows, full), one)


def update_all_twin(shape: Shape, x: Any, number: int, o: Any, rows: int, steps: Any, gradient: Any) -> None:
    """Add e[w] x[number] to o[w], and sum_w e[w] o[w], from the old o, to gradient[0]."""
    old = o[:rows].copy()
    o[:rows] += steps[:rows, None] * x[number]
    gradient[0] += steps[:rows] @ old


@block(update_all_twin)
def update_all(
    types: Any, b: Value, shape: Value, x: Value, number: Value, o: Value, rows: Value, steps: Value,
    gradient: Value,
) -> None:  # fmt: skip
    """Keep up to UNROLLED slices of x and of the gradient in registers during the loop over the rows."""
    stride = stride_of(b, shape)
    source = row(b, x, number, stride)

    def slices_at(place: Value, slices: int) -> None:
        places = [b.add(place, i64(k * LANES)) for k in range(slices)]
        h = [load(b, source, p) for p in places]

        def update(w: Value, sums: list[Value]) -> list[Value]:
            target, e = row(b, o, w, stride), splat(b, element(b, steps, w))
            old = [load(b, target, p) for p in places]
            for k, p in enumerate(places):
                store(b, fma(b, e, h[k], old[k]), target, p)
            return [fma(b, e, old[k], sums[k]) for k in range(slices)]

        sums = loop(b, rows, [load(b, gradient, p) for p in places], update)
        for s, p in zip(sums, places, strict=True):
            store(b, s, gradient, p)

    over_slices(b, shape, UNROLLED, slices_at)


def largest_twin(scores: Any, count: int) -> float:
    """Return the largest score, and set the slack behind the scores to LOWEST."""
    scores[count : count + LANES - 1] = LOWEST
    return float(scores[:count].max())


@block(largest_twin)
def largest(types: Any, b: Value, scores: Value, count: Value) -> float:
    """Compare one vector at a time."""
    store(b, splat_constant(LOWEST), scores, count)
    out = loop(
        b,
        _vectors(b, count),
        [splat_constant(LOWEST)],
        lambda i, c: [maximum(b, load(b, scores, b.mul(i, i64(LANES))), c[0])],
    )
    return call(b, f"llvm.vector.reduce.fmax.v{LANES}f32", F32, out)  # type: ignore[no-any-return]


def exponentials_twin(scores: Any, count: int, top: float) -> float:
    """Replace scores s by exp(s - top); return the sum, which is NaN if a score is not finite."""
    scores[:count] = np.exp(scores[:count] - top)
    return float(scores[:count].sum())


@block(exponentials_twin)
def exponentials(types: Any, b: Value, scores: Value, count: Value, top: Value) -> float:
    """Replace one vector at a time; the slack becomes almost zero."""
    highest = splat(b, top)

    def one(i: Value, sums: list[Value]) -> list[Value]:
        at = b.mul(i, i64(LANES))
        below = b.fsub(load(b, scores, at), highest)
        e = exp(b, below)
        store(b, e, scores, at)
        # 0 * below is NaN where a score is not finite
        return [b.fadd(sums[0], e, flags=FAST), fma(b, below, splat_constant(0.0), sums[1])]

    sums = loop(b, _vectors(b, count), [splat_constant(0.0), splat_constant(0.0)], one)
    return b.fadd(total(b, sums[0]), total(b, sums[1]))  # type: ignore[no-any-return]


def scale_all_twin(scores: Any, count: int, factor: float) -> None:
    """Multiply all scores by a factor."""
    scores[:count] *= np.float32(factor)


@block(scale_all_twin)
def scale_all(types: Any, b: Value, scores: Value, count: Value, factor: Value) -> None:
    """Multiply one vector at a time."""

    def one(i: Value, _: list[Value]) -> list[Value]:
        at = b.mul(i, i64(LANES))
        store(b, b.fmul(load(b, scores, at), splat(b, factor), flags=FAST), scores, at)
        return []

    loop(b, _vectors(b, count), [], one)


def logistic_all_twin(scores: Any, count: int, weight: float, lr: float) -> float:
    """Replace scores by -lr weight sigmoid(s); return the loss, weight times the sum of softplus(s)."""
    s = scores[:count].astype(np.float64)
    scores[:count] = -lr * weight / (1.0 + np.exp(-s))
    return float(weight * np.logaddexp(0.0, s).sum())


@block(logistic_all_twin)
def logistic_all(types: Any, b: Value, scores: Value, count: Value, weight: Value, lr: Value) -> float:
    """Link one vector at a time."""
    store(b, splat_constant(LOWEST), scores, count)
    weights, rate = splat(b, weight), splat(b, lr)

    def one(i: Value, losses: list[Value]) -> list[Value]:
        at = b.mul(i, i64(LANES))
        loss, error = softplus(b, load(b, scores, at), splat_constant(0.0), weights)
        store(b, b.fmul(rate, error, flags=FAST), scores, at)
        return [b.fadd(losses[0], loss, flags=FAST)]

    return total(b, loop(b, _vectors(b, count), [splat_constant(0.0)], one)[0])  # type: ignore[no-any-return]


def _vectors(b: Value, count: Value) -> Value:
    return b.sdiv(b.add(count, i64(LANES - 1)), i64(LANES))


def _if_any(b: Value, count: Value, body: Any) -> None:
    """Run the body for 0 .. count - 1, where count may be 0."""
    when(b, b.icmp_signed(">", count, i64(0)), [], lambda _: loop(b, count, [], body))
