"""In-batch softmax: the other targets of a batch are the noise.

With n_1 .. n_{B-1} the targets of the other examples of the batch, and q(w) the share of w among all targets:

    d(w) = s(w) / temperature - log q(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_i exp d(n_i))

q is what was counted so far, each word once before the first target (`q=streaming`), or the share of the text
(`q=counts`; a word that was never seen counts as half a one). `hits=keep` leaves examples with the same
target in the sum, `hits=drop` masks them.

Converges to  s -> temperature log P(w | h) + K(h), exactly and for every size of batch, where the examples of
              a batch are independent and hits are kept. hits=drop is biased, and the more so the larger B
              q(t).
Limits        it is sampled with k = B - 1 and draws from q, of the scores s / temperature.
Cost          O(B dim) an example, as one matrix product of the batch with itself; no other output vectors are
              read.
Normalised    up to K(h): log_prob is log-softmax(s / temperature), without the correction.
Wins          for two-tower models, where an output vector is computed by a network and is only at hand for
              the words of the batch.
Reference     Yi et al., Sampling-bias-corrected neural modeling for large corpus item recommendations, 2019.
"""

from dataclasses import dataclass

import numpy as np

from unhot.errors import one_of
from unhot.outputs.layer import OutputLayer, log_share, output, positive
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids


@output("in_batch")
@dataclass(frozen=True, kw_only=True)
class InBatch(OutputLayer):
    """Softmax over the targets of the batch."""

    temperature: float = 1.0  # divides scores, not the correction
    q: str = "streaming"  # how often words are targets: streaming | counts
    hits: str = "keep"  # examples with the same target: keep | drop
    bias: bool = False  # learn a bias for each word

    compiled = False
    predicts = "contexts"  # else all examples of a centre would have the same target

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        positive("in_batch:temperature", self.temperature)
        one_of("in_batch:q", self.q, ("streaming", "counts"))
        one_of("in_batch:hits", self.hits, ("keep", "drop"))

    def batch_columns(self, counts: Counts, size: int) -> int:
        """The targets of the batch."""
        return min(counts.size, size)

    def start_bias(self, counts: Counts) -> Doubles:
        """What gives each word its share of the text."""
        return self.temperature * log_share(counts)

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """The formula above; the draws are the other targets.

        The counts are those of the text, or of the targets so far.
        """
        d = scores / self.temperature - log_share(counts)
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(log_sum_exp(d[np.append(noise, target)]) - d[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """The score, divided by the temperature."""
        return scores / self.temperature
