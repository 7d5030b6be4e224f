"""What the values of features mean to a net: rows of a table of vectors, and what they are multiplied by.

    a category                 its own row, times 1; one that the training did not see has no row
    a number, in buckets       the row of its bucket, times 1; buckets hold about equally many values
    a number, normalized       the one row of the feature, times (x - mean) / standard deviation

A feature is a further column of events, or a side column of items.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.errors import FormatError
from unhot.items.kept_log import SideValues
from unhot.logs.features import Feature
from unhot.rows.arrow import pyarrow
from unhot.rows.numbers import BAD, numbers_of
from unhot.types import Doubles, Floats, Ids
from unhot.vocab.vocabulary import joined_words, split_words

CATEGORIES, BUCKETS = "categories", "buckets"
NORMALIZED = "normalized"
DAMAGED = "the features of a recommender are damaged: train it again"


class FeatureRows(NamedTuple):
    """The rows of a feature."""

    name: str
    kind: str
    words: Sequence[str]  # of categories
    numbers: Doubles  # buckets: the edges between them; normalized: mean and standard deviation

    @classmethod
    def learned(cls, name: str, feature: Feature, buckets: int) -> Self:
        """Return the rows of the values that the training saw; buckets=0: numbers are normalized."""
        if feature.categories is not None:
            return cls(name, CATEGORIES, feature.categories, np.zeros(0))
        seen = feature.values[~np.isnan(feature.values)].astype(np.float64)
        if not seen.size:  # no value has a row
            return cls(name, CATEGORIES, (), np.zeros(0))
        if not buckets:
            return cls(name, NORMALIZED, (), np.array([seen.mean(), seen.std() or 1.0]))
        return cls(name, BUCKETS, (), np.unique(np.quantile(seen, np.arange(1, buckets) / buckets)))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return {CATEGORIES: len(self.words), BUCKETS: self.numbers.size + 1, NORMALIZED: 1}[self.kind]

    def look_up(self, feature: Feature) -> tuple[Ids, Floats]:
        """Return the row of each value, -1: none; and what the row is multiplied by."""
        if self.kind == CATEGORIES:
            row_of = {word: row for row, word in enumerate(self.words)}
            ids, words = _as_categories(feature)
            rows = np.array([*(row_of.get(word, -1) for word in words), -1], np.int32)[ids]
            return rows, np.ones(rows.size, np.float32)
        values = _as_numbers(feature)
        bad, places = np.isnan(values), np.searchsorted(self.numbers, values, "right")
        if self.kind == BUCKETS:
            return np.where(bad, -1, places).astype(np.int32), np.ones(values.size, np.float32)
        weights = np.where(bad, 0, (values - self.numbers[0]) / self.numbers[1])
        return np.where(bad, -1, 0).astype(np.int32), weights.astype(np.float32)


def _as_categories(feature: Feature) -> tuple[Ids, Sequence[str]]:
    """Return a feature as categories: a number is spelled in full, with as few digits as tell it apart."""
    if feature.categories is not None:
        return feature.values, feature.categories
    known, ids = np.unique(feature.values, return_inverse=True)
    words = [np.format_float_positional(value, trim="-") for value in known]
    return np.where(np.isnan(feature.values), -1, ids).astype(np.int32), words


def _as_numbers(feature: Feature) -> Doubles:
    """Return a feature as numbers, rounded as those of a log: categories that are none are missing."""
    if feature.categories is None:
        values: Doubles = feature.values.astype(np.float64)
        return values
    found, kinds = numbers_of(pyarrow().array([*feature.categories], pyarrow().string()))
    numbers = np.append(np.where(kinds == BAD, np.nan, found), np.nan).astype(np.float32)
    rounded: Doubles = numbers[feature.values].astype(np.float64)
    return rounded


def look_up_all(
    known: Sequence[FeatureRows], given: Mapping[str, Feature], events: int
) -> tuple[Ids, Floats] | None:
    """Return the rows of all features, -1: none, and their weights, [events, features]; None: no features.

    Each feature has its own range of rows. One that is not given has no values.
    """
    rows, weights = np.full((events, len(known)), -1, np.int32), np.ones((events, len(known)), np.float32)
    first = 0
    for number, feature in enumerate(known):
        if feature.name in given:
            found, weights[:, number] = feature.look_up(given[feature.name])
            rows[:, number] = np.where(found < 0, -1, found + first)
        first += feature.size
    return (rows, weights) if known else None


class SideRows(NamedTuple):
    """The rows of the side values of items: item i has the entries starts[i] .. starts[i + 1]."""

    starts: Any  # int64 [items + 1]
    rows: Ids  # [entries]
    weights: Floats  # [entries]
    columns: Ids  # [entries] the number of the side column
    size: int  # how many rows there are
    number: int  # of columns


def side_rows(sides: SideValues, items: int, buckets: int) -> SideRows:
    """Return the rows of side values: a column whose every value is a number is a feature of numbers."""
    pairs = [word.partition("=")[::2] for word in sides.words]
    names = [*dict.fromkeys(name for name, _ in pairs)]
    column_of = np.array([names.index(name) for name, _ in pairs], np.int32)
    rows, weights = np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.float32)
    first = 0
    for number, name in enumerate(names):
        own = np.flatnonzero(column_of == number)
        values = Feature(np.arange(own.size, dtype=np.int32), [pairs[i][1] for i in own])
        numbers = _as_numbers(values)
        feature = values if np.isnan(numbers).any() else Feature(numbers.astype(np.float32))
        entries = feature.at(np.searchsorted(own, sides.ids[column_of[sides.ids] == number]))
        learned = FeatureRows.learned(name, entries, buckets)
        found, weights[own] = learned.look_up(feature)
        rows[own], first = found + first, first + learned.size
    starts = sides.starts if sides.words else np.zeros(items + 1, np.int64)
    ids = sides.ids
    return SideRows(starts, rows[ids], weights[ids], column_of[ids], first, len(names))


def feature_tensors(known: Sequence[FeatureRows]) -> dict[str, Any]:
    """Return the rows of features as tensors of a saved model."""
    found: dict[str, Any] = {}
    for number, feature in enumerate(known):
        text, starts = joined_words([feature.name, feature.kind, *feature.words])
        parts: dict[str, Any] = {"text": text, "starts": starts, "numbers": feature.numbers}
        found |= {f"feature{number}.{part}": array for part, array in parts.items() if array.size}
    return found


def saved_features(tensors: Mapping[str, Any]) -> list[FeatureRows]:
    """Return the rows of the features of a saved model; raise a `FormatError` if they are damaged."""
    found: list[FeatureRows] = []
    none: Any = np.zeros(0)
    while (text := tensors.get(f"feature{len(found)}.text")) is not None:
        starts = tensors.get(f"feature{len(found)}.starts", none)
        numbers = tensors.get(f"feature{len(found)}.numbers", none)
        name, kind, *words = [*split_words(text, starts), "", ""]  # a damaged list may lack both
        rising = numbers.ndim == 1 and (np.diff(numbers) > 0).all()
        spread = numbers.shape == (2,) and numbers[1] > 0
        fits = {CATEGORIES: not numbers.size, BUCKETS: rising, NORMALIZED: spread}
        if numbers.dtype != np.float64 or not fits.get(kind):
            raise FormatError(DAMAGED)
        found.append(FeatureRows(name, kind, words[:-2], numbers))
    return found
