"""Sampled softmax: a softmax over the target and k random words, corrected for their probabilities.

With draws n_i from q and c(w), how often w is expected among them:

    d(w) = s(w) - log c(w)                                     on the target's column, too
    L = -d(t) + log(exp d(t) + sum_{i=1..k} exp d(n_i))

`hits=keep` keeps draws that hit the target in the sum, `hits=drop` masks them (TensorFlow's default).

Converges to  s -> log P(w | h) + K(h), exactly and for every k, with replacement and hits=keep (the default).
              hits=drop with replacement is biased, and the bias grows with k q(t); with unique draws it is
              nearly exact, and exact at k = V.
Limits        with unique draws, k = V and hits=drop it is the softmax.
Cost          O(k dim) per target.
Normalised    up to K(h): log_prob is log-softmax(s).
Wins          for next-word and next-item models with big vocabularies, where k can be hundreds.
Reference     Bengio & Senecal, Adaptive importance sampling to accelerate training of a neural probabilistic
              language model, 2008; Jean et al., On using very large target vocabulary for neural machine
              translation, 2015.
"""

import logging
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unhot.kernels.columns import begin_groups, candidates, end_group
from unhot.kernels.linking import softmax_link
from unhot.kernels.steps import link
from unhot.outputs.drawn import DrawnLayer, DrawnTables, put_drawn
from unhot.outputs.layer import log_share, output
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Floats, Ids, Words64

logger = logging.getLogger("unhot")


class SampledTables(DrawnTables):
    """Tables of the same fields as `DrawnTables`; their type chooses the softmax link below."""


@output("sampled")
@dataclass(frozen=True, kw_only=True)
class SampledSoftmax(DrawnLayer):
    """Softmax over the target and k draws from noise."""

    k: int = 100  # draws for each target
    hits: Literal["keep", "drop"] = "keep"  # what to do with draws that hit the target: keep | drop

    corrected = True
    on_cells = False

    def make_tables(self, noise: Words64, offset: Floats, seen: Counts) -> SampledTables:
        """Make tables whose type chooses the softmax link."""
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

    def start_bias(self, counts: Counts) -> Doubles:
        """Return log P of each word by its count."""
        return log_share(counts)

    def set_of_draws(self) -> int:
        """Return 0: all targets share one set of draws."""
        return 0

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        d = scores + self.offset(self.probability(counts))
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(log_sum_exp(d[np.append(noise, target)]) - d[target])


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
