"""Stupid backoff: shares of counts, and a fixed weight for each word that the history is shortened by.

    S(w | h) = c(hw) / c(h)         if c(hw) > 0
             = weight S(w | h')     otherwise

These are scores, not probabilities: they do not sum to one. With very much text they serve as well, and they
need no statistics. Unknown words have the score zero.

Reference: Brants et al., Large language models in machine translation, 2007.
"""

from dataclasses import dataclass

from unhot.ngrams.smoothing.smoothing import FIXED, Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing


@smoothing("stupid_backoff")
@dataclass(frozen=True)
class StupidBackoff(Smoothing):
    """c / S, or weight times the score of a shorter history."""

    normalised = False
    how = FIXED
    weight: float = 0.4  # for each word by which the history is shortened

    limits = {"weight": (1e-30, 1.0)}

    @property
    def unseen(self) -> float:
        """A history that was never seen is shortened as any other."""
        return self.weight

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Keep counts as they are."""
        return Rule(how=FIXED, fixed=self.weight)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        found = tables.after[history]
        if word in found or not history:
            return found[word] / found.total()
        return self.weight * self.reference(tables, history[1:], word)
