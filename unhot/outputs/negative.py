"""Negative sampling: a logistic regression that tells the target from k random words.

With s(w) = h.o_w for a hidden vector h, a target t and k noise words n_i drawn from q, q(w) proportional to
count(w) ** power:

    L = -log sigmoid(s(t)) - sum_{i=1..k} log sigmoid(-s(n_i))
    dL/do_t = (sigmoid(s(t)) - 1) h,   dL/do_n = sigmoid(s(n)) h

Some draws hit the target itself: `hits=drop` leaves them out (as word2vec.c and gensim do), `hits=keep` keeps
them.

Converges to  hits=keep: s -> log(P / (k q)); hits=drop: s -> log(P / (1 - P)) - log(k q), where P = P(w | h).
Limits        hits=keep with k = V and q uniform is noise-contrastive estimation with ln Z = 0.
Cost          O(k dim) per target, for any size of vocabulary. All inputs of a window share the draws, which
              changes the covariance of the gradient, not its mean.
Normalised    no: scores are not log-probabilities. log_prob is log-softmax(s + log q) with hits=keep, and the
              normalised sigmoid(s + log(k q)) with hits=drop.
Wins          for word vectors: it is the fastest layer and gives the best neighbours.
Reference     Mikolov et al., Distributed representations of words and phrases and their compositionality,
              2013.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from unhot.outputs.drawn import DrawnLayer
from unhot.outputs.layer import output
from unhot.types import Counts, Doubles, Ids


@output("negative")
@dataclass(frozen=True, kw_only=True)
class NegativeSampling(DrawnLayer):
    """Negative sampling with k draws from noise."""

    hits: Literal["drop", "keep"] = "drop"  # what to do with draws that hit the target: drop | keep

    biased = False

    def drops_hits(self) -> bool:
        """Return whether draws that hit the target are dropped."""
        return self.hits == "drop"

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        noise = draws if self.hits == "keep" else draws[draws != target]
        return float(np.logaddexp(0.0, -scores[target]) + np.logaddexp(0.0, scores[noise]).sum())
