"""Shared code of the layers with a softmax over the target and a few other words: sampled, in_batch, mixed.

With the other columns n_1 .. n_m and c(w), how often w is expected among them:

    s(w) = h.o_w (+ b_w), or with normalized=true the cosine of h and o_w (+ b_w)
    d(w) = s(w) / temperature - log c(w)                       on the target's column, too
    L = -d(t) + log(exp d(t) + sum_i exp d(n_i))

L depends on d alone, so d converges to log P - log c + K(h) whatever is subtracted: with `correct=true` s
converges to temperature log P + K(h). With `correct=false` nothing is subtracted, d = s / temperature, and s
converges to temperature (log P - log c) + K(h), so frequent words get too low scores. log_prob adds what was
not subtracted, so it is log P in both cases.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhot.errors import ConfigError
from unhot.outputs.layer import OutputLayer, log_share, positive
from unhot.probability import log_sum_exp
from unhot.types import Counts, Doubles, Ids

PLAIN = {"temperature": 1.0, "correct": True, "normalized": False}  # what compiled kernels compute


@dataclass(frozen=True, kw_only=True)
class ColumnSoftmax(OutputLayer):
    """Base of the layers with a softmax over the target and other columns."""

    temperature: float = 1.0  # divides the scores, but not the correction
    correct: bool = True  # subtract the correction; false: frequent words get lower scores
    normalized: bool = False  # scores are cosines of hidden and output vectors
    hits: Literal["keep", "drop"] = "keep"  # what to do with columns that are the target again: keep | drop
    bias: bool = False  # learn a bias for each word

    def __post_init__(self) -> None:
        """Check the ranges."""
        super().__post_init__()
        positive(f"{self.name}:temperature", self.temperature)

    def check_compiled(self) -> None:
        """Raise a `ConfigError` if only torch computes what the settings say."""
        super().check_compiled()
        for setting, plain in PLAIN.items():
            if getattr(self, setting) != plain:
                raise ConfigError(
                    f"{self.spec()}: compiled kernels take {setting}={str(plain).lower()} only; train with "
                    "engine='torch' (pip install 'unhot[torch]'), in the shell --engine torch"
                )

    def by_cosine(self) -> bool:
        """Return whether scores are cosines of hidden and output vectors."""
        return self.normalized

    def log_c(self, counts: Counts, others: int | None = None) -> Doubles:
        """Return log c of all words, up to a constant.

        others   the number of other columns, if c depends on it; None: as the settings say
        """
        raise NotImplementedError

    def shift(self, counts: Counts) -> Doubles:
        """Return log P - s / temperature of trained scores s, up to a constant: [words], or [1]."""
        return np.zeros(1) if self.correct else self.log_c(counts)

    def start_bias(self, counts: Counts) -> Doubles:
        """Return the biases that give each word its share of the text as probability."""
        return self.temperature * (log_share(counts) - self.shift(counts))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above; the draws are the other columns."""
        d = scores / self.temperature - (self.log_c(counts, draws.size) if self.correct else 0.0)
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(log_sum_exp(d[np.append(noise, target)]) - d[target])

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return the scores divided by the temperature, plus the log c that was not subtracted."""
        return scores / self.temperature + self.shift(counts)
