"""Sampled logistic regression: one-vs-all over the target and a sample of the other words.

With k draws n_i from q and c(w), how often w is expected among them:

    d(w) = s(w) - log c(w)
    L = -log sigmoid(d(t)) - sum_{i: n_i != t} log sigmoid(-d(n_i))

Converges to  s -> log(P / (1 - P)), the log odds, as one_vs_all does.
Limits        negative sampling with hits=drop is this without the offset.
Cost          O(k dim) a target.
Normalised    no: log_prob is the normalised sigmoid(s).
Wins          where several words can be right at once and each is wanted with a probability of its own.
Reference     Jean et al., On using very large target vocabulary for neural machine translation, 2015
              (sampling); the table of candidate sampling losses in TensorFlow's documentation.
"""

from dataclasses import dataclass

import numpy as np

from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.layer import log_odds, log_share, output
from unhot.types import Counts, Doubles, Ids


@output("sampled_logistic")
@dataclass(frozen=True, kw_only=True)
class SampledLogistic(DrawnLayer):
    """One-vs-all with k draws in place of all words."""

    k: int = 100  # draws for each target

    corrected = True
    target_set = True

    def drops_hits(self) -> bool:
        """By definition."""
        return True

    def start_bias(self, counts: Counts) -> Doubles:
        """The log odds of each word by its count."""
        return log_odds(log_share(counts))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above."""
        d = scores + self.offset(self.probability(counts))
        return float(np.logaddexp(0.0, -d[target]) + np.logaddexp(0.0, d[draws[draws != target]]).sum())
