"""Which words follow which, counted in ids: the compiled part of `corpus/phrase_counts.py`.

A pair is a left side and a word. The left side is a word or, where connector words stand between ("bank of" + "america"), a *prefix*: the
word and the connectors behind it, which `extend` gives numbers of their own. So `lefts` has an entry for each token:

    a word         its id: it may be the right side of a pair, and the left side of the next
    a connector    the prefix that ends here, or -1 if no word stands before it in the sentence

Without connectors `lefts` is `ids` itself. Rows are left sides. To count the pairs of some rows, their successors are collected, row by
row, in one pass over all tokens; then each row is tallied in an array with a place for every word.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import mix
from unhot.types import Counts, Ids, Words64

ZERO, HALF = np.uint64(0), np.uint64(32)
NONE = -1  # no left side
SENTENCE, TOKEN, LEFT, FOUND = 0, 1, 2, 3  # positions in `place`, see `extend`


class Map(NamedTuple):
    """(left, word) -> a number, as an open-addressing hash table; slot i is two 64-bit words, the key and the number + 1 (0: empty)."""

    slots: Words64  # [2 x capacity], capacity a power of two and more than the entries


class Pairs(NamedTuple):
    """Pairs that are frequent enough."""

    lefts: Ids
    words: Ids
    counts: Counts


def new_map(entries: int) -> Map:
    """An empty map with room for so many entries, at most half full."""
    return Map(np.zeros(2 << max(2 * entries - 1, 1).bit_length(), np.uint64))


@inner
def find_slot(table: Any, left: Any, word: Any) -> Any:
    """The slot of a key, or the empty one where it would be."""
    key = (np.uint64(left) << HALF) | np.uint64(word)
    mask = (table.slots.size >> 1) - 1
    slot = np.int64(mix(key) & np.uint64(mask))
    while table.slots[2 * slot + 1] != ZERO and table.slots[2 * slot] != key:
        slot = (slot + 1) & mask
    return slot


@inner
def found(table: Any, left: Any, word: Any) -> Any:
    """The number of a key, or -1."""
    return np.int64(table.slots[2 * find_slot(table, left, word) + 1]) - 1


@inner
def put(table: Any, left: Any, word: Any, number: Any) -> None:
    """Give a key a number."""
    slot = find_slot(table, left, word)
    table.slots[2 * slot] = (np.uint64(left) << HALF) | np.uint64(word)
    table.slots[2 * slot + 1] = np.uint64(number + 1)


@kernel
def fill_map(table: Any, lefts: Any, words: Any, numbers: Any) -> None:
    """Put entries into a map."""
    for i in range(lefts.size):
        put(table, lefts[i], words[i], numbers[i])


@kernel
def extend(ids: Any, starts: Any, connectors: Any, table: Any, parents: Any, ends: Any, sizes: Any, place: Any, lefts: Any) -> bool:
    """Write the left sides of a shard, from `place` on; False if there are more prefixes than there is room for.

    Prefix p is left side words + p: `parents[p]` and then the connector `ends[p]`. `sizes` counts each left side. `place` has the sentence
    and the token to go on with, the left side before it, and the number of prefixes so far.
    """
    at, left, prefixes = place[TOKEN], place[LEFT], place[FOUND]
    for sentence in range(place[SENTENCE], starts.size - 1):
        for i in range(at, starts[sentence + 1]):
            if connectors[ids[i]] == 0:
                left = np.int64(ids[i])
            elif left != NONE:
                known = found(table, left, ids[i])
                if known < 0:
                    if prefixes == parents.size:
                        place[SENTENCE], place[TOKEN], place[LEFT], place[FOUND] = sentence, i, left, prefixes
                        return False
                    known = connectors.size + prefixes
                    parents[prefixes], ends[prefixes] = left, ids[i]
                    put(table, left, ids[i], known)
                    prefixes += 1
                left = known
            lefts[i] = left
            if left != NONE:
                sizes[left] += 1
        at, left = starts[sentence + 1], np.int64(NONE)
    place[FOUND] = prefixes
    return True


@kernel
def collect(lefts: Any, ids: Any, starts: Any, first: int, cursors: Any, successors: Any) -> None:
    """Write the successors of rows first, first + 1, ...: that of row r goes to `cursors[r - first]`, which moves on; -1: not wanted."""
    last = first + cursors.size
    for sentence in range(starts.size - 1):
        left = np.int64(NONE)
        for i in range(starts[sentence], starts[sentence + 1]):
            if first <= left and left < last and lefts[i] == ids[i]:
                at = cursors[left - first]
                if at >= 0:
                    successors[at] = ids[i]
                    cursors[left - first] = at + 1
            left = np.int64(lefts[i])


@kernel
def tally(successors: Any, begins: Any, cursors: Any, first: int, least: int, counts: Any, out: Any) -> Any:
    """Count each row's successors; pairs seen `least` times go to `out`. The number of different pairs, and of those in `out`.

    `counts` has a zero for each word, before and after.
    """
    different, n = np.int64(0), np.int64(0)
    for row in range(cursors.size):
        begin, distinct = begins[row], 0
        for i in range(begin, cursors[row]):
            word = successors[i]
            if counts[word] == 0:
                successors[begin + distinct] = word  # in place: those before i are done with
                distinct += 1
            counts[word] += 1
        for i in range(begin, begin + distinct):
            word = successors[i]
            if counts[word] >= least:
                out.lefts[n], out.words[n], out.counts[n] = first + row, word, counts[word]
                n += 1
            counts[word] = 0
        different += distinct
    return different, n


@kernel
def count_row(lefts: Any, ids: Any, starts: Any, row: int, counts: Any) -> None:
    """Add the successors of one row to `counts`, which has a place for each word: for a row that is longer than memory allows."""
    for sentence in range(starts.size - 1):
        left = np.int64(NONE)
        for i in range(starts[sentence], starts[sentence + 1]):
            if left == row and lefts[i] == ids[i]:
                counts[ids[i]] += 1
            left = np.int64(lefts[i])
