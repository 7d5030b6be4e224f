"""Infrequent normalisation: few steps sum over the vocabulary, and scores learn to do without the sum.

    L = -s(t)                                 in most steps
    L = -s(t) + (alpha / gamma) log^2 Z       in a share gamma of the steps,   Z = sum_w exp s(w)

On average this is -s(t) + alpha log^2 Z for any gamma. The first term raises the scores, the second limits
their sum.

Converges to  s -> log P(w | h) + 1 / (2 alpha), for any gamma.
Limits        gamma = 1 is self_normalized without its term log Z.
Cost          O(dim) per target, and O(V dim), as for the softmax, in a share gamma of the steps. After
              training, a word's score is enough.
Normalised    nearly: log_prob is log-softmax(s); log Z is that of s - 1 / (2 alpha), and its mean and
              variance say how near.
Wins          where training cannot afford the sum over the vocabulary, and after training a single score must
              serve as log-probability.
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
    """A penalty on log^2 Z in some of the steps, without any other normalisation."""

    alpha: float = 0.1  # weight of the penalty, on average
    gamma: float = 0.1  # share of the steps that compute the penalty
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
        """Return s - log P at the optimum."""
        return 1.0 / (2.0 * self.alpha)

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the average number of columns: all words in a share gamma of the steps."""
        return max(1, round(self.gamma * counts.size))

    def start_bias(self, counts: Counts) -> Doubles:
        """Return log P of each word by its count, plus the shift."""
        return log_share(counts) + self.shift()

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above; any draws mark a step of the share gamma."""
        penalty = self.alpha / self.gamma * float(log_sum_exp(scores)) ** 2 if draws.size else 0.0
        return penalty - float(scores[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return the scores minus the shift."""
        return scores - self.shift()
