"""GloVe's step: a cell pulls the score of its two rows towards the logarithm of its count, by AdaGrad.

    s = u_i . v_j + b_i + c_j            L = 1/2 weight (s - target)^2,   target = log X_ij, weight = f(X_ij)
    g = weight (s - target)                       dL/du_i = g v_j, dL/db_i = g, and likewise for the context
    p = lr * gradient;  x -= p / sqrt(G);  G += p^2     for every number x with its own G, which began at 1

Both steps use the old rows. A bias is a number in its row: a word's row is (u, b, 1), a context's (v, 1, c).
So the dot product is s, and biases need no code of their own. The two 1s never move: their G is so large that
their steps vanish (`FIXED`).

Reference: Pennington, Socher and Manning, GloVe: Global vectors for word representation, 2014; Duchi, Hazan
and Singer, 2011.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import block, kernel
from unhot.kernels.simd.lanes import (
    FAST,
    LANES,
    VECTOR,
    Value,
    call,
    fma,
    load,
    row,
    splat,
    splat_constant,
    store,
    total,
)
from unhot.kernels.simd.rows import prefetch
from unhot.kernels.simd.tiles import Shape, each_slice, stride_of
from unhot.types import Floats, Ids

FIXED = 1e30  # the G of a number that never moves
AHEAD = 4  # rows are prefetched this many cells early
BIASES = 2  # numbers after the vector in a row: the biases of word and context, one of them 1


class Side(NamedTuple):
    """The rows of all words, or of all contexts, and the G of each number."""

    rows: Floats  # [words, stride]
    squares: Floats


class CellBlock(NamedTuple):
    """Cells in the order in which they are visited."""

    words: Ids
    contexts: Ids
    targets: Floats
    weights: Floats


def glove_step_twin(
    shape: Shape, words: Any, squares: Any, i: int, contexts: Any, context_squares: Any, j: int, target:
    float, weight: float, lr: float,
) -> float:  # fmt: skip
    """Learn one cell; return weight (s - target)^2."""
    u, v = words[i].copy(), contexts[j].copy()
    error = np.dot(u, v) - np.float32(target)
    g = np.float32(weight) * error
    for rows, sums, at, other in ((words, squares, i, v), (contexts, context_squares, j, u)):
        p = np.float32(lr) * g * other
        rows[at] -= p / np.sqrt(sums[at])
        sums[at] += p * p
    return float(g * error)


@block(glove_step_twin)
def glove_step(
    types: Any, b: Value, shape: Value, words: Value, squares: Value, i: Value, contexts: Value,
    context_squares: Value, j: Value, target: Value, weight: Value, lr: Value,
) -> float:  # fmt: skip
    """Learn one cell in two passes over both rows, slice by slice: the score, then the steps."""
    stride = stride_of(b, shape)
    u_row, v_row = row(b, words, i, stride), row(b, contexts, j, stride)
    u_sums, v_sums = row(b, squares, i, stride), row(b, context_squares, j, stride)

    def add_slice(at: Value, sums: list[Value]) -> list[Value]:
        return [fma(b, load(b, u_row, at), load(b, v_row, at), sums[1]), sums[0]]

    sums = each_slice(b, shape, [splat_constant(0.0)] * 2, add_slice)
    error = b.fsub(total(b, b.fadd(*sums, flags=FAST)), target, flags=FAST)
    g = b.fmul(weight, error, flags=FAST)
    pull = splat(b, b.fmul(lr, g, flags=FAST))

    def move(rows: Value, sums: Value, at: Value, old: Value, other: Value) -> None:
        p, square = b.fmul(pull, other, flags=FAST), load(b, sums, at)
        root = call(b, f"llvm.sqrt.v{LANES}f32", VECTOR, [square])
        store(b, b.fsub(old, b.fdiv(p, root, flags=FAST), flags=FAST), rows, at)
        store(b, fma(b, p, p, square), sums, at)

    def move_slice(at: Value, _: list[Value]) -> list[Value]:
        u, v = load(b, u_row, at), load(b, v_row, at)
        move(u_row, u_sums, at, u, v)
        move(v_row, v_sums, at, v, u)
        return []

    each_slice(b, shape, [], move_slice)
    return b.fmul(g, error, flags=FAST)  # type: ignore[no-any-return]


@kernel
def learn_cells(shape: Any, cells: Any, words: Any, contexts: Any, lr: Any) -> float:
    """Learn a block of cells in their order; return the loss, the sum of 1/2 weight (s - target)^2."""
    loss, count = 0.0, cells.words.size
    for cell in range(count):
        if cell + AHEAD < count:
            i, j = cells.words[cell + AHEAD], cells.contexts[cell + AHEAD]
            prefetch(shape, words.rows, i)
            prefetch(shape, words.squares, i)
            prefetch(shape, contexts.rows, j)
            prefetch(shape, contexts.squares, j)
        loss += glove_step(
            shape,
            words.rows,
            words.squares,
            cells.words[cell],
            contexts.rows,
            contexts.squares,
            cells.contexts[cell],
            cells.targets[cell],
            cells.weights[cell],
            lr,
        )
    return 0.5 * loss
