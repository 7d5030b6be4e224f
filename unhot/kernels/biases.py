"""Biases: learned numbers that are added to the scores.

    s[b, c] = x_b . o_c + out_bias_c + in_bias_b - ln_z + offset_c

An array of size zero means that the layer does not have this bias. `in_bias` has one number per input row; a
bag combines these numbers as it combines its rows. ln_z is a single number. Each thread has its own copy of
it, at `ln_z_at`.
"""

from typing import Any

import numpy as np

from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.tiles import Shape
from unhot.kernels.steps import All, padded_width_of, tile_room


@generic
def add_out_bias(shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, scores: Any) -> Any:
    """Add the output biases of the columns to their scores or offsets, before the link."""


@generic
def learn_out_bias(
    shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, steps: Any, count: Any
) -> Any:
    """Update the output biases of the columns, after the link."""


@add_out_bias.register(Shape)
def _add_to_offsets(shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, scores: Any) -> None:
    for c in range(first, first + n):
        columns.offset[c] += out_bias[columns.row[c]]


@add_out_bias.register(All)
def _add_to_all(shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, scores: Any) -> None:
    for w in range(shape.rows):
        scores[w] += out_bias[w]


@learn_out_bias.register(Shape)
def _learn_columns(
    shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, steps: Any, count: Any
) -> None:
    padded, end = padded_width_of(shape), first + n
    c, place = first, 0
    while c < end:
        for r in range(shape.width):
            for b in range(count):
                out_bias[columns.row[c + r]] += steps[place + b * padded + r]
        c += shape.width
        place += tile_room(shape, count)


@learn_out_bias.register(All)
def _learn_all(shape: Any, out_bias: Any, columns: Any, first: Any, n: Any, steps: Any, count: Any) -> None:
    for w in range(shape.rows):
        out_bias[w] += steps[w]


@inner
def has_in_bias(params: Any) -> Any:
    """Return whether the layer has an input bias or ln Z."""
    return params.in_bias.size + params.ln_z.size > 0


@inner
def in_bias_of(params: Any, row: Any) -> Any:
    """Return the bias of an input row, or 0 if the layer has no input bias."""
    return params.in_bias[row] if params.in_bias.size > 0 else np.float32(0.0)


@inner
def ln_z_of(params: Any, ln_z_at: Any) -> Any:
    """Return this thread's ln Z, or 0 if the layer has none."""
    return params.ln_z[ln_z_at] if params.ln_z.size > 0 else np.float32(0.0)


@generic
def add_to_scores(shape: Any, scores: Any, count: Any, b: Any, n: Any, bias: Any) -> Any:
    """Add a bias to the scores of input b in all n columns."""


@generic
def sum_of_steps(shape: Any, steps: Any, count: Any, b: Any, n: Any) -> Any:
    """Return the step of a bias of input b: the sum of its steps over all n columns."""


@add_to_scores.register(Shape)
def _add_to_columns(shape: Any, scores: Any, count: Any, b: Any, n: Any, bias: Any) -> None:
    c, place = 0, b * padded_width_of(shape)
    while c < n:
        for r in range(shape.width):
            scores[place + r] += bias
        c += shape.width
        place += tile_room(shape, count)


@add_to_scores.register(All)
def _add_to_all_scores(shape: Any, scores: Any, count: Any, b: Any, n: Any, bias: Any) -> None:
    for w in range(shape.rows):
        scores[w] += bias


@sum_of_steps.register(Shape)
def _sum_of_columns(shape: Any, steps: Any, count: Any, b: Any, n: Any) -> Any:
    out = np.float32(0.0)
    c, place = 0, b * padded_width_of(shape)
    while c < n:
        for r in range(shape.width):
            out += steps[place + r]
        c += shape.width
        place += tile_room(shape, count)
    return out


@sum_of_steps.register(All)
def _sum_of_all(shape: Any, steps: Any, count: Any, b: Any, n: Any) -> Any:
    out = np.float32(0.0)
    for w in range(shape.rows):
        out += steps[w]
    return out


@inner
def learn_in_bias(params: Any, row: Any, step: Any) -> None:
    """Add a step to the bias of an input row."""
    if params.in_bias.size > 0:
        params.in_bias[row] += step


@inner
def learn_ln_z(params: Any, ln_z_at: Any, step: Any) -> None:
    """Subtract a step from ln Z, which the scores contain with a minus sign."""
    if params.ln_z.size > 0:
        params.ln_z[ln_z_at] -= step
