"""Mixed negative sampling: the other targets of the batch and k uniform draws serve as noise words.

With n_1 .. n_{B-1} the targets of the other examples of the batch, n_B .. n_{B-1+k} uniform draws, and q(w)
the share of w among all targets:

    c(w) = (B - 1) q(w) + k / V                                how often w is expected among the n_i
    d(w) = s(w) / temperature - log c(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_i exp d(n_i))

`q`, `hits`, `normalized` and `correct` are those of in_batch; with `correct=false`, -log c is left out of d.
B is the number of examples with a target that one process has: with several processes, each one compares the
examples of its own batch with its own draws, but targets are counted over all processes.

Converges to  s -> temperature log P(w | h) + K(h), nearly, if the examples of a batch are independent and
              hits are kept. It would be exact if each column came from the batch or from the draws at random.
              As both numbers are fixed, there is a small bias, which falls with more columns: a P of 0.5
              comes out as 0.497 with B - 1 = k = 2, as 0.499 with B - 1 = k = 8. hits=drop is biased; the
              bias grows with c(t). correct=false: s -> temperature (log P - log c) + K(h), so frequent words
              get lower scores.
Limits        if q is uniform, it is in_batch with k more examples; with a batch of one example, it is sampled
              with noise=uniform.
Cost          O((B + k) dim) per example, as one matrix product.
Normalised    up to K(h): log_prob is log-softmax(s / temperature), and log-softmax(s / temperature + log c)
              with correct=false, where c is that of the batch size that the setting `batch` gives.
Wins          for recommenders and two-tower models: words that are rarely a target, or never, are compared,
              too, which in_batch does not do.
Reference     Yang et al., Mixed negative sampling for learning two-tower neural networks in
              recommendations, 2020.
"""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from unhot.errors import ConfigError
from unhot.outputs.in_batch import InBatch
from unhot.outputs.layer import output
from unhot.probability import softmax
from unhot.specs import Range
from unhot.types import Counts, Doubles


@output("mixed")
@dataclass(frozen=True, kw_only=True)
class Mixed(InBatch):
    """Softmax over the targets of the batch and k uniform draws."""

    k: Annotated[int, Range(1)] = 100  # uniform draws
    batch: Annotated[int, Range(0)] = 0  # with correct=false: the examples of a batch, which log_prob needs

    compiled = False

    def __post_init__(self) -> None:
        """Check that the batch is known where probabilities depend on it."""
        super().__post_init__()
        if not (self.correct or self.batch):
            raise ConfigError(
                "mixed:correct=false: without the correction, probabilities depend on the number of examples "
                "of a batch; give it, as in mixed:correct=false,batch=512"
            )

    def draws(self) -> int:
        """Return k, the number of uniform draws."""
        return self.k

    def batch_columns(self, counts: Counts, size: int) -> int:
        """Return the number of columns: the targets of the batch and the draws."""
        return super().batch_columns(counts, size) + self.k

    def batch_memory(self, counts: Counts, dim: int, size: int) -> int:
        """Return the bytes of a torch step, in which each example may have rows of its own draws."""
        return super().batch_memory(counts, dim, size) + 8 * size * self.k * dim

    def log_c(self, counts: Counts, others: int | None = None) -> Doubles:
        """Return log c, where c is how often each word is expected among B - 1 targets and k draws."""
        size = self.batch if others is None else others + 1 - self.k
        return np.asarray(np.log((size - 1) * softmax(super().log_c(counts)) + self.k / counts.size))
