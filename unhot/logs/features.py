"""Features of events: further columns of a log, as numbers or as categories.

A column whose every value is a number holds numbers, unless it is said to hold categories; any other one
holds categories. What is known of a user, such as an age, is a feature of each event of the user.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import FormatError
from unhot.rows.numbers import BAD, numbers_of
from unhot.rows.values import as_bytes
from unhot.types import Bytes, Doubles, Ids
from unhot.vocab.vocabulary import decode_words, joined_words, split_words

NO_TIMES: Doubles = np.zeros(0)

BOOKED, REJECTED = 1, 2
NO = ("0", "0.0", "f", "false", "n", "no", "nan", "none", "null", "-")  # words that say that nothing was
NO_MARKS: Bytes = np.zeros(0, np.uint8)


class Feature(NamedTuple):
    """A further column of events."""

    values: Any  # numbers: float32, NaN if missing; categories: their ids as int32, -1 if missing
    categories: Sequence[str] | None = None  # the most frequent ones first; None: the values are numbers

    def at(self, places: Any) -> "Feature":
        """Return the values at some places."""
        return self._replace(values=self.values[places])


class EventColumns(NamedTuple):
    """What is known of events beside their items."""

    times: Doubles = NO_TIMES  # [events] seconds, NaN: not known; empty: none is known
    features: Mapping[str, Feature] = {}

    def at(self, places: Any) -> "EventColumns":
        """Return what is known of the events at some places."""
        times = self.times[places] if self.times.size else self.times
        return EventColumns(times, {name: feature.at(places) for name, feature in self.features.items()})

    def tensors(self, prefix: str) -> dict[str, Any]:
        """Return everything as arrays by name; a saved number is never NaN, so missing ones are marked."""
        found = {f"{prefix}times": np.asarray(self.times)} if self.times.size else {}
        for number, (name, (values, categories)) in enumerate(self.features.items()):
            text, starts = joined_words([name, *(categories or ())])
            missing = np.isnan(values).astype(np.uint8)
            parts = {"values": np.where(missing, 0, values), "text": text, "starts": starts}
            parts |= {"missing": missing} if missing.any() else {}
            found |= {f"{prefix}{number}.{part}": array for part, array in parts.items()}
        return found

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Any], prefix: str, events: int) -> "EventColumns":
        """Read back what `tensors` returned; raise a `FormatError` if it is damaged."""
        damaged = FormatError("the times or the features of a recommender are damaged: train it again")
        times = tensors.get(f"{prefix}times", NO_TIMES)
        if times.dtype != np.float64 or times.shape not in ((0,), (events,)):
            raise damaged
        features = dict[str, Feature]()
        for number in itertools.takewhile(lambda at: f"{prefix}{at}.text" in tensors, itertools.count()):
            values, text, starts = (
                tensors.get(f"{prefix}{number}.{part}", NO_TIMES) for part in ("values", "text", "starts")
            )
            missing = tensors.get(f"{prefix}{number}.missing", np.zeros(events, np.uint8))
            name, *categories = split_words(text, starts)
            numbers = values.dtype == np.float32 and not categories
            ids = values.dtype == np.int32 and -1 <= values.min(initial=-1) <= values.max(initial=-1) < len(
                categories
            )
            marked = missing.dtype == np.uint8 and missing.max(initial=0) <= 1
            if not values.shape == missing.shape == (events,) or not (numbers or ids) or not marked:
                raise damaged
            values = np.where(missing, np.float32(np.nan), values) if numbers else values
            features[name] = Feature(values, None if numbers else categories)
        return cls(times, features)


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


def given_feature(cells: Any) -> Feature:
    """Return a column of Arrow as categories, whatever its values are."""
    found = as_bytes(cells).dictionary_encode()
    return feature_of(found.indices.fill_null(-1).to_numpy(), found.dictionary, as_categories=True)
