"""One training step: change the parameters by minus lr times the gradient for an example and its columns.

`Each` has many inputs, and each is one row (skip-gram: the words around a centre predict it). `Bag` has one
input, the sum or the mean of some rows (CBOW: the words around the centre; a single row: skip-gram, the
centre predicts the words around it). `MixedBag` has one input, too, and learns how much each of its rows
counts.

A frozen row is never written, since another thread may be reading it. The step changes a copy, which is then
discarded.
"""

from typing import Any

import numpy as np

from unhot.kernels.biases import (
    add_out_bias,
    add_to_scores,
    has_in_bias,
    in_bias_of,
    learn_in_bias,
    learn_ln_z,
    learn_out_bias,
    ln_z_of,
    sum_of_steps,
)
from unhot.kernels.columns import first_of
from unhot.kernels.feeder import Bag, Each, MixedBag, ones_at
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.rows import add_to_rows, sum_rows
from unhot.kernels.steps import keep_inputs, link, score_columns, tile_shape, update_columns, update_each


@generic
def learn(example: Any, shape: Any, tables: Any, params: Any, scratch: Any, part: Any, how: Any) -> Any:
    """Train an example, whose rows are in `scratch.inputs`, on one part of the columns; return the loss."""


@inner
def put_aside(params: Any, inputs: Any, count: Any, how: Any) -> None:
    """Replace frozen inputs by copies."""
    if how.frozen.size > 0:
        x = params.in_vectors
        for b in range(count):
            source, copy = inputs.row[b], how.hot.aside + b
            if how.frozen[source] == 1:
                for i in range(x.shape[1]):
                    x[copy, i] = x[source, i]
                if params.in_bias.size > 0:
                    params.in_bias[copy] = params.in_bias[source]
                inputs.row[b] = copy


@learn.register(Each)
def _learn_each(example: Any, shape: Any, tables: Any, params: Any, scratch: Any, part: Any, how: Any) -> Any:
    """Train several inputs x_b, with s[b, c] = x_b . o_c; all rows change at once."""
    inputs, columns = scratch.inputs, scratch.columns
    count, scores = example.rows, scratch.scores
    first, n = first_of(columns, part), columns.filled[part]
    put_aside(params, inputs, count, how)
    keep_inputs(shape, params.in_vectors, inputs.row, count, scratch.hidden)
    score_columns(shape, params.in_vectors, inputs.row, count, params.out_vectors, scratch, part)
    if has_in_bias(params):
        for b in range(count):
            bias = in_bias_of(params, inputs.row[b]) - ln_z_of(params, how.hot.ln_z_at)
            add_to_scores(shape, scores, count, b, n, bias)
    if params.out_bias.size > 0:
        add_out_bias(shape, params.out_bias, columns, first, n, scores)
    loss = link(tables, shape, scores, count, columns, part, inputs.times, example.times, how.lr)
    if params.out_bias.size > 0:
        learn_out_bias(shape, params.out_bias, columns, first, n, scores, count)
    if has_in_bias(params):
        for b in range(count):
            step = sum_of_steps(shape, scores, count, b, n)
            learn_in_bias(params, inputs.row[b], step)
            learn_ln_z(params, how.hot.ln_z_at, step)
    update_each(shape, params, scratch, count, part)
    return loss


@learn.register(Bag)
def _learn_bag(example: Any, shape: Any, tables: Any, params: Any, scratch: Any, part: Any, how: Any) -> Any:
    """Train one input h; each of its rows changes by `moved` times the step of h."""
    loss = _learn_hidden(example, shape, tables, params, scratch, part, how)
    _move_rows(example, shape, params, scratch)
    return loss


@learn.register(MixedBag)
def _learn_mixed(
    example: Any, shape: Any, tables: Any, params: Any, scratch: Any, part: Any, how: Any
) -> Any:
    """Train one input h = sum_b w_b x_b, its rows, and their weights w = softmax(a).

    dL/dx_b = w_b dL/dh,   dL/da_b = w_b (x_b - h) . dL/dh; the step d of h is -lr dL/dh
    """
    loss = _learn_hidden(example, shape, tables, params, scratch, part, how)
    inputs, step = scratch.inputs, scratch.gradient[0]
    mean = np.float32(0.0)
    for i in range(step.size):
        mean += scratch.hidden[0, i] * step[i]
    for b in range(example.rows):
        x, dot = params.in_vectors[inputs.row[b]], np.float32(0.0)
        for i in range(step.size):
            dot += x[i] * step[i]
        gradient = inputs.times[example.times + b] * (dot - mean)
        example.mixing[example.at + b] += example.rate * gradient
    _move_rows(example, shape, params, scratch)
    return loss


@inner
def _move_rows(example: Any, shape: Any, params: Any, scratch: Any) -> None:
    """Change the rows of a bag by the step of h, which is in `scratch.gradient`."""
    inputs, count = scratch.inputs, example.rows
    tile, step = tile_shape(shape), scratch.gradient
    add_to_rows(tile, step, example.moved, params.in_vectors, inputs.row, inputs.times, example.times, count)


@inner
def _learn_hidden(
    example: Any, shape: Any, tables: Any, params: Any, scratch: Any, part: Any, how: Any
) -> Any:
    """Train the columns of one input h, with s[c] = h . o_c; write the step of h to `scratch.gradient`."""
    inputs, columns = scratch.inputs, scratch.columns
    count, times = example.rows, example.times
    o, scores = params.out_vectors, scratch.scores
    tile, first = tile_shape(shape), first_of(columns, part)
    n = columns.filled[part]
    put_aside(params, inputs, count, how)
    sum_rows(tile, params.in_vectors, inputs.row, inputs.times, times, count, example.share, scratch.hidden)
    score_columns(shape, scratch.hidden, scratch.places, 1, o, scratch, part)
    if has_in_bias(params):
        bias = -ln_z_of(params, how.hot.ln_z_at)
        for b in range(count):
            bias += example.share * inputs.times[times + b] * in_bias_of(params, inputs.row[b])
        add_to_scores(shape, scores, 1, 0, n, bias)
    if params.out_bias.size > 0:
        add_out_bias(shape, params.out_bias, columns, first, n, scores)
    lr = how.lr * example.weight
    loss = link(tables, shape, scores, 1, columns, part, inputs.times, ones_at(inputs, 1), lr)
    if params.out_bias.size > 0:
        learn_out_bias(shape, params.out_bias, columns, first, n, scores, 1)
    if has_in_bias(params):
        step = sum_of_steps(shape, scores, 1, 0, n)
        for b in range(count):
            learn_in_bias(params, inputs.row[b], example.moved * inputs.times[times + b] * step)
        learn_ln_z(params, how.hot.ln_z_at, step)
    gradient, places = scratch.gradient, scratch.places
    gradient[:] = np.float32(0.0)
    update_columns(shape, scratch.hidden, places, 1, o, scratch, part, gradient, places)
    return loss * example.weight
