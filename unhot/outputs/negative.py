"""Negative sampling.

With s(w) = h.o_w for a hidden vector h, a target t and k noise words n_i drawn from q, q(w) proportional to count(w) ** power:

    L = -log sigmoid(s(t)) - sum_{i=1..k} log sigmoid(-s(n_i))
    dL/do_t = (sigmoid(s(t)) - 1) h,   dL/do_n = sigmoid(s(n)) h

What to do with draws that hit the target: `hits=drop` leaves them out (word2vec.c, gensim), `hits=keep` leaves them in.

Converges to  hits=keep: s -> log(P / (k q)); hits=drop: s -> log(P / (1 - P)) - log(k q), where P = P(w | h).
Limits        hits=keep with k = V and q uniform is noise-contrastive estimation with ln Z = 0.
Cost          O(k dim) a target, whatever the vocabulary. All inputs of a window share the draws, which changes the covariance of the
              gradient, not its mean.
Normalised    no: scores are not log-probabilities.
Reference     Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, one_of, whole
from unhot.kernels.links import logistic
from unhot.kernels.loop import candidates
from unhot.kernels.rng import GAMMA, mix
from unhot.kernels.steps import link
from unhot.noise.alias import alias_table, draw
from unhot.noise.unigram import unigram
from unhot.outputs.layer import OutputLayer, output
from unhot.types import Counts, Doubles, Ids, Words64

MAX_K = 4096  # draws of a window are compared with each other


class NegativeTables(NamedTuple):
    """What the kernel needs."""

    noise: Words64  # alias table of q
    k: int
    keep_hits: bool


@output("negative")
@dataclass(frozen=True, kw_only=True)
class NegativeSampling(OutputLayer):
    """Negative sampling with k draws from the unigram distribution to some power."""

    k: int = 5  # draws for each target
    power: float = 0.75  # q is proportional to count ** power
    hits: str = "drop"  # draws that are the target: drop | keep

    def __post_init__(self) -> None:
        """Check the ranges."""
        object.__setattr__(self, "k", whole("negative:k", self.k, 1, MAX_K))
        if not np.isfinite(self.power):
            raise ConfigError(f"negative:power={self.power}: must be a finite number")
        one_of("negative:hits", self.hits, ("drop", "keep"))

    def columns(self) -> int:
        """The target and k draws."""
        return self.k + 1

    def tables(self, counts: Counts) -> NegativeTables:
        """The noise distribution as an alias table."""
        return NegativeTables(alias_table(unigram(counts, self.power)), self.k, self.hits == "keep")

    def reference(self, scores: Doubles, target: int, draws: Ids) -> float:
        """The formula above, for the scores of all words and given draws."""
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(np.logaddexp(0.0, -scores[target]) + np.logaddexp(0.0, scores[noise]).sum())


@candidates.register(NegativeTables)
def _candidates(tables: Any, target: Any, state: Any, columns: Any, first: Any) -> Any:
    """The target, then the draws; a draw that is there already adds to the weight of its first column and leaves its own at zero."""
    columns.row[first], columns.label[first], columns.weight[first] = target, np.float32(1.0), np.float32(1.0)
    for c in range(first + 1, first + 1 + tables.k):
        state += GAMMA
        word = draw(tables.noise, mix(state))
        columns.row[c], columns.label[c], columns.weight[c] = word, np.float32(0.0), np.float32(1.0)
        for earlier in range(first, c):
            if columns.row[earlier] == word:
                columns.weight[c] = np.float32(0.0)
                if earlier > first or tables.keep_hits:
                    columns.weight[earlier] += np.float32(1.0)
                break
    return tables.k + 1, state


@link.register(NegativeTables)
def _link(tables: Any, shape: Any, scores: Any, at: Any, count: Any, columns: Any, first: Any, times: Any, times_at: Any, lr: Any) -> Any:
    return logistic(shape, scores, at, count, columns.label, columns.weight, columns.offset, first, times, times_at, lr)
