"""In-batch softmax: the other targets of the batch serve as noise words.

With n_1 .. n_{B-1} the targets of the other examples of the batch, and q(w) the share of w among all targets:

    d(w) = s(w) / temperature - log q(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_i exp d(n_i))

With `q=streaming`, q is the share among the targets counted so far, starting from a count of 1 for each word.
With `q=counts`, q is the share of the text, where a word of count 0 counts as 0.5. `hits=keep` keeps examples
with the same target in the sum, `hits=drop` masks them. With `normalized=true`, s(w) is the cosine of h and
o_w (plus a bias, with `bias=true`), so it is at most 1 and needs a temperature far below 1. With
`correct=false`, -log q is left out of d, on all columns. B is the number of examples with a target that one
process has: with several processes, each one compares the examples of its own batch, but targets are counted
over all processes.

Converges to  s -> temperature log P(w | h) + K(h), exactly and for every batch size, if the examples of a
              batch are independent and hits are kept. hits=drop is biased; the bias grows with B q(t).
              correct=false: s -> temperature (log P - log q) + K(h), so frequent words get lower scores.
Limits        it is sampled with k = B - 1 and draws from q.
Cost          O(B dim) per example, as one matrix product of the batch with itself; no other output vectors
              are read.
Normalised    up to K(h): log_prob is log-softmax(s / temperature), and log-softmax(s / temperature + log q)
              with correct=false.
Wins          for two-tower models, where a network computes the output vectors and only those of the batch's
              words are available.
Reference     Yi et al., Sampling-bias-corrected neural modeling for large corpus item recommendations, 2019.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhot.outputs.column_softmax import ColumnSoftmax
from unhot.outputs.layer import log_share, output
from unhot.types import Counts, Doubles


@output("in_batch")
@dataclass(frozen=True, kw_only=True)
class InBatch(ColumnSoftmax):
    """Softmax over the targets of the batch."""

    q: Literal["streaming", "counts"] = "streaming"  # where word frequencies come from: streaming | counts

    compiled = False
    predicts = "contexts"  # with "centre", all examples of a window would have the same target

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns: the different targets of the batch, at most."""
        return min(counts.size, size)

    def log_c(self, counts: Counts, others: int | None = None) -> Doubles:
        """Return log q up to a constant, from the counts of the targets so far, or from those of the text.

        A streaming count starts at 1, which `counts` leave out.
        """
        return np.log(counts + 1.0) if self.q == "streaming" else log_share(counts)
