"""The examples of session vectors: a centre predicts the items around it and what its session booked.

    L = - sum_c log s(o_c . x_l)     items c around the centre l
        - sum_n log s(-o_n . x_l)    draws n of the output layer
        - log s(o_b . x_l)           the booked item b of the session, unless it is the centre
        - sum_m log s(-o_m . x_l)    draws m from the market of l, some for each of the T targets
        - sum_r log s(-o_r . x_l)    the items r for which the user was rejected in the session

with s(z) = 1 / (1 + exp(-z)). A draw that hits a target is dropped as the output layer drops it. A rejected
item is never dropped: if it stands near the centre, too, both terms count.

Reference: Grbovic and Cheng, Real-time personalization using embeddings for search ranking at Airbnb, 2018.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.columns import Targets, find, put
from unhot.kernels.feeder import Bag, given_columns, input_of, ones_at
from unhot.kernels.jit import inner
from unhot.kernels.rng import GAMMA, mix
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.window_feeder import register_windows
from unhot.kernels.windows import Text, Window, contexts_of, fill_inputs
from unhot.noise.alias import draw_within
from unhot.types import Doubles, Ids, Starts, Words64


class Sessions(NamedTuple):
    """What is known of the lines of a log, and of the markets of its items."""

    booked: Ids  # [lines] the booked item, -1: none
    rejected_starts: Starts  # [lines + 1]
    rejected: Ids  # the items that each line was rejected for, each once
    market_of: Ids  # [items] -1: none
    market_starts: Starts  # [markets + 1]
    members: Ids  # the items of each market
    table: Words64  # an alias table for each market
    k: int  # draws from the market for each target


class BookedFeeder(NamedTuple):
    """Examples with the booked item; `Text.beside` has the number of each line."""

    text: Text
    window: Window
    sessions: Sessions


class SessionFeeder(NamedTuple):
    """Examples with the booked item, draws from the market, and rejected items."""

    text: Text
    window: Window
    sessions: Sessions


def reference(x: Doubles, targets: Doubles, negatives: Doubles) -> tuple[Doubles, ...]:
    """Compute the loss of a centre x, and its gradients for x, targets and negatives, which are rows.

    The booked item is one more target; draws and rejected items are negatives.

    >>> loss, *gradients = reference(np.ones(1), np.zeros((2, 1)), np.zeros((1, 1)))
    >>> float(loss.round(4)), [g.tolist() for g in gradients]
    (2.0794, [[0.0], [[-0.5], [-0.5]], [[0.5]]])
    """
    right, wrong = targets @ x, negatives @ x
    loss = np.logaddexp(0, -right).sum() + np.logaddexp(0, wrong).sum()
    up, down = -1 / (1 + np.exp(right)), 1 / (1 + np.exp(-wrong))
    return loss, up @ targets + down @ negatives, np.outer(up, x), np.outer(down, x)


@inner
def line_of(feeder: Any, kept: Any, centre: Any) -> Any:
    """Return the number of the line that a centre is in."""
    return feeder.text.beside[kept.line[kept.begin[centre]]]


@inner
def booked_with(feeder: Any, kept: Any, centre: Any) -> Any:
    """Return what was booked in the session of a centre; -1: nothing, or the centre itself."""
    booked = feeder.sessions.booked[line_of(feeder, kept, centre)]
    return np.int32(-1) if booked == kept.word[centre] else booked


def _around_and_booked(feeder: Any, scratch: Any, centre: Any) -> Any:
    """Return the items around the centre, and the booked one, as targets, each with its own draws."""
    kept, inputs = scratch.feed, scratch.inputs
    count, times, total = fill_inputs(kept, kept.word, centre, inputs, 1)
    booked = booked_with(feeder, kept, centre)
    if booked >= 0:
        own, at = inputs.times.size // 2, count
        for i in range(count):
            at = i if inputs.row[i] == booked else at
            inputs.times[own + i] = inputs.times[times + i]
        if at == count:
            inputs.row[at], inputs.times[own + at] = booked, np.float32(0.0)
            count += 1
        inputs.times[own + at] += np.float32(1.0)
        for pad in range(own + count, own + count + LANES):
            inputs.times[pad] = np.float32(0.0)
        times, total = own, total + 1
    return Targets(inputs.row, 0, inputs.times, times, count, total, total, 1)


register_windows(BookedFeeder, _around_and_booked)
register_windows(SessionFeeder, _around_and_booked)


@input_of.register(SessionFeeder)
@input_of.register(BookedFeeder)
def _centre(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    one = np.float32(1.0)
    pairs = contexts_of(kept, centre) + np.int64(booked_with(feeder, kept, centre) >= 0)
    inputs.row[0] = kept.row[centre]
    return Bag(min(pairs, 1), ones_at(inputs, 1), pairs, one, one, one)


@given_columns.register(SessionFeeder)
def _negatives(
    feeder: Any, tables: Any, scratch: Any, centre: Any, targets: Any, state: Any, first: Any, n: Any
) -> Any:
    """Add draws from the market of the centre, and the rejected items of its session."""
    sessions, kept = feeder.sessions, scratch.feed
    columns = scratch.columns
    one, item = np.float32(1.0), kept.word[centre]
    drop = one / np.float32(targets.total) if tables.drop_hits else np.float32(0.0)
    market = sessions.market_of[item] if sessions.market_of.size else np.int32(-1)
    if market >= 0:
        begin = sessions.market_starts[market]
        size = sessions.market_starts[market + 1] - begin
        for _ in range(sessions.k * targets.total):
            state += GAMMA
            drawn = sessions.members[begin + draw_within(sessions.table, begin, size, mix(state))]
            n = _add_negative(columns, first, n, drawn, one, drop)
    line = line_of(feeder, kept, centre)
    for i in range(sessions.rejected_starts[line], sessions.rejected_starts[line + 1]):
        if sessions.rejected[i] != item:
            n = _add_negative(columns, first, n, sessions.rejected[i], one, np.float32(0.0))
    return n, state


@inner
def _add_negative(columns: Any, first: Any, n: Any, item: Any, weight: Any, drop: Any) -> Any:
    """Add to the weight of the column of an item, which may be new; return the number of columns."""
    at = find(columns, first, n, item)
    if at < 0:
        put(columns, first + n, item, 0.0, weight, 0.0)
        return n + 1
    columns.weight[first + at] += weight - drop * columns.label[first + at]
    return n
