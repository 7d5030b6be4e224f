"""Sub-sampling of frequent words: the probability that a token is kept.

Let f be the relative frequency of a word among all tokens of the vocabulary, and t the threshold (`sample`).
word2vec's rule is

    keep(w) = min(1, (sqrt(f / t) + 1) t / f);   if t = 0, all words are kept.

`rank_keep_probability` needs only the rank r of a word (Keras' sampling table). By Zipf's law, the inverse
frequency of rank r is about g = r (ln r + 0.577) + 1/2 - 1 / (12 r), and keep = min(1, sqrt(factor g)).

Reference: Mikolov et al., Distributed representations of words and phrases and their compositionality, 2013
(and its C code).
"""

import numpy as np

from unhot.types import Counts, Doubles

EULER_GAMMA = 0.577  # as rounded in the original table


def keep_probability(counts: Counts, sample: float) -> Doubles:
    """Return, for each word, the probability that a token of it is kept: [vocabulary]."""
    if sample == 0:
        return np.ones(counts.size)
    frequency = np.maximum(counts, 1) / counts.sum()
    share = sample / frequency
    # (sqrt(f / t) + 1) t / f = sqrt(t / f) + t / f, and this form does not overflow
    return np.asarray(np.minimum(1.0, np.sqrt(share) + share))


def rank_keep_probability(size: int, factor: float = 1e-5) -> Doubles:
    """Return the probability that a word of each rank is kept, from ranks alone: [size]; rank 0 is as 1."""
    rank = np.maximum(np.arange(size), 1).astype(np.float64)
    inverse = rank * (np.log(rank) + EULER_GAMMA) + 0.5 - 1 / (12 * rank)
    return np.minimum(1.0, np.sqrt(factor * inverse))
