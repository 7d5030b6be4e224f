"""Features of events and of users: further columns of a log, as numbers or as categories.

A column whose every value is a number holds numbers, unless it is said to hold categories; any other one
holds categories. Features of a user are columns of events, too: the last value that is there counts, in order
of time, of the events that the log keeps.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.rows.numbers import BAD, numbers_of
from unhot.types import Bytes, Ids
from unhot.vocab.vocabulary import decode_words

BOOKED, REJECTED = 1, 2
NO = ("0", "0.0", "f", "false", "n", "no", "nan", "none", "null", "-")  # words that say that nothing was
NO_MARKS: Bytes = np.zeros(0, np.uint8)


class Feature(NamedTuple):
    """A column of events or of users."""

    values: Any  # numbers: float32, NaN if missing; categories: their ids as int32, -1 if missing
    categories: Sequence[str] | None = None  # the most frequent ones first; None: the values are numbers

    def at(self, places: Any) -> "Feature":
        """Return the values at some places."""
        return self._replace(values=self.values[places])

    def last(self, owners: Ids, number: int) -> "Feature":
        """Return the last value that is there of each of the owners 0 .. number - 1; -1: nobody's.

        >>> Feature(np.array([0, 1, -1, 1], np.int32), ["a", "b"]).last(np.array([0, 0, 0, -1]), 2).values
        array([ 1, -1], dtype=int32)
        """
        missing = np.isnan(self.values) if self.categories is None else self.values < 0
        there = (owners >= 0) & ~missing
        found = np.full(number, np.nan if self.categories is None else -1, self.values.dtype)
        found[owners[there]] = self.values[there]  # of several the last one stays
        return self._replace(values=found)


def marks_of(features: dict[Any, Feature]) -> Bytes:
    """Return what was booked and what was rejected, by words that say yes; take them out of the features."""
    found = NO_MARKS
    for role, mark in (("booked", BOOKED), ("rejected", REJECTED)):
        if role in features:
            ids, words = features.pop(role)
            said = np.array([*(word.strip().lower() not in NO for word in words or ()), False])
            found = said[ids] * np.uint8(mark) | (found if found.size else np.uint8(0))
    return found


def feature_of(ids: Ids, words: Any, as_categories: bool) -> Feature:
    """Return a column of words, a column of Arrow, of which each event has the number; -1: none."""
    numbers, kinds = numbers_of(words)
    if as_categories or (kinds == BAD).any():
        return Feature(ids, decode_words(words.to_pylist()))
    return Feature(np.append(numbers, np.nan).astype(np.float32)[ids])
