"""Witten-Bell: a history followed by many different words leaves much for words that it has not seen.

    p(w | h) = l ML(w | h) + (1 - l) p(w | h')      l = c(h) / (c(h) + N1+(h .))

ML is the share c(hw) / c(h), N1+(h .) the number of different words after h. Below single words, p = 1 / V.
"""

from dataclasses import dataclass

from unhot.ngrams.smoothing.smoothing import Ngram, Note, Rule, Smoothing, Tables, Tally, smoothing


@smoothing("witten_bell")
@dataclass(frozen=True)
class WittenBell(Smoothing):
    """(c + N p') / (S + N), N different words."""

    def rule(self, tally: Tally, note: Note) -> Rule:
        """Count each different word once more, for words not seen."""
        return Rule(per_type=1.0)

    def reference(self, tables: Tables, history: Ngram, word: str) -> float:
        """Compute the formula."""
        return tables.mixed(lambda order, total, kinds: total / (total + kinds), history, word)
