"""Noise-contrastive estimation (NCE): a logistic regression that tells the target from noise words.

The noise words n_1 .. n_k are drawn from q. The scores s(w) = h.o_w (+ b_w) stand for log P + ln Z:

    d(w) = s(w) - ln Z - log(k q(w))
    L = -log sigmoid(d(t)) - sum_{i=1..k} log sigmoid(-d(n_i))          draws that hit the target are kept

ln Z is a fixed number (`ln_z=0`), one learned number (`ln_z=learned`), or a learned number for each input
word (`ln_z=per_input`). Several input words combine their numbers as they combine their vectors.

Converges to  s -> log P(w | h) + ln Z. With a learned Z only s - ln Z is identified.
Limits        where k q = 1 for all words (k = V, q uniform) it is negative sampling with hits=keep. As k
              grows, its expected gradient tends to that of the softmax only if ln Z = log Z(h).
Cost          O(k dim) per target.
Normalised    nearly, once trained. log_prob is log-softmax(s); the mean and variance of log Z say how nearly.
Wins          for language models, where unnormalised scores can be used as log-probabilities.
Reference     Gutmann & Hyvarinen, Noise-contrastive estimation, 2010; Mnih & Teh, A fast and simple algorithm
              for training neural probabilistic language models, 2012.
"""

from dataclasses import dataclass

import numpy as np

from unhot.errors import ConfigError, finite
from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.layer import Biases, log_share, output
from unhot.types import Counts, Doubles, Ids


@output("nce")
@dataclass(frozen=True, kw_only=True)
class NCE(DrawnLayer):
    """Noise-contrastive estimation with k draws from noise."""

    k: int = 25  # draws for each target
    power: float = 1.0  # for noise unigram, learned and file: q is proportional to count ** power
    ln_z: float | str = 0.0  # the log of the normaliser: a number | learned | per_input

    corrected = True

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        if isinstance(self.ln_z, str) and self.ln_z not in ("learned", "per_input"):
            raise ConfigError(f"nce:ln_z={self.ln_z}: must be a finite number, learned or per_input")
        if not isinstance(self.ln_z, str):
            object.__setattr__(self, "ln_z", finite("nce:ln_z", self.ln_z))

    def biases(self) -> Biases:
        """Return which biases are learned; a learned ln Z is a bias."""
        return Biases(self.bias, self.ln_z == "per_input", self.ln_z == "learned")

    def fixed_ln_z(self) -> float:
        """Return ln Z if it is a fixed number; 0 if it is learned."""
        return 0.0 if isinstance(self.ln_z, str) else self.ln_z

    def start_bias(self, counts: Counts) -> Doubles:
        """Return log P of each word by its count, plus ln Z."""
        return log_share(counts) + self.fixed_ln_z()

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above; the scores already include a learned ln Z."""
        # offset = -ln Z - log(k q), so d(w) = s(w) - ln Z - log(k q(w))
        d = scores + self.offset(self.probability(counts))
        return float(np.logaddexp(0.0, -d[target]) + np.logaddexp(0.0, d[draws]).sum())
