"""Ring: tell the target from the word behind it.

The words stand in a ring, by id; the one noise word of a target t is n(t) = (t + 1) mod V:

    L = -log sigmoid(s(t)) - log sigmoid(-s(n(t)))

Converges to  s(w) -> log(P(w | h) / P(w - 1 | h)), so s summed over 1 .. w is log P(w | h) up to a constant.
Cost          O(dim) a target.
Normalised    no: log_prob is log-softmax of that sum.
"""
# ruff: noqa: D101, D102

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.columns import candidates, find, put
from unhot.kernels.linking import logistic_link
from unhot.kernels.steps import link
from unhot.outputs import OutputLayer, output


class RingTables(NamedTuple):  # what the kernel needs; its type chooses the code below
    words: int


@output("ring")
@dataclass(frozen=True, kw_only=True)
class Ring(OutputLayer):
    bias: bool = False  # learn a bias for each word

    def columns(self, counts: Any, targets: int) -> int:
        return 2 * targets

    def tables(self, counts: Any) -> RingTables:
        return RingTables(counts.size)

    def reference(self, scores: Any, target: int, draws: Any, counts: Any) -> float:
        return float(np.logaddexp(0.0, -scores[target]) + np.logaddexp(0.0, np.roll(scores, -1)[target]))

    def log_weight(self, scores: Any, counts: Any) -> Any:
        return np.cumsum(scores, axis=-1)


@candidates.register(RingTables)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    n = 0
    for i, step in np.ndindex(targets.n, 2):  # each target, then the word behind it
        row, times = (targets.word[targets.at + i] + step) % tables.words, targets.times[targets.times_at + i]
        at = find(columns, first, n, row)
        if at < 0:  # a row is one column only
            put(columns, first + n, row, 0.0, 0.0, 0.0)
            at, n = n, n + 1
        columns.label[first + at] += times * np.float32(1 - step)
        columns.weight[first + at] += times
    return n, state


link.register(RingTables)(logistic_link)
