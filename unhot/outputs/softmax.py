"""Softmax: the exact softmax over the whole vocabulary.

    L = -s(t) + log Z,   Z = sum_w exp s(w)
    dL/dh = sum_w p(w) o_w - o_t,   dL/do_w = (p(w) - [w = t]) h,   p(w) = exp s(w) / Z

With label smoothing e, 1 - e of the target stays where it is, and e is spread over all V words:

    L = -(1 - e) s(t) - e/V sum_w s(w) + log Z

T targets of one input cost as much as one: L = T log Z - sum_t s(t). The compiled kernels hold the scores of
one input only. In torch a step holds batch x `chunk` scores at once, or 8 million (32 MiB) if that is more,
and never batch x V scores beyond that; with `chunk=0` it holds them all. It goes over blocks of examples, or
over chunks of words if fewer than 64 examples fit.

Converges to  s -> log P(w | h) + K(h); with smoothing, s -> log((1 - e) P(w | h) + e/V) + K(h).
Limits        it equals class_based with one class, sampled with unique draws, k = V and hits=drop, and
              self_normalized with alpha = 0.
Cost          O(V dim) per input: it reads and writes all output vectors. In skip-gram the centre word
              predicts its contexts, so a window costs one pass, not one for each context.
Normalised    yes: log_prob is log-softmax(s).
Wins          as the exact reference for the other layers, and in practice for small vocabularies.
Reference     Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990;
              Szegedy et al., Rethinking the Inception architecture for computer vision, 2016 (smoothing).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, whole
from unhot.kernels.columns import candidates, first_of, put_targets
from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.ranges import exponentials, largest, scale_all
from unhot.kernels.steps import link
from unhot.outputs.count_losses import SoftmaxLoss
from unhot.outputs.layer import LogProbabilityLayer, output
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids

LEAST_AT_ONCE = 1 << 23  # scores that torch may hold whatever the chunk: 32 MiB in float32


def scores_at_once(words: int, chunk: int, batch: int) -> int:
    """Return how many scores of a batch torch may hold at once."""
    return batch * words if chunk == 0 else min(batch * words, max(batch * chunk, LEAST_AT_ONCE))


class SoftmaxTables(NamedTuple):
    """The tables of the kernel."""

    alpha: Any  # float32: weight of log^2 Z in the loss
    smoothing: Any  # float32


@output("softmax")
@dataclass(frozen=True, kw_only=True)
class Softmax(LogProbabilityLayer):
    """Softmax over all words."""

    bias: bool = False  # learn a bias for each word
    chunk: int = 4096  # torch: batch x chunk scores are in memory at once, or 32 MiB if that is more; 0: all
    smoothing: float = 0.0  # the share of each target that is spread evenly over all words

    predicts = "contexts"
    all_rows = True
    on_cells = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        object.__setattr__(self, "chunk", whole(f"{self.name}:chunk", self.chunk, 0))
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"{self.name}:smoothing={self.smoothing}: must be at least 0 and less than 1")

    def penalty(self) -> float:
        """Return the weight of log^2 Z in the loss."""
        return 0.0

    def tables(self, counts: Counts) -> SoftmaxTables:
        """Return the tables of the kernel: the weight of the penalty."""
        return SoftmaxTables(np.float32(self.penalty()), np.float32(self.smoothing))

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns: the share of each example in the scores that are there at once."""
        return -(-scores_at_once(counts.size, self.chunk, size) // size)

    def check_cells(self) -> None:
        """Raise a `ConfigError` if targets are smoothed: the loss over cells knows whole targets only."""
        super().check_cells()
        if self.smoothing:
            raise ConfigError(
                f"output={self.spec()}: training on cells has no smoothing; set smoothing=0, or train on text"
            )

    def count_loss(self, counts: Counts) -> SoftmaxLoss:
        """Return the loss of a whole text, with the kernel's penalty."""
        self.check_cells()
        return SoftmaxLoss(float(self.tables(counts).alpha))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        aim = (1.0 - self.smoothing) * scores[target] + self.smoothing * scores.mean()
        return float(log_sum_exp(scores) - aim)


@generic
def link_all(tables: Any, scores: Any, rows: Any, total: Any, lr: Any) -> Any:
    """Turn the scores of all rows into steps, as if no row were a target; return the loss.

    `total` is the number of targets. Each layer over all rows registers a function for the type of its
    tables.
    """


@link_all.register(SoftmaxTables)
def _link_softmax(tables: Any, scores: Any, rows: Any, total: Any, lr: Any) -> Any:
    """Compute dL/ds(w) = T (1 + 2 alpha log Z) p(w), without the targets' own term -1.

    `all_rows_link` adds that term.
    """
    top = largest(scores, rows)
    z = exponentials(scores, rows, top)
    log_z = top + np.log(z)
    slope = np.float32(1.0) + np.float32(2.0) * tables.alpha * np.float32(log_z)
    scale_all(scores, rows, -lr * total * slope / np.float32(z))
    return total * (log_z + tables.alpha * log_z * log_z)


@candidates.register(SoftmaxTables)
@inner
def all_rows(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Write down the targets alone; the other columns are all rows."""
    return put_targets(targets, columns, first), state


@link.register(SoftmaxTables)
@inner
def all_rows_link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Link the scores of all rows, then add the targets' own term to loss and steps."""
    first = first_of(columns, part)
    total, linear = np.float32(0.0), 0.0
    spread = np.float32(0.0)  # what each row has of the targets
    for c in range(first, first + columns.filled[part]):
        total += columns.label[c]
    if tables.smoothing > 0:
        spread = tables.smoothing * total / np.float32(shape.rows)
        for row in range(shape.rows):
            linear += spread * scores[row]
    own = np.float32(1.0) - tables.smoothing
    for c in range(first, first + columns.filled[part]):
        linear += own * columns.label[c] * scores[columns.row[c]]
    loss = link_all(tables, scores, shape.rows, total, lr)
    if tables.smoothing > 0:
        for row in range(shape.rows):
            scores[row] += lr * spread
    for c in range(first, first + columns.filled[part]):
        scores[columns.row[c]] += lr * own * columns.label[c]
    return loss - linear
