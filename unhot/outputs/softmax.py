"""The softmax over the whole vocabulary.

    L = -s(t) + log Z,   Z = sum_w exp s(w)
    dL/dh = sum_w p(w) o_w - o_t,   dL/do_w = (p(w) - [w = t]) h,   p(w) = exp s(w) / Z

T targets of one input cost as much as one: L = T log Z - sum_t s(t). The compiled kernels never hold more
than one input's scores; in torch the scores of a batch are made `chunk` words at a time, forward and
backward, so that batch x V of them never exist (`chunk=0`: they do).

Converges to  s -> log P(w | h) + K(h).
Limits        class_based with one class; sampled with unique draws, k = V and hits=drop; self_normalized with
              alpha = 0.
Cost          O(V dim) an input: reads and writes all output vectors. In skip-gram the centre predicts its
              contexts, so that a window costs one pass, not one for each context.
Normalised    yes: log_prob is log-softmax(s).
Wins          as the truth that the others are measured by, and outright for small vocabularies.
Reference     Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import whole
from unhot.kernels.columns import candidates, first_of, put_targets
from unhot.kernels.jit import inner
from unhot.kernels.simd.ranges import exponentials, largest, scale_all
from unhot.kernels.steps import link
from unhot.outputs.count_losses import SoftmaxLoss
from unhot.outputs.layer import OutputLayer, log_share, output
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids


class SoftmaxTables(NamedTuple):
    """What the kernel needs."""

    alpha: Any  # float32: weight of log^2 Z in the loss


@output("softmax")
@dataclass(frozen=True, kw_only=True)
class Softmax(OutputLayer):
    """Softmax over all words."""

    bias: bool = False  # learn a bias for each word
    chunk: int = 4096  # torch: words whose scores are in memory at once; 0: all

    predicts = "contexts"
    all_rows = True
    on_cells = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        object.__setattr__(self, "chunk", whole(f"{self.name}:chunk", self.chunk, 0))

    def columns(self, counts: Counts, targets: int) -> int:
        """Only the targets are written down."""
        return targets

    def tables(self, counts: Counts) -> SoftmaxTables:
        """No penalty."""
        return SoftmaxTables(np.float32(0.0))

    def batch_columns(self, counts: Counts, size: int) -> int:
        """A chunk of the words."""
        return min(counts.size, self.chunk or counts.size)

    def count_loss(self, counts: Counts) -> SoftmaxLoss:
        """With the penalty that the kernel has."""
        return SoftmaxLoss(float(self.tables(counts).alpha))

    def start_bias(self, counts: Counts) -> Doubles:
        """Log P of each word by its count."""
        return log_share(counts)

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above."""
        return float(log_sum_exp(scores) - scores[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """The score."""
        return scores


@candidates.register(SoftmaxTables)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    return put_targets(targets, columns, first), state


@link.register(SoftmaxTables)
def _link(
    tables: Any,
    shape: Any,
    scores: Any,
    count: Any,
    columns: Any,
    part: Any,
    times: Any,
    times_at: Any,
    lr: Any,
) -> Any:
    """dL/ds(w) = T (1 + 2 alpha log Z) p(w), minus the number of times that w is a target."""
    total, linear = sum_over_targets(scores, columns, part)
    top = largest(scores, shape.rows)
    z = exponentials(scores, shape.rows, top)
    log_z = top + np.log(z)
    scale_all(
        scores,
        shape.rows,
        -lr * total * (np.float32(1.0) + np.float32(2.0) * tables.alpha * np.float32(log_z)) / np.float32(z),
    )
    step_targets(scores, columns, part, lr)
    return total * (log_z + tables.alpha * log_z * log_z) - linear


@inner
def sum_over_targets(scores: Any, columns: Any, part: Any) -> Any:
    """The number of targets and the sum of their scores."""
    first, total, linear = first_of(columns, part), np.float32(0.0), 0.0
    for c in range(first, first + columns.filled[part]):
        total += columns.label[c]
        linear += columns.label[c] * scores[columns.row[c]]
    return total, linear


@inner
def step_targets(scores: Any, columns: Any, part: Any, lr: Any) -> None:
    """What targets have in their gradient beyond the others."""
    first = first_of(columns, part)
    for c in range(first, first + columns.filled[part]):
        scores[columns.row[c]] += lr * columns.label[c]
