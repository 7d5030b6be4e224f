"""One-vs-all: a logistic regression for every word (the full logistic loss).

    L = sum_w softplus(s(w)) - s(t)
    dL/do_w = (sigmoid(s(w)) - [w = t]) h

T targets of one input count as T examples: L = T sum_w softplus(s(w)) - sum_t s(t).

Converges to  s -> log(P / (1 - P)), the log odds of P = P(w | h).
Limits        sampled_logistic estimates it with k draws.
Cost          O(V dim) per input, as for the softmax. Use bias=true: the biases start at the words' log odds.
              Without biases every word starts at probability 1/2, thousands of words have gradients in the
              same direction, and the learning rate must be thousands of times lower.
Normalised    no: log_prob is the normalised sigmoid(s).
Wins          where each word needs its own probability, independent of the scores of other words.
Reference     Rifkin & Klautau, In defense of one-vs-all classification, 2004.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.columns import candidates
from unhot.kernels.simd.ranges import logistic_all
from unhot.kernels.steps import link
from unhot.outputs.count_losses import LogisticLoss
from unhot.outputs.layer import OutputLayer, log_odds, log_share, output
from unhot.outputs.softmax import all_rows, all_rows_link, link_all
from unhot.types import Counts, Doubles, Ids


class OneVsAllTables(NamedTuple):
    """Tables whose type chooses the link below; numba needs at least one field."""

    words: int


@output("one_vs_all")
@dataclass(frozen=True, kw_only=True)
class OneVsAll(OutputLayer):
    """A logistic regression for every word."""

    bias: bool = False  # learn a bias for each word

    predicts = "contexts"
    all_rows = True
    on_cells = True

    def tables(self, counts: Counts) -> OneVsAllTables:
        """Return the tables; only their type matters."""
        return OneVsAllTables(counts.size)

    def count_loss(self, counts: Counts) -> LogisticLoss:
        """Return the loss of a whole text: the logistic loss as if every word were drawn once."""
        return LogisticLoss(np.ones(counts.size, np.float32), True, np.zeros(0, np.float32))

    def start_bias(self, counts: Counts) -> Doubles:
        """Return the log odds of each word by its count."""
        return log_odds(log_share(counts))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        return float(np.logaddexp(0.0, scores).sum() - scores[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return log sigmoid(s)."""
        return -np.logaddexp(0.0, -scores)


@link_all.register(OneVsAllTables)
def _link_logistic(tables: Any, scores: Any, rows: Any, total: Any, lr: Any) -> Any:
    return logistic_all(scores, rows, total, lr)


candidates.register(OneVsAllTables)(all_rows)
link.register(OneVsAllTables)(all_rows_link)
