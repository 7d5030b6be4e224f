"""Sampled softmax: a softmax over the target and k random words, corrected for their probabilities.

With draws n_i from q and c(w), how often w is expected among them:

    d(w) = s(w) / temperature - log c(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_{i=1..k} exp d(n_i))

`hits=keep` keeps draws that hit the target in the sum, `hits=drop` masks them (TensorFlow's default). With
`normalized=true`, s(w) is the cosine of h and o_w (plus a bias, with `bias=true`), so it is at most 1 and
needs a temperature far below 1. With `correct=false`, -log c is left out of d, on all columns. Only
`engine=torch` trains with a temperature other than 1, `normalized=true` or `correct=false`.

Converges to  s -> temperature log P(w | h) + K(h), exactly and for every k, with replacement and hits=keep
              (the default). hits=drop with replacement is biased, and the bias grows with k q(t); with unique
              draws it is nearly exact, and exact at k = V. correct=false: s -> temperature (log P - log c) +
              K(h), so frequent words get lower scores.
Limits        with unique draws, k = V and hits=drop it is the softmax.
Cost          O(k dim) per target.
Normalised    up to K(h): log_prob is log-softmax(s / temperature), and log-softmax(s / temperature + log c)
              with correct=false.
Wins          for next-word and next-item models with big vocabularies, where k can be hundreds.
Reference     Bengio & Senecal, Adaptive importance sampling to accelerate training of a neural probabilistic
              language model, 2008; Jean et al., On using very large target vocabulary for neural machine
              translation, 2015.
"""

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhot.kernels.columns import begin_groups, candidates, end_group
from unhot.kernels.linking import softmax_link
from unhot.kernels.steps import link
from unhot.outputs.column_softmax import ColumnSoftmax
from unhot.outputs.drawn import DrawnLayer, DrawnTables, put_drawn
from unhot.outputs.layer import output
from unhot.types import Counts, Doubles, Floats, Words64

logger = logging.getLogger("unhot")


class SampledTables(DrawnTables):
    """Tables of the same fields as `DrawnTables`; their type chooses the softmax link below."""


@output("sampled")
@dataclass(frozen=True, kw_only=True)
class SampledSoftmax(ColumnSoftmax, DrawnLayer):
    """Softmax over the target and k draws from noise."""

    k: int = 100  # draws for each target

    corrected = True
    on_cells = False

    def make_tables(self, noise: Words64, offset: Floats, seen: Counts) -> SampledTables:
        """Make tables whose type chooses the softmax link; they hold no temperature."""
        self.check_compiled()
        return SampledTables(noise, offset, seen, self.k, self.unique, self.hits == "drop")

    def tables(self, counts: Counts) -> Any:
        """Return the tables of the kernel; warn if masking hits biases the result."""
        most = self.k * float(self.probability(counts).max())
        if self.hits == "drop" and not self.unique and most > 1:
            logger.warning(
                "sampled:hits=drop with k q up to %.2g: frequent words will come out too probable; use "
                "hits=keep or unique=true",
                most,
            )
        return super().tables(counts)

    def set_of_draws(self) -> int:
        """Return 0: all targets share one set of draws."""
        return 0

    def offset(self, q: Doubles) -> Doubles:
        """Return -log c of each word, or an empty array with correct=false."""
        return super().offset(q) if self.correct else np.zeros(0)

    def log_c(self, counts: Counts, others: int | None = None) -> Doubles:
        """Return log c, where c is how often each word is expected among the k draws."""
        return self.log_counts(self.probability(counts))


@candidates.register(SampledTables)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Write down targets and draws as one group.

    A draw is in the sum of every target, a target as often as it was drawn.
    """
    n, state = put_drawn(
        tables, targets, np.float32(0.0), np.float32(1.0), np.float32(0.0), tables.k, state, columns, first
    )
    begin_groups(columns, first)
    return end_group(columns, first, n, 0), state


@link.register(SampledTables)
def _link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    return softmax_link(not tables.drop_hits, shape, scores, count, columns, part, times, at, lr)
