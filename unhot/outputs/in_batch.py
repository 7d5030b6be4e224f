"""In-batch softmax: the other targets of the batch serve as noise words.

With n_1 .. n_{B-1} the targets of the other examples of the batch, and q(w) the share of w among all targets:

    d(w) = s(w) / temperature - log q(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_i exp d(n_i))

With `q=streaming`, q is the share among the targets counted so far, starting from a count of 1 for each word.
With `q=counts`, q is the share of the text, where a word of count 0 counts as 0.5. `hits=keep` keeps examples
with the same target in the sum, `hits=drop` masks them.

Converges to  s -> temperature log P(w | h) + K(h), exactly and for every batch size, if the examples of a
              batch are independent and hits are kept. hits=drop is biased; the bias grows with B q(t).
Limits        it is sampled with k = B - 1, draws from q and scores s / temperature.
Cost          O(B dim) per example, as one matrix product of the batch with itself; no other output vectors
              are read.
Normalised    up to K(h): log_prob is log-softmax(s / temperature), without the correction.
Wins          for two-tower models, where a network computes the output vectors and only those of the batch's
              words are available.
Reference     Yi et al., Sampling-bias-corrected neural modeling for large corpus item recommendations, 2019.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhot.outputs.layer import OutputLayer, log_share, output, positive
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids


@output("in_batch")
@dataclass(frozen=True, kw_only=True)
class InBatch(OutputLayer):
    """Softmax over the targets of the batch."""

    temperature: float = 1.0  # divides the scores, but not the correction log q
    q: Literal["streaming", "counts"] = "streaming"  # where word frequencies come from: streaming | counts
    hits: Literal["keep", "drop"] = "keep"  # examples with the same target: keep | drop
    bias: bool = False  # learn a bias for each word

    compiled = False
    predicts = "contexts"  # with "centre", all examples of a window would have the same target

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        positive("in_batch:temperature", self.temperature)

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns: the different targets of the batch, at most."""
        return min(counts.size, size)

    def start_bias(self, counts: Counts) -> Doubles:
        """Return the biases that give each word its share of the text as probability."""
        return self.temperature * log_share(counts)

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above; the draws are the other targets.

        `counts` are those of the text, or of the targets so far.
        """
        d = scores / self.temperature - log_share(counts)
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(log_sum_exp(d[np.append(noise, target)]) - d[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return the scores divided by the temperature."""
        return scores / self.temperature
