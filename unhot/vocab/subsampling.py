"""Sub-sampling of frequent words: how likely a token is kept.

With f the relative frequency of a word among the tokens of the vocabulary and t the threshold (`sample`),
word2vec's rule is

    keep(w) = min(1, (sqrt(f / t) + 1) t / f),   all words are kept if t = 0.

`rank_keep_probability` is the rule for when only the rank r of a word is known (Keras' sampling table): under
Zipf's law the inverse frequency of rank r is about g = r (ln r + 0.577) + 1/2 - 1 / (12 r), and keep = min(1,
sqrt(factor g)).

Reference: Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013
(and its C code).
"""

import numpy as np

from unhot.types import Counts, Doubles

EULER_GAMMA = 0.577  # as rounded in the original table


def keep_probability(counts: Counts, sample: float) -> Doubles:
    """Probability that a token of each word is kept: [vocabulary]."""
    if sample == 0:
        return np.ones(counts.size)
    frequency = np.maximum(counts, 1) / counts.sum()
    share = sample / frequency
    keep: Doubles = np.minimum(1.0, np.sqrt(share) + share)  # the rule above, without numbers that overflow
    return keep


def rank_keep_probability(size: int, factor: float = 1e-5) -> Doubles:
    """The same from ranks alone: entry r for the word of rank r, where 0 counts as 1: [size]."""
    rank = np.maximum(np.arange(size), 1).astype(np.float64)
    inverse = rank * (np.log(rank) + EULER_GAMMA) + 0.5 - 1 / (12 * rank)
    return np.minimum(1.0, np.sqrt(factor * inverse))
