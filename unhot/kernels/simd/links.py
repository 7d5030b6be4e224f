"""Links, which turn scores into a loss and its gradient.

Every layer uses one of two links, on scores s = x . o + biases + offset.

    logistic    L = sum_c weight_c softplus(s_c) - label_c s_c,     dL/ds = weight sigmoid(s) - label

A column of weight 1 is a yes (label 1: L = -log sigmoid(s)) or a no (label 0: L = -log sigmoid(-s)). The
weight of a column that stands for several draws of one row is the number of draws. softplus is computed as
max(s, 0) + log(1 + exp(-|s|)), so neither a large score nor a small loss loses digits.

    softmax     L = sum_t label_t (log Z_t - s_t),   Z_t = sum_{c not t} weight_c exp(s_c) + own_t exp(s_t)

Columns of label > 0 are targets, and the label is the multiplicity of the target. The weight is how often a
column is in the sums of the other columns. own_t = 1 if draws that hit the target are left out of its own sum
(`keep_hits=False`; if all weights are 1, this is the plain softmax, and all Z_t are equal). own_t = 1 +
weight_t if they are kept. With E_c = exp(s_c) and R = sum_t label_t / Z_t:

    dL/ds_c = weight_c E_c (R - label_c / Z_c) + label_c (own_c E_c / Z_c - 1)

Scores are laid out in tiles. An input has `padded` places in each tile, so a vector holds whole inputs. A sum
over columns is a sum over tiles and then over the lanes of a segment. Blocks for layers whose columns are the
whole vocabulary are in ranges.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from unhot.kernels.jit import block
from unhot.kernels.simd.elementary import exp, log, log1p
from unhot.kernels.simd.lanes import (
    FAST,
    I1,
    I32,
    I64,
    INTEGERS,
    LANES,
    VECTOR,
    Value,
    by_segments,
    call,
    fma,
    i64,
    load,
    loop,
    splat,
    splat_constant,
    splat_integer,
    spread,
    store,
    switch,
    total,
    when,
)
from unhot.kernels.simd.tiles import MAX_WIDTH, Shape, padded_width

LOWEST = -1e30  # the score of a place that belongs to no column


def logistic_twin(
    shape: Shape,
    scores: Any,
    at: int,
    count: int,
    label: Any,
    weight: Any,
    offset: Any,
    first: int,
    times: Any,
    times_at: int,
    lr: float,
) -> float:
    """Replace scores by e = lr times[b] (label - weight sigmoid(s)).

    Return the loss, the sum of times[b] (weight softplus(s) - label s).

    s = score + offset; label, weight and offset belong to column first + r.
    """
    padded, loss = padded_width(shape.width), 0.0
    for b in range(count):
        for r in range(shape.width):
            c, place = first + r, at + b * padded + r
            s = float(scores[place]) + float(offset[c])
            small = np.exp(-abs(s))
            loss += times[times_at + b] * (weight[c] * (max(s, 0.0) + np.log1p(small)) - label[c] * s)
            sigmoid = (1.0 if s >= 0 else small) / (1.0 + small)
            scores[place] = lr * times[times_at + b] * (label[c] - weight[c] * sigmoid)
    return loss


@block(logistic_twin)
def logistic(
    types: Any, b: Value, shape: Value, scores: Value, at: Value, count: Value, label: Value, weight: Value,
    offset: Value, first: Value, times: Value, times_at: Value, lr: Value,
) -> float:  # fmt: skip
    """Link LANES / padded inputs at a time; places beyond the width have label and weight zero."""
    rate = splat(b, lr)

    def link_tile(tile: _Tile) -> list[Value]:
        labels, weights, offsets = (tile.per_column(values, first) for values in (label, weight, offset))

        def link(i: Value, carried: list[Value]) -> list[Value]:
            place = b.add(at, b.mul(i, i64(LANES)))
            repeat = tile.per_input(times, times_at, i)
            loss, error = softplus(b, b.fadd(load(b, scores, place), offsets, flags=FAST), labels, weights)
            store(b, b.fmul(b.fmul(rate, repeat, flags=FAST), error, flags=FAST), scores, place)
            return [fma(b, repeat, loss, carried[0])]

        return loop(b, tile.vectors(count), [splat_constant(0.0)], link)

    return total(b, _by_padding(b, shape, link_tile)[0])  # type: ignore[no-any-return]


def softplus(b: Value, s: Value, labels: Value, weights: Value) -> tuple[Value, Value]:
    """Return the logistic loss of scores, and label - weight sigmoid(s)."""
    small = exp(b, b.fneg(call(b, f"llvm.fabs.v{LANES}f32", VECTOR, [s])))  # exp(-|s|) <= 1
    share = b.fdiv(splat_constant(1.0), b.fadd(splat_constant(1.0), small, flags=FAST), flags=FAST)
    positive = b.fcmp_ordered(">", s, splat_constant(0.0))
    sigmoid = b.select(positive, share, b.fmul(small, share, flags=FAST))
    # weight max(s, 0) - label s as one product: no digits are lost where the terms cancel, and the result is
    # NaN if s is not finite, whatever the label
    linear = b.fmul(b.fsub(b.select(positive, weights, splat_constant(0.0)), labels), s)
    return fma(b, weights, log1p(b, small), linear), b.fsub(
        labels, b.fmul(weights, sigmoid, flags=FAST), flags=FAST
    )


def softmax_twin(
    shape: Shape, scores: Any, at: int, room: int, tiles: int, count: int, label: Any, weight: Any, offset:
    Any, first: int, keep_hits: bool, times: Any, times_at: int, lr: float,
) -> float:  # fmt: skip
    """Replace the scores of one group by e = -lr times[b] dL/ds; return the loss.

    The group consists of `tiles` tiles, `room` places apart.
    """
    width, loss = shape.width, 0.0
    columns = first + np.arange(tiles * width)
    y, w = label[columns].astype(np.float64), weight[columns].astype(np.float64)
    own = 1 + w if keep_hits else np.ones_like(w)
    for b in range(count):
        places = [
            at + tile * room + b * padded_width(width) + r for tile in range(tiles) for r in range(width)
        ]
        s = scores[places].astype(np.float64) + offset[columns]
        e = np.exp(s - s.max())
        z = np.maximum((w * e).sum() - w * e, 0) + own * e
        share = y / z
        loss += times[times_at + b] * float((y * (np.log(z) + s.max() - s)).sum())
        gradient = w * e * (share.sum() - share) + own * e * share - y
        scores[places] = -lr * times[times_at + b] * gradient
    return loss


@block(softmax_twin)
def softmax(
    types: Any, b: Value, shape: Value, scores: Value, at: Value, room: Value, tiles: Value, count: Value,
    label: Value, weight: Value, offset: Value, first: Value, keep_hits: Value, times: Value, times_at: Value,
    lr: Value,
) -> float:  # fmt: skip
    """Link a vector of inputs at a time, in four passes over the tiles.

    The passes find the largest score, the exponentials and their sum, the sums of the targets, and the steps.
    """
    zero, one = splat_constant(0.0), splat_constant(1.0)
    kept, rate = b.select(keep_hits, one, zero), splat(b, lr)

    def link_tile(tile: _Tile) -> list[Value]:
        def link(i: Value, carried: list[Value]) -> list[Value]:
            begin, repeat = b.add(at, b.mul(i, i64(LANES))), tile.per_input(times, times_at, i)

            def place(t: Value) -> Value:
                return b.add(begin, b.mul(t, room))

            def column(values: Value, t: Value) -> Value:
                return tile.per_column(values, b.add(first, b.mul(t, tile.width)))

            def find_largest(t: Value, largest: list[Value]) -> list[Value]:
                s = b.fadd(load(b, scores, place(t)), column(offset, t), flags=FAST)
                s = b.select(tile.used, s, splat_constant(LOWEST))
                store(b, s, scores, place(t))
                return [maximum(b, s, largest[0])]

            largest = tile.over_columns(
                loop(b, tiles, [splat_constant(LOWEST)], find_largest)[0], lambda x, y: maximum(b, x, y)
            )

            def exponentials(t: Value, sums: list[Value]) -> list[Value]:
                below = b.fsub(load(b, scores, place(t)), largest)
                e = exp(b, below)
                store(b, e, scores, place(t))
                # label * below is NaN if a score is not finite, whatever the label
                return [
                    fma(b, column(weight, t), e, sums[0]),
                    b.fsub(sums[1], b.fmul(column(label, t), below)),
                ]

            z, linear = loop(b, tiles, [zero, zero], exponentials)
            z = tile.over_columns(z, lambda x, y: b.fadd(x, y, flags=FAST))

            def targets(t: Value, sums: list[Value]) -> list[Value]:
                y = column(label, t)
                some = call(b, f"llvm.vector.reduce.or.v{LANES}i1", I1, [b.fcmp_ordered(">", y, zero)])

                def add(sums: list[Value]) -> list[Value]:
                    own, share = _own_sum(b, kept, z, load(b, scores, place(t)), column(weight, t), y)
                    return [b.fadd(sums[0], share, flags=FAST), fma(b, y, log(b, own), sums[1])]

                return when(b, some, sums, add)

            shares, loss = loop(b, tiles, [zero, linear], targets)
            shares = tile.over_columns(shares, lambda x, y: b.fadd(x, y, flags=FAST))

            def steps(t: Value, _: list[Value]) -> list[Value]:
                e, w = load(b, scores, place(t)), column(weight, t)
                _, share = _own_sum(b, kept, z, e, w, column(label, t))
                others = b.fsub(shares, b.fmul(b.fsub(one, kept), share, flags=FAST), flags=FAST)
                drawn = b.fmul(b.fmul(w, e, flags=FAST), others, flags=FAST)
                error = b.fsub(
                    b.fsub(column(label, t), b.fmul(e, share, flags=FAST), flags=FAST), drawn, flags=FAST
                )
                store(b, b.fmul(b.fmul(rate, repeat, flags=FAST), error, flags=FAST), scores, place(t))
                return []

            loop(b, tiles, [], steps)
            return [fma(b, repeat, loss, carried[0])]

        return loop(b, tile.vectors(count), [zero], link)

    return total(b, _by_padding(b, shape, link_tile)[0])  # type: ignore[no-any-return]


def _own_sum(b: Value, kept: Value, z: Value, e: Value, w: Value, y: Value) -> tuple[Value, Value]:
    """Return Z_c and label_c / Z_c of columns, each as if it were a target."""
    # minus the draws of the column, or 0 if they are kept
    left_out = b.fmul(b.fsub(kept, splat_constant(1.0)), b.fmul(w, e, flags=FAST), flags=FAST)
    own = b.fadd(b.fadd(z, left_out, flags=FAST), e, flags=FAST)
    return own, b.fdiv(y, own, flags=FAST)


def softmax_tile_twin(
    shape: Shape, scores: Any, count: int, label: Any, weight: Any, offset: Any, first: int, keep_hits: bool,
    times: Any, times_at: int, lr: float,
) -> float:  # fmt: skip
    """Apply `softmax` to one tile with one target, of label 1, at the beginning of the scores."""
    return softmax_twin(
        shape, scores, 0, 0, 1, count, label, weight, offset, first, keep_hits, times, times_at, lr
    )


@block(softmax_tile_twin)
def softmax_tile(
    types: Any, b: Value, shape: Value, scores: Value, count: Value, label: Value, weight: Value, offset:
    Value, first: Value, keep_hits: Value, times: Value, times_at: Value, lr: Value,
) -> float:  # fmt: skip
    """Compute the only sum that one target needs: L = log Z - s_t, dL/ds = share of Z - label."""
    zero, one = splat_constant(0.0), splat_constant(1.0)
    rate = splat(b, lr)

    def add(v: Value, u: Value) -> Value:
        return b.fadd(v, u, flags=FAST)

    def link_tile(tile: _Tile) -> list[Value]:
        y, w, offsets = (tile.per_column(values, first) for values in (label, weight, offset))
        is_target = b.fcmp_ordered(">", y, zero)
        # how often each column is in the target's sum
        in_sum = b.select(is_target, b.select(keep_hits, b.fadd(w, one), one), w)

        def link(i: Value, carried: list[Value]) -> list[Value]:
            place, repeat = b.mul(i, i64(LANES)), tile.per_input(times, times_at, i)
            s = b.fadd(load(b, scores, place), offsets, flags=FAST)
            s = b.select(tile.used, s, splat_constant(LOWEST))
            below = b.fsub(s, tile.over_columns(s, lambda v, u: maximum(b, v, u)))
            e = exp(b, below)
            inside = b.fmul(in_sum, e, flags=FAST)
            z = tile.over_columns(inside, add)
            error = b.fsub(y, b.fdiv(inside, z, flags=FAST), flags=FAST)
            store(b, b.fmul(b.fmul(rate, repeat, flags=FAST), error, flags=FAST), scores, place)
            # y * (log Z - below) is NaN if a score is not finite, whatever the label
            return [fma(b, repeat, b.fmul(y, b.fsub(log(b, z), below)), carried[0])]

        return loop(b, tile.vectors(count), [zero], link)

    return total(b, _by_padding(b, shape, link_tile)[0])  # type: ignore[no-any-return]


def maximum(b: Value, x: Value, y: Value) -> Value:
    """Return the larger of x and y, lane by lane."""
    return b.select(b.fcmp_ordered(">", x, y), x, y)


class _Tile:
    """The layout of inputs and columns in a vector: lane = input * padded + column."""

    def __init__(self, b: Value, shape: Value, padded: int) -> None:
        self._b, self._padded = b, padded
        self.width = b.extract_value(shape, 1)
        lanes = ir.Constant(INTEGERS, [lane % padded for lane in range(LANES)])
        self.used = b.icmp_signed("<", lanes, splat_integer(b, b.trunc(self.width, I32)))

    def vectors(self, count: Value) -> Value:
        """Return how many vectors hold `count` inputs."""
        b = self._b
        return b.sdiv(b.add(b.mul(count, i64(self._padded)), i64(LANES - 1)), i64(LANES))

    def per_column(self, values: Value, first: Value) -> Value:
        """Load values[first + column] into the lanes; lanes beyond the width are zero."""
        b = self._b
        order = [lane % self._padded for lane in range(LANES)]
        return b.select(
            self.used, spread(b, load(b, values, first, self._padded), order), splat_constant(0.0)
        )

    def per_input(self, values: Value, first: Value, vector: Value) -> Value:
        """Load values[first + input] into the lanes, for the inputs of a vector."""
        b, inputs = self._b, LANES // self._padded
        at = b.add(first, b.mul(vector, i64(inputs)))
        return spread(b, load(b, values, at, inputs), [lane // self._padded for lane in range(LANES)])

    def over_columns(self, vector: Value, join: Any) -> Value:
        """Join all columns of each input, in each of its lanes."""
        return by_segments(self._b, vector, self._padded, join)


def _by_padding(b: Value, shape: Value, body: Callable[[_Tile], list[Value]]) -> list[Value]:
    """Run body(tile) for a tile of the width of a shape."""
    wide = b.zext(b.icmp_signed(">", b.extract_value(shape, 1), i64(4)), I64)
    cases = range(2 if MAX_WIDTH > 4 else 1)
    return switch(b, wide, cases, lambda case: body(_Tile(b, shape, 8 if case else 4)))
