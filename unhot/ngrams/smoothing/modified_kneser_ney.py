"""Modified Kneser-Ney: Kneser-Ney with three discounts, for adjusted counts of one, two, and three or more.

    D1 = 1 - 2 Y n2 / n1,  D2 = 2 - 3 Y n3 / n2,  D3+ = 3 - 4 Y n4 / n3      Y = n1 / (n1 + 2 n2)

The rest is as in kneser_ney.py: each order has the discounts of its own n_r, the number of its n-grams with
adjusted count r. As in lmplz, KenLM's estimator, one n-gram of each lower order enters n_r with its true
count: the last one, if n-grams are compared from their last word to their first, and words by when they first
appeared. lmplz closes its last n-grams so. The effect is nearly none, but the probabilities are then equal.

Reference: Chen and Goodman, An empirical study of smoothing techniques for language modeling, 1998.
"""

from dataclasses import dataclass

import numpy as np

from unhot.ngrams.smoothing.absolute_discounting import interpolated
from unhot.ngrams.smoothing.smoothing import Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing

FALLBACK = (0.5, 1.0, 1.5)


def closed_discounts(tally: Tally, note: Note) -> tuple[float, ...]:
    """Return D1, D2, D3+; FALLBACK with a note if a count of counts is zero, or a discount out of range."""
    n = tally.n[:5].astype(np.float64)
    if n[1:4].all():
        y = n[1] / (n[1] + 2 * n[2])
        found = tuple(float(r - (r + 1) * y * n[r + 1] / n[r]) for r in (1, 2, 3))
        if all(0 <= discount <= r for r, discount in enumerate(found, 1)):
            return found
    note(
        f"order {tally.order}: {n[1]:.0f}, {n[2]:.0f}, {n[3]:.0f} and {n[4]:.0f} n-grams have the counts 1 "
        "to 4, which gives no discounts by the closed form; 0.5, 1 and 1.5 are used. Is the text small, or "
        "does it repeat itself?"
    )
    return FALLBACK


@smoothing("modified_kneser_ney")
@dataclass(frozen=True)
class ModifiedKneserNey(Smoothing):
    """(a - D(a)) / sum of a."""

    adjusted = True
    as_lmplz = True

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Take D1, D2 or D3+."""
        one, two, more = closed_discounts(tally, note)
        return Rule(np.array([0.0, 1 - one, 2 - two]), more)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""

        def discount(order: int, count: int) -> float:
            found = closed_discounts(tables.tally(order, True, True), lambda line: None)
            return 0.0 if not count else found[min(count, 3) - 1]

        return interpolated(tables.adjusted, len(tables.words), discount, history, word)
