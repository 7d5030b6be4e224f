"""Links: what turns scores into a loss and its gradient.

    logistic    L = sum of weight softplus(s) - label s,   dL/ds = weight sigmoid(s) - label

A column of weight 1 is a yes (label 1: L = -log sigmoid(s)) or a no (label 0: L = -log sigmoid(-s)); a column that stands for several draws
of one row has their number as weight. softplus is computed as max(s, 0) + log(1 + exp(-|s|)), so neither a large score nor a small loss
loses digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from unhot.kernels.blocks import Shape, padded_width, sizes
from unhot.kernels.jit import block
from unhot.kernels.simd import (
    FAST,
    I1,
    INTEGERS,
    LANES,
    VECTOR,
    Value,
    call,
    fma,
    i64,
    load,
    loop,
    polynomial,
    splat,
    splat_constant,
    spread,
    store,
    total,
)

LOG2_E = 1.4426950408889634
# Chebyshev fits: 2**x on [-1/2, 1/2] to 1e-7, log(1 + x) / x on [0, 1] to 4e-8 (relative)
EXP2 = (1.0000001, 0.6931472, 0.24022107, 0.05550357, 0.009676032, 0.0013390863)
LOG1P = (0.99999994, -0.49999446, 0.3331812, -0.24835399, 0.19076881, -0.13602248, 0.077516086, -0.029074065, 0.005126102)


def logistic_twin(
    shape: Shape, scores: Any, at: int, count: int, label: Any, weight: Any, offset: Any, first: int, times: Any, times_at: int, lr: float
) -> float:
    """Replace scores by e = lr times[b] (label - weight sigmoid(s)); return the loss, the sum of times[b] (weight softplus(s) - label s).

    s = score + offset; label, weight and offset belong to column first + r.
    """
    padded, loss = padded_width(len(shape.width)), 0.0
    for b in range(count):
        for r in range(len(shape.width)):
            c, place = first + r, at + b * padded + r
            s = float(scores[place]) + float(offset[c])
            small = np.exp(-abs(s))
            loss += times[times_at + b] * (weight[c] * (max(s, 0.0) + np.log1p(small)) - label[c] * s)
            sigmoid = (1.0 if s >= 0 else small) / (1.0 + small)
            scores[place] = lr * times[times_at + b] * (label[c] - weight[c] * sigmoid)
    return loss


@block(logistic_twin)
def logistic(
    types: Any, b: Value, _: Value, scores: Value, at: Value, count: Value, label: Value, weight: Value, offset: Value, first: Value,
    times: Value, times_at: Value, lr: Value,
) -> float:  # fmt: skip
    """A vector of LANES / padded inputs at a time; places beyond the width have label and weight zero."""
    _, width, _ = sizes(types[0])
    padded = padded_width(width)
    inputs = LANES // padded
    by_column, by_input = [lane % padded for lane in range(LANES)], [lane // padded for lane in range(LANES)]
    used = ir.Constant(ir.VectorType(I1, LANES), [lane % padded < width for lane in range(LANES)])

    def per_column(values: Value) -> Value:
        return b.select(used, spread(b, load(b, values, first, padded), by_column), splat_constant(0.0))

    labels, weights, offsets = per_column(label), per_column(weight), per_column(offset)
    rate = splat(b, lr)

    def link(i: Value, carried: list[Value]) -> list[Value]:
        place = b.add(at, b.mul(i, i64(LANES)))
        repeat = spread(b, load(b, times, b.add(times_at, b.mul(i, i64(inputs))), inputs), by_input)
        s = b.fadd(load(b, scores, place), offsets, flags=FAST)
        small = _exp(b, b.fneg(call(b, f"llvm.fabs.v{LANES}f32", VECTOR, [s])))  # exp(-|s|) <= 1
        share = b.fdiv(splat_constant(1.0), b.fadd(splat_constant(1.0), small, flags=FAST), flags=FAST)
        positive = b.fcmp_ordered(">", s, splat_constant(0.0))
        sigmoid = b.select(positive, share, b.fmul(small, share, flags=FAST))
        # weight max(s, 0) - label s as one product: nothing is lost where they cancel, and it is NaN if s is not finite, whatever the label
        linear = b.fmul(b.fsub(b.select(positive, weights, splat_constant(0.0)), labels), s)
        loss = fma(b, b.fmul(weights, small, flags=FAST), polynomial(b, small, LOG1P), linear)
        error = b.fsub(labels, b.fmul(weights, sigmoid, flags=FAST), flags=FAST)
        store(b, b.fmul(b.fmul(rate, repeat, flags=FAST), error, flags=FAST), scores, place)
        return [fma(b, repeat, loss, carried[0])]

    vectors = b.sdiv(b.add(b.mul(count, i64(padded)), i64(LANES - 1)), i64(LANES))
    return total(b, loop(b, vectors, [splat_constant(0.0)], link)[0])  # type: ignore[no-any-return]


def _exp(b: Value, x: Value) -> Value:
    """exp(x) for x <= 0, not below exp(-87): 2**whole by its bits times a polynomial of the rest."""
    x = b.select(b.fcmp_ordered(">", x, splat_constant(-87.0)), x, splat_constant(-87.0))
    whole = call(b, f"llvm.rint.v{LANES}f32", VECTOR, [b.fmul(x, splat_constant(LOG2_E), flags=FAST)])
    power = polynomial(b, fma(b, x, splat_constant(LOG2_E), b.fneg(whole)), EXP2)
    bits = b.shl(b.add(b.fptosi(whole, INTEGERS), ir.Constant(INTEGERS, [127] * LANES)), ir.Constant(INTEGERS, [23] * LANES))
    return b.fmul(power, b.bitcast(bits, VECTOR), flags=FAST)
