"""One training step: inputs and columns in, parameters changed by minus lr times the gradient.

`learn_each` has many inputs, each a row of its own (skip-gram: the words around a centre predict it).
`learn_bag` has one, the sum or the mean of some rows (CBOW: the words around; a single row: skip-gram, the
centre predicts the words around it).

A row that is frozen is never written, since another thread may be reading it: the step is done on a copy,
which is forgotten.
"""

from __future__ import annotations

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
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.rows import add_to_rows, copy_rows, sum_rows
from unhot.kernels.simd.tiles import Shape, score, update
from unhot.kernels.steps import Tiles, link, score_columns, tile_shape, update_columns
from unhot.kernels.windows import ones_at


@inner
def put_aside(params: Any, inputs: Any, count: Any, chunk: Any) -> None:
    """Replace the inputs that are frozen by copies of them."""
    if chunk.frozen.size > 0:
        x = params.in_vectors
        for b in range(count):
            source, copy = inputs.row[b], chunk.hot.aside + b
            if chunk.frozen[source] == 1:
                for i in range(x.shape[1]):
                    x[copy, i] = x[source, i]
                if params.in_bias.size > 0:
                    params.in_bias[copy] = params.in_bias[source]
                inputs.row[b] = copy


@generic
def learn_each(
    shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, part: Any, chunk: Any
) -> Any:
    """Train the first `count` rows of `scratch.inputs`, whose multiplicities begin at `times`.

    Returns the loss.
    """


@learn_each.register(Shape)
def _each_in_one_tile(
    shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, part: Any, chunk: Any
) -> Any:
    """In one tile nothing needs to be copied: each slice of x and o is read, and then written, once."""
    x, o, inputs, columns, scores = (
        params.in_vectors,
        params.out_vectors,
        scratch.inputs,
        scratch.columns,
        scratch.scores,
    )
    first = first_of(columns, part)
    put_aside(params, inputs, count, chunk)
    score(shape, x, inputs.row, count, o, columns.row, first, scores, 0)
    loss = _link_each(shape, tables, params, scratch, count, times, part, chunk)
    update(shape, x, inputs.row, count, o, columns.row, first, scores, 0)
    return loss


@learn_each.register(Tiles)
def _each_in_tiles(
    shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, part: Any, chunk: Any
) -> Any:
    """Every tile needs the old inputs, so they are copied first."""
    x, o, inputs, columns, scores = (
        params.in_vectors,
        params.out_vectors,
        scratch.inputs,
        scratch.columns,
        scratch.scores,
    )
    first, n = first_of(columns, part), columns.filled[part]
    put_aside(params, inputs, count, chunk)
    copy_rows(shape.tile, x, inputs.row, count, scratch.hidden)
    score_columns(shape, x, inputs.row, count, o, columns, first, n, scores)
    loss = _link_each(shape, tables, params, scratch, count, times, part, chunk)
    update_columns(shape, scratch.hidden, scratch.places, count, o, columns, first, n, scores, x, inputs.row)
    return loss


@inner
def _link_each(
    shape: Any, tables: Any, params: Any, scratch: Any, count: Any, times: Any, part: Any, chunk: Any
) -> Any:
    inputs, columns, scores = scratch.inputs, scratch.columns, scratch.scores
    first, n = first_of(columns, part), columns.filled[part]
    if has_in_bias(params):
        for b in range(count):
            add_to_scores(
                shape,
                scores,
                count,
                b,
                n,
                in_bias_of(params, inputs.row[b]) - ln_z_of(params, chunk.hot.ln_z_at),
            )
    if params.out_bias.size > 0:
        add_out_bias(shape, params.out_bias, columns, first, n, scores)
    loss = link(tables, shape, scores, count, columns, part, inputs.times, times, chunk.lr)
    if params.out_bias.size > 0:
        learn_out_bias(shape, params.out_bias, columns, first, n, scores, count)
    if has_in_bias(params):
        for b in range(count):
            step = sum_of_steps(shape, scores, count, b, n)
            learn_in_bias(params, inputs.row[b], step)
            learn_ln_z(params, chunk.hot.ln_z_at, step)
    return loss


@inner
def learn_bag(
    shape: Any,
    tables: Any,
    params: Any,
    scratch: Any,
    count: Any,
    times: Any,
    share: Any,
    moved: Any,
    part: Any,
    chunk: Any,
) -> Any:
    """Train one input, `share` times the sum of the first `count` rows of `scratch.inputs`; returns the loss.

    Each of its rows moves by `moved` times the step of the input: by `share` times, if it is the gradient.
    """
    x, o, inputs, columns, scores = (
        params.in_vectors,
        params.out_vectors,
        scratch.inputs,
        scratch.columns,
        scratch.scores,
    )
    tile, first, n = tile_shape(shape), first_of(columns, part), columns.filled[part]
    put_aside(params, inputs, count, chunk)
    sum_rows(tile, x, inputs.row, inputs.times, times, count, share, scratch.hidden)
    score_columns(shape, scratch.hidden, scratch.places, 1, o, columns, first, n, scores)
    if has_in_bias(params):
        bias = -ln_z_of(params, chunk.hot.ln_z_at)
        for b in range(count):
            bias += share * inputs.times[times + b] * in_bias_of(params, inputs.row[b])
        add_to_scores(shape, scores, 1, 0, n, bias)
    if params.out_bias.size > 0:
        add_out_bias(shape, params.out_bias, columns, first, n, scores)
    loss = link(tables, shape, scores, 1, columns, part, inputs.times, ones_at(inputs, 1), chunk.lr)
    if params.out_bias.size > 0:
        learn_out_bias(shape, params.out_bias, columns, first, n, scores, 1)
    if has_in_bias(params):
        step = sum_of_steps(shape, scores, 1, 0, n)
        for b in range(count):
            learn_in_bias(params, inputs.row[b], moved * inputs.times[times + b] * step)
        learn_ln_z(params, chunk.hot.ln_z_at, step)
    scratch.gradient[:] = np.float32(0.0)
    update_columns(
        shape,
        scratch.hidden,
        scratch.places,
        1,
        o,
        columns,
        first,
        n,
        scores,
        scratch.gradient,
        scratch.places,
    )
    add_to_rows(tile, scratch.gradient, moved, x, inputs.row, inputs.times, times, count)
    return loss
