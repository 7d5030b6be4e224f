"""Sampled logistic regression: one-vs-all with a random sample of words in place of all words.

With k draws n_i from q and c(w), how often w is expected among them:

    d(w) = s(w) - log c(w)
    L = -log sigmoid(d(t)) - sum_{i: n_i != t} log sigmoid(-d(n_i))

Converges to  s -> log(P / (1 - P)), the log odds, as one_vs_all does.
Limits        without the offset -log c(w) it is negative sampling with hits=drop.
Cost          O(k dim) per target.
Normalised    no: log_prob is the normalised sigmoid(s).
Wins          where several words can be right at once and each needs its own probability.
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
        """Return True: draws that hit the target are always dropped."""
        return True

    def start_bias(self, counts: Counts) -> Doubles:
        """Return the log odds of each word by its count."""
        return log_odds(log_share(counts))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        d = scores + self.offset(self.probability(counts))
        return float(np.logaddexp(0.0, -d[target]) + np.logaddexp(0.0, d[draws[draws != target]]).sum())
