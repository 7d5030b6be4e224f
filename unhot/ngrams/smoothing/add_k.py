"""Add-k: every n-gram is counted as if it had occurred k times more. With k = 1 this is Laplace's rule.

p(w | h) = (c(hw) + k) / (c(h) + k V)
"""

from dataclasses import dataclass

import numpy as np

from unhot.ngrams.smoothing.smoothing import FLAT, Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing


@smoothing("add_k")
@dataclass(frozen=True)
class AddK(Smoothing):
    """c + k."""

    how = FLAT
    k: float = 1.0  # added to each count

    limits = {"k": (np.finfo(np.float64).tiny, np.inf)}

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Add k to all counts, also to zero."""
        return Rule(np.array([self.k]), -self.k, plus=self.k * tally.words, how=FLAT, fixed=self.k)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        found = tables.after[history]
        return (found[word] + self.k) / (found.total() + self.k * len(tables.words))
