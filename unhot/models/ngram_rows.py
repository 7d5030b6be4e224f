"""The input rows of a model whose words are made of n-grams.

A vocabulary uses few of the millions of buckets (68,000 words use a seventh: 294,000 of 2,000,000). So only
used buckets have a row; a bucket without a row stands for a row of zeros. Rows are sorted by how often
training touches them, most often first. So the busiest rows are near each other, and the first rows get a
copy for each thread (train/hot_rows.py).
"""

from typing import NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.kernels.bags import Bags
from unhot.types import Counts, Doubles, Ids, Starts
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

NO_KEYS: Counts = np.zeros(0, np.int64)
TABLE = 1 << 22  # a table of so many buckets is always small enough


class NgramRows(NamedTuple):
    """The word or bucket that each input row stands for, and the rows that make up each word."""

    keys: Counts  # [rows] >= 0: a bucket of n-grams, or another thing words share; < 0: the word -1 - key
    bags: Bags


def ngram_rows(vocabulary: Vocabulary, subwords: Subwords, use: Doubles, also: Counts) -> NgramRows:
    """Make the rows of a vocabulary's words and n-grams, sorted by use, and rows for the keys in `also`.

    `use` is how often each word will be trained. `also` holds keys that must have a row in any case.
    """
    pieces = subwords.bags(vocabulary.words)
    own = len(vocabulary) if subwords.own_rows else 0
    return shared_rows(pieces.starts, pieces.ids, subwords.buckets, own, use, also)


def shared_rows(
    starts: Starts, ids: Ids, buckets: int, own: int, use: Doubles, also: Counts = NO_KEYS
) -> NgramRows:
    """Make rows of the first `own` words and of what words share: word w has ids[starts[w] : starts[w + 1]].

    `buckets` is above all ids; for `use` and `also` see `ngram_rows`.
    """
    used, places = _different(ids, buckets)
    bucket_use = np.bincount(places, np.repeat(use, np.diff(starts)), used.size)
    kept = np.setdiff1d(also[also >= 0], used)
    order = np.argsort(-np.concatenate([use[:own], bucket_use, np.zeros(kept.size)]), kind="stable")
    keys = np.concatenate([-1 - np.arange(own), used, kept])[order]
    row_of = np.empty(keys.size, np.int32)
    row_of[order] = np.arange(keys.size, dtype=np.int32)
    return NgramRows(keys, _squared(joined_bags(starts, row_of[own:][places], row_of[:own])))


def bags_of(keys: Counts, vocabulary: Vocabulary, subwords: Subwords) -> Bags:
    """Return the rows that make up each word, given the key of each row."""
    pieces = subwords.bags(vocabulary.words)
    return keyed_bags(keys, pieces.starts, pieces.ids, len(vocabulary) if subwords.own_rows else 0)


def keyed_bags(keys: Counts, starts: Starts, ids: Ids, own: int) -> Bags:
    """Return the bags that `shared_rows` made, given the key of each row."""
    order = np.argsort(keys)
    found = []
    for wanted in (ids, -1 - np.arange(own)):
        rows = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)]
        if (keys[rows] != wanted).any():
            raise DataError(
                f"the key {wanted[keys[rows] != wanted][0]} has no row, but a word of the vocabulary needs it"
            )
        found.append(rows.astype(np.int32))
    return _squared(joined_bags(starts, *found))


def _different(ids: Ids, buckets: int) -> tuple[Counts, Ids]:
    """Return the distinct buckets among ids, ascending, and the position of each id among them.

    This is `np.unique`, but by a table of all buckets unless that would be far too big.
    """
    if buckets > TABLE + 8 * ids.size:
        found, places = np.unique(ids, return_inverse=True)
        return found.astype(np.int64), places.astype(np.int32)
    used = np.flatnonzero(np.bincount(ids, minlength=buckets)).astype(np.int64)
    place = np.zeros(buckets, np.int32)
    place[used] = np.arange(used.size, dtype=np.int32)
    return used, place[ids]


def joined_bags(starts: Starts, rows: Ids, own: Ids) -> Bags:
    """Make each word's bag, without squares: its own row, if it is among the first words, then the others."""
    starts = starts + np.minimum(np.arange(starts.size), own.size)
    is_own = np.zeros(int(starts[-1]), bool)
    is_own[starts[: own.size]] = True
    joined = np.empty(is_own.size, np.int32)
    joined[is_own], joined[~is_own] = own, rows
    return Bags(starts, joined, np.zeros(0, np.float32))


def _squared(bags: Bags) -> Bags:
    """Add for each word the sum of m^2 over its different rows; m is how often a row is in its bag."""
    starts, rows = bags.starts, bags.rows
    word = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    pairs = np.sort(word * (int(rows.max(initial=0)) + 1) + rows)
    first = np.flatnonzero(np.append(pairs.size > 0, pairs[1:] != pairs[:-1])[: pairs.size])
    times = np.diff(np.append(first, pairs.size)).astype(np.float64)
    owner = pairs[first] // (int(rows.max(initial=0)) + 1)
    return bags._replace(squares=np.bincount(owner, times**2, starts.size - 1).astype(np.float32))


def old_rows(keys: Counts, old_keys: Counts, moved: Ids) -> Ids:
    """Return the row that each key had in an old model, -1 for keys it did not have.

    `moved` is the id that each word had in the old model, or -1.
    """
    wanted = keys.copy()
    own = keys < 0
    ids = moved[-1 - keys[own]].astype(np.int64)
    wanted[own] = np.where(ids >= 0, -1 - ids, np.iinfo(np.int64).min)
    order = np.argsort(old_keys)
    at = np.minimum(np.searchsorted(old_keys, wanted, sorter=order), old_keys.size - 1)
    found = order[at]
    return np.where(old_keys[found] == wanted, found, -1).astype(np.int32)


def word_rows(keys: Counts, rows: Ids) -> Ids:
    """Return for each input row the entry of `rows` for its word; -1 for rows of n-grams."""
    return np.where(keys < 0, rows[np.maximum(-1 - keys, 0)], -1).astype(np.int32)
