"""One-vs-all: a logistic regression for every word (the full logistic loss).

    L = sum_w softplus(s(w)) - s(t)
    dL/do_w = (sigmoid(s(w)) - [w = t]) h

T targets of one input count as T examples: L = T sum_w softplus(s(w)) - sum_t s(t). With `together` they are
the labels of one example: L = sum_w softplus(s(w)) - sum_t s(t). The score of a word then converges to the
log odds that it is among the targets.

Converges to  s -> log(P / (1 - P)), the log odds of P = P(w | h).
Limits        sampled_logistic estimates it with k draws.
Cost          O(V dim) per input, as for the softmax. Use bias=true: the biases start at the words' log odds.
              Without biases every word starts at probability 1/2, thousands of words have gradients in the
              same direction, and the learning rate must be thousands of times lower.
Normalised    no: log_prob is the normalised sigmoid(s).
Wins          where each word needs its own probability, independent of the scores of other words.
Reference     Rifkin & Klautau, In defense of one-vs-all classification, 2004.
"""

from dataclasses import dataclass, replace
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
    """Tables whose type chooses the link below."""

    together: bool
    smoothing: Any  # float32, 0: targets are not smoothed


@output("one_vs_all")
@dataclass(frozen=True, kw_only=True)
class OneVsAll(OutputLayer):
    """A logistic regression for every word."""

    bias: bool = False  # learn a bias for each word
    together: bool = False  # several targets are the labels of one example, not examples of their own

    predicts = "contexts"
    all_rows = True
    on_cells = True
    independent = True

    def tables(self, counts: Counts) -> OneVsAllTables:
        """Return the tables; only their type matters."""
        return OneVsAllTables(self.together, np.float32(0.0))

    def for_labels(self) -> "OneVsAll":
        """Return the layer for lines with several labels: it takes them together."""
        return replace(self, together=True)

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
    """Count the sum over all words once for each target, or once for all of them together."""
    return logistic_all(scores, rows, np.float32(1.0) if tables.together else total, lr)


candidates.register(OneVsAllTables)(all_rows)
link.register(OneVsAllTables)(all_rows_link)
