"""Absolute discounting: each count gives the same discount D to the words not seen.

    p(w | h) = max(c(hw) - D, 0) / c(h) + D N1+(h .) / c(h) p(w | h')      D = n1 / (n1 + 2 n2)

n_r is the number of n-grams of the order with count r, so each order has its own D. N1+(h .) is the number of
different words after h. Below single words, p = 1 / V.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from unhot.ngrams.smoothing.smoothing import Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing

FALLBACK = 0.5  # the discount if there is no n-gram of count one, or all have it


def closed_discount(tally: Tally, note: Note) -> float:
    """Return n1 / (n1 + 2 n2); FALLBACK with a note if n1 or n2 is zero."""
    once, twice = tally.n[1:3].tolist()
    if not once or not twice:
        note(
            f"order {tally.order}: no n-gram has the count {1 if not once else 2}, so the discount has no "
            f"closed form; {FALLBACK} is used"
        )
        return FALLBACK
    return float(once / (once + 2 * twice))


def interpolated(
    after: Mapping[Ngram, Counter[str]],
    words: int,
    discounts: Callable[[int, int], float],
    history: Ngram,
    word: str,
) -> float:
    """Compute max(c - D, 0) / S + (sum of D) / S p(w | h'); discounts(order, c) is D."""
    lower = interpolated(after, words, discounts, history[1:], word) if history else 1 / words
    found, order = after.get(history), len(history) + 1
    if not found:
        return lower
    taken = sum(min(count, discounts(order, count)) for count in found.values())
    return (max(found[word] - discounts(order, found[word]), 0.0) + taken * lower) / found.total()


@smoothing("absolute_discounting")
@dataclass(frozen=True)
class AbsoluteDiscounting(Smoothing):
    """(c - D) / S."""

    discount: float | None = None  # D; by default that of the formula, for each order

    limits = {"discount": (0.0, 1.0)}

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Take D from all counts."""
        discount = closed_discount(tally, note) if self.discount is None else self.discount
        return Rule(np.zeros(1), discount)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        after = tables.adjusted if self.adjusted else tables.after

        def discount(order: int, count: int) -> float:
            return self.rule(tables.tally(order, self.adjusted, False), lambda line: None).minus

        return interpolated(after, len(tables.words), discount, history, word)
