"""Self-normalised softmax: a softmax whose scores learn to be log-probabilities.

    L = -s(t) + log Z + alpha log^2 Z,   Z = sum_w exp s(w)

The penalty pulls log Z towards zero. So after training s(w) itself can be used as log P(w | h), without the
sum over the vocabulary.

Converges to  s -> log P(w | h): the penalty is zero where the softmax's own optimum has Z = 1.
Limits        alpha = 0 is the softmax.
Cost          in training, that of the softmax; after training, one score per word.
Normalised    nearly: log_prob is log-softmax(s); the mean and variance of log Z say how near.
Wins          where words are scored far more often than the model is trained.
Reference     Devlin et al., Fast and robust neural network joint models for statistical machine translation,
              2014.
"""

from dataclasses import dataclass
from typing import Annotated

from unhot.outputs.layer import output
from unhot.outputs.softmax import Softmax
from unhot.probability import log_sum_exp
from unhot.specs import Range
from unhot.types import Counts, Doubles, Ids


@output("self_normalized")
@dataclass(frozen=True, kw_only=True)
class SelfNormalized(Softmax):
    """Softmax with a penalty on log^2 Z."""

    alpha: Annotated[float, Range(0)] = 0.1  # weight of the penalty

    def penalty(self) -> float:
        """Return the weight of log^2 Z in the loss."""
        return self.alpha

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        return super().reference(scores, target, draws, counts) + self.alpha * float(log_sum_exp(scores)) ** 2
