"""Maximum likelihood: the share of a word among those that followed the history.

    p(w | h) = c(hw) / c(h)

Words that never followed a history have probability zero, and so have unknown words. If the history itself
was never seen, the formula says nothing, and the longest history that was seen takes its place.
"""

from dataclasses import dataclass

from unhot.ngrams.smoothing.smoothing import Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing


@smoothing("maximum_likelihood")
@dataclass(frozen=True)
class MaximumLikelihood(Smoothing):
    """c / S."""

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Nothing is taken from counts, so nothing is left for shorter histories."""
        return Rule()

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        while history and history not in tables.after:
            history = history[1:]
        found = tables.after[history]
        return found[word] / found.total()
