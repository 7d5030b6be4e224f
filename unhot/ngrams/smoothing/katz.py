"""Katz: Good-Turing discounts, and backing off: a shorter history is asked only if the n-gram was not seen.

    p(w | h) = d_r c(hw) / c(h)      if r = c(hw) > 0
             = alpha(h) p(w | h')    otherwise

    d_r      = (r*/r - K) / (1 - K)  for r <= k, and 1 above      r* = (r + 1) n_{r+1} / n_r
    K        = (k + 1) n_{k+1} / n_1
    alpha(h) = (1 - sum of p(w | h) over the words seen after h) / (1 - sum of p(w | h') over these words)

n_r is the number of n-grams of the order with count r. Single words leave what the discounts took to words
that were not seen. If nothing was taken after a history, because all its counts are above k, the formula
would give zero to all other words; unhot then divides by c(h) + 1 instead of c(h). If a history has seen all
words, nothing is taken.

Reference: Katz, Estimation of probabilities from sparse data, 1987.
"""

from dataclasses import dataclass

import numpy as np

from unhot.ngrams.smoothing.smoothing import (
    BACK_OFF,
    MOST,
    Ngram,
    Note,
    Rule,
    Smoothing,
    Tables,
    Tally,
    smoothing,
)
from unhot.types import Doubles

TINY = 1e-12  # a smaller probability of all unseen words together counts as none


@smoothing("katz")
@dataclass(frozen=True)
class Katz(Smoothing):
    """d_r c / S."""

    how = BACK_OFF
    k: int = 5  # counts above this are not discounted

    limits = {"k": (1, MOST - 2)}  # n_{k+1} must be counted

    def discounts(self, tally: Tally, note: Note) -> Doubles:
        """Return d_1 .. d_k; with a note (r - 1/2) / r, if the counts of counts give none between 0 and 1."""
        r, n = np.arange(1, self.k + 1), tally.n.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            over = (self.k + 1) * n[self.k + 1] / n[1]
            found: Doubles = ((r + 1) * n[r + 1] / n[r] / r - over) / (1 - over)
        if np.all((found > 0) & (found <= 1)):
            return found
        note(
            f"order {tally.order}: {', '.join(f'{x:.0f}' for x in n[1 : self.k + 2])} n-grams have the "
            f"counts 1 to {self.k + 1}, which gives no Good-Turing discounts; each count loses 0.5 instead"
        )
        return (r - 0.5) / r

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Multiply the counts 1 .. k by their discounts."""
        found = self.discounts(tally, note)
        return Rule(np.append(0.0, found * np.arange(1, self.k + 1)), how=BACK_OFF)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        found = tables.after[history]

        def lower(other: str) -> float:
            return self.reference(tables, history[1:], other) if history else 1 / len(tables.words)

        if not found:
            return lower(word)
        tally, total = tables.tally(len(history) + 1, False, False), found.total()
        discounts = self.discounts(tally, lambda line: None)
        left = {seen: c * (discounts[c - 1] if c <= self.k else 1.0) for seen, c in found.items()}
        unseen = 1 - sum(lower(seen) for seen in found)
        if unseen <= TINY:
            return found[word] / total
        if all(c > self.k for c in found.values()):
            total += 1
        if word in left:
            return float(left[word] / total)
        return float((1 - sum(left.values()) / total) / unseen * lower(word))
