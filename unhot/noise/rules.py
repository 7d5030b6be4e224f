"""Noise by a rule: compute the probability q of every id from the counts or from the number of words.

    unigram        q(w) proportional to count(w) ** power
    uniform        q(w) = 1 / V for every id, also for words with count zero
    log_uniform    q(i) = (log(i + 2) - log(i + 1)) / log(V + 1), about Zipf's law over ranks

A power below 1 lowers the share of frequent words and raises that of rare words (word2vec: 0.75); a power of
0 is uniform over the words that occur; a negative power prefers rare words. A word with count zero is never
drawn by unigram. For unigram and uniform, ids may be in any order. log_uniform uses ranks, not counts, so ids
must be sorted by descending count, which is checked.
"""

import numpy as np

from unhot.errors import DataError, whole
from unhot.noise.weights import checked_weights, normalised
from unhot.types import Counts, Doubles


def unigram(counts: Counts, power: float) -> Doubles:
    """Return probabilities in proportion to count ** power: [vocabulary]."""
    weights = checked_weights("counts", counts)
    return normalised(weights, power, "counts: no word has a count above zero, so no word can be drawn")


def uniform(words: int) -> Doubles:
    """Return equal probabilities for all ids: [words]."""
    words = whole("words", words, 1, 2**31 - 1)
    return np.full(words, 1.0 / words)


def log_uniform(counts: Counts) -> Doubles:
    """Return probabilities by rank, about Zipf's law: [vocabulary]."""
    if counts.size == 0:
        raise DataError("counts: the vocabulary is empty; noise needs at least one word")
    rises = np.flatnonzero(counts[1:] > counts[:-1])
    if rises.size:
        i = int(rises[0]) + 1
        raise DataError(
            f"log_uniform: the count rises from {counts[i - 1]:,} to {counts[i]:,} at id {i:,}: ids must be "
            "sorted by descending count; sort them, or use unigram, which takes ids in any order"
        )
    # log(i + 2) - log(i + 1), computed without subtracting close numbers
    step = np.log1p(1.0 / np.arange(1, counts.size + 1))
    return np.asarray(step / np.log1p(counts.size))
