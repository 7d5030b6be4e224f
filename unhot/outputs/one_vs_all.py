"""One-vs-all: a logistic regression for every word (the full logistic loss).

    L = sum_w softplus(s(w)) - s(t)
    dL/do_w = (sigmoid(s(w)) - [w = t]) h

T targets of one input: L = T sum_w softplus(s(w)) - sum_t s(t), each target an example of its own.

Converges to  s -> log(P / (1 - P)), the log odds of P = P(w | h).
Limits        sampled_logistic estimates it with k draws.
Cost          O(V dim) an input, as the softmax. Use bias=true: the biases begin at the words' own log odds.
              Without them every word begins at one half, and the gradient of thousands of words in the same
              direction needs a learning rate thousands of times lower.
Normalised    no: log_prob is the normalised sigmoid(s).
Wins          where each word is wanted with a probability of its own; no word's score depends on another's.
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
    """Chooses the link below; a type without a field would be none to numba."""

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
        """Nothing but the type."""
        return OneVsAllTables(counts.size)

    def count_loss(self, counts: Counts) -> LogisticLoss:
        """As if every word were drawn once."""
        return LogisticLoss(np.ones(counts.size, np.float32), True, np.zeros(0, np.float32))

    def start_bias(self, counts: Counts) -> Doubles:
        """The log odds of each word by its count."""
        return log_odds(log_share(counts))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above."""
        return float(np.logaddexp(0.0, scores).sum() - scores[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """The log of sigmoid(s)."""
        return -np.logaddexp(0.0, -scores)


@link_all.register(OneVsAllTables)
def _link_logistic(tables: Any, scores: Any, rows: Any, total: Any, lr: Any) -> Any:
    return logistic_all(scores, rows, total, lr)


candidates.register(OneVsAllTables)(all_rows)
link.register(OneVsAllTables)(all_rows_link)
