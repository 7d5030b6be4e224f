"""Infrequent normalisation: few steps sum over the vocabulary, and scores learn to need no such sum.

    L = -s(t)                                 in most steps
    L = -s(t) + (alpha / gamma) log^2 Z       in a share gamma of the steps,   Z = sum_w exp s(w)

On average that is -s(t) + alpha log^2 Z, whatever gamma: the first term lifts scores, the second holds their
sum.

Converges to  s -> log P(w | h) + 1 / (2 alpha), whatever gamma.
Limits        gamma = 1 is self_normalized without its term log Z.
Cost          O(dim) a target, and in a share gamma of the steps O(V dim), as the softmax; in use, one score a
              word.
Normalised    nearly: log_prob is log-softmax(s); log Z is that of s - 1 / (2 alpha), its mean and variance
              say how near.
Wins          where the sum over the vocabulary is what training cannot pay for, and one score a word must do
              in use.
Reference     Andreas & Klein, When and why are log-linear models self-normalizing?, 2015.
"""

from dataclasses import dataclass

from unhot.errors import ConfigError
from unhot.outputs.layer import OutputLayer, log_share, output, positive
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids


@output("infrequent")
@dataclass(frozen=True, kw_only=True)
class Infrequent(OutputLayer):
    """A penalty on log^2 Z in some of the steps, and no other normalisation."""

    alpha: float = 0.1  # weight of the penalty, on average
    gamma: float = 0.1  # share of the steps that have it
    bias: bool = False  # learn a bias for each word

    compiled = False
    predicts = "contexts"
    all_rows = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        positive("infrequent:alpha", self.alpha)
        if not 0 < self.gamma <= 1:
            raise ConfigError(f"infrequent:gamma={self.gamma}: must be > 0 and <= 1, a share of the steps")
        positive("infrequent:gamma", self.gamma)

    def shift(self) -> float:
        """What scores have more than log P at the optimum."""
        return 1.0 / (2.0 * self.alpha)

    def batch_columns(self, counts: Counts, size: int) -> int:
        """All words, in few of the steps."""
        return max(1, round(self.gamma * counts.size))

    def start_bias(self, counts: Counts) -> Doubles:
        """Log P of each word by its count, and the shift."""
        return log_share(counts) + self.shift()

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above; a step with draws, of any word, is one of the share gamma."""
        penalty = self.alpha / self.gamma * float(log_sum_exp(scores)) ** 2 if draws.size else 0.0
        return penalty - float(scores[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """The score without the shift."""
        return scores - self.shift()
