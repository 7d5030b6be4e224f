"""The compiled part of `choosing.py`: the most probable label of many lines, if scores belong to labels.

softmax      p = exp(s) / sum of exp(s)
otherwise    p = sigmoid(s)
"""

import functools
from typing import Any

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.ranges import exponentials, largest, score_all
from unhot.kernels.simd.tiles import Shape


@inner
def find_best(
    shape: Any, hidden: Any, out_vectors: Any, bias: Any, softmax: Any, later: Any, scores: Any, best: Any,
    probability: Any,
) -> None:  # fmt: skip
    """Write the best label of each line and its probability; of equal scores, the first or the `later`."""
    rows = bias.size
    for line in range(best.size):
        score_all(shape, hidden, line, out_vectors, rows, scores)
        for row in range(rows):
            scores[row] += bias[row]
        top = largest(scores, rows)
        found = 0
        for row in range(rows):
            if scores[row] == top:
                found = row
                if not later:
                    break
        best[line] = found
        if softmax:
            probability[line] = np.float32(1.0) / exponentials(scores, rows, top)
        else:
            probability[line] = np.float32(1.0) / (np.float32(1.0) + np.exp(-top))


@functools.cache
def best_kernel(shape: Shape) -> Any:
    """Return `find_best` as a kernel whose length of rows is a constant."""

    @kernel
    def find_all(
        hidden: Any, out_vectors: Any, bias: Any, softmax: Any, later: Any, scores: Any, best: Any,
        probability: Any,
    ) -> None:  # fmt: skip
        find_best(shape, hidden, out_vectors, bias, softmax, later, scores, best, probability)

    return find_all
