"""Unigram noise: q(w) proportional to count(w) ** power.

Below 1, the power lowers the share of frequent words and raises that of rare ones (word2vec: 0.75); 0 is
uniform over the words that occur; a negative power prefers rare words. A word with count zero is never drawn.
Ids may be in any order.
"""

from __future__ import annotations

from unhot.noise.weights import checked_weights, normalised
from unhot.types import Counts, Doubles


def unigram(counts: Counts, power: float) -> Doubles:
    """Probabilities of all ids: [vocabulary]."""
    return normalised(
        checked_weights("counts", counts),
        power,
        "noise over an empty vocabulary: no word has a count above zero",
    )
