"""Noise by a rule: compute the probability q of every id from the counts or from the number of words.

    unigram        q(w) proportional to count(w) ** power
    uniform        q(w) = 1 / V for every id, also for words with count zero
    log_uniform    q(i) = (log(i + 2) - log(i + 1)) / log(V + 1), about Zipf's law over ranks

A power below 1 lowers the share of frequent words and raises that of rare words (word2vec: 0.75); a power of
0 is uniform over the words that occur; a negative power prefers rare words. A word with count zero is never
drawn by unigram, whatever the power: 0 ** 0 and 0 ** -1 count as zero, too. For unigram and uniform, ids may
be in any order. log_uniform uses ranks, not counts, so ids must be sorted by descending count, which is
checked.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.types import Counts, Doubles


def checked_weights(name: str, weights: ArrayLike) -> Doubles:
    """Return the weights as float64; raise a `DataError` unless they are a row of finite numbers >= 0."""
    try:
        checked = np.asarray(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: must be numbers, one for each id") from error
    if checked.ndim != 1:
        raise DataError(f"{name} of shape {checked.shape}: must be one row with one number for each id")
    bad = np.flatnonzero(~((checked >= 0) & (checked < np.inf)))
    if bad.size:
        raise DataError(f"{name}: {checked[bad[0]]} for id {bad[0]}: must be finite and >= 0")
    return checked


def normalised(weights: Doubles, power: float, empty: str) -> Doubles:
    """Return the probabilities of checked weights; raise a `DataError` with the text `empty` if all are 0."""
    if not math.isfinite(power):
        raise ConfigError(f"power={power}: must be a finite number")
    possible = weights > 0
    if not possible.any():
        raise DataError(empty)
    log_weight = np.where(possible, power * np.log(np.where(possible, weights, 1.0)), -np.inf)
    weight = np.exp(log_weight - log_weight.max())  # in logs, so that no power overflows
    return np.asarray(weight / weight.sum())


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
