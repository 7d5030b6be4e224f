"""The input rows of a model whose words are made of n-grams.

A vocabulary uses few of millions of buckets (here a seventh: 68,000 words, 294,000 of 2,000,000), so only these have a row, and a bucket
without one is a row of zeros. Rows lie in the order of how often a training touches them: those that it touches all the time are near each
other, and the first ones get a copy for each thread (train/hot.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unhot.kernels.bags import Bags
from unhot.types import Counts, Doubles, Ids
from unhot.vocab.subwords import Bags as Pieces
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary


class InputRows(NamedTuple):
    """What the rows are, and which of them make up each word."""

    keys: Counts  # [rows] >= 0: a bucket of n-grams; < 0: the word with id -1 - key
    bags: Bags


def input_rows(vocabulary: Vocabulary, subwords: Subwords, use: Doubles, also: Counts) -> InputRows:
    """Rows for the words and n-grams of a vocabulary, each word used so often, and for the buckets among `also`."""
    pieces = subwords.bags(vocabulary.words)
    bucket_use = np.bincount(pieces.ids, np.repeat(use, np.diff(pieces.starts)), subwords.buckets)
    there = np.bincount(pieces.ids, minlength=subwords.buckets) > 0
    there[also[also >= 0]] = True
    buckets, own = np.flatnonzero(there), len(vocabulary) if subwords.own_rows else 0
    order = np.argsort(-np.concatenate([use[:own], bucket_use[buckets]]), kind="stable")
    keys = np.concatenate([-1 - np.arange(own), buckets])[order]
    return InputRows(keys, _bags(keys, pieces, own, subwords.buckets))


def bags_of(keys: Counts, vocabulary: Vocabulary, subwords: Subwords) -> Bags:
    """The rows of each word, from what the rows are."""
    return _bags(keys, subwords.bags(vocabulary.words), len(vocabulary) if subwords.own_rows else 0, subwords.buckets)


def _bags(keys: Counts, pieces: Pieces, own: int, buckets: int) -> Bags:
    """Each word's own row, if words have one, and those of its buckets."""
    row_of = np.zeros(own + buckets, np.int32)  # words, then buckets
    row_of[np.where(keys < 0, -1 - keys, own + keys)] = np.arange(keys.size, dtype=np.int32)
    if own == 0:
        return Bags(pieces.starts, row_of[pieces.ids])
    starts = pieces.starts + np.arange(own + 1)
    rows, first = np.empty(int(starts[-1]), np.int32), np.zeros(int(starts[-1]), bool)
    first[starts[:-1]] = True
    rows[first], rows[~first] = row_of[:own], row_of[own:][pieces.ids]
    return Bags(starts, rows)


def old_rows(keys: Counts, old_keys: Counts, moved: Ids) -> Ids:
    """The row that each key had in another model, -1 where it had none; `moved` is the id that each word had there, or -1."""
    wanted = keys.copy()
    own = keys < 0
    ids = moved[-1 - keys[own]].astype(np.int64)
    wanted[own] = np.where(ids >= 0, -1 - ids, np.iinfo(np.int64).min)
    order = np.argsort(old_keys)
    at = np.minimum(np.searchsorted(old_keys, wanted, sorter=order), old_keys.size - 1)
    found = order[at]
    return np.where(old_keys[found] == wanted, found, -1).astype(np.int32)


def word_rows(keys: Counts, rows: Ids) -> Ids:
    """For each input row, what `rows` says of its word; -1 for n-grams."""
    return np.where(keys < 0, rows[np.maximum(-1 - keys, 0)], -1).astype(np.int32)
