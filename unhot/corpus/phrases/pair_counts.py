"""Count all pairs of neighbouring words in a text, within a budget of memory, and score them.

The left sides of pairs (see pair_kernels.py) are cut into ranges, and the text is read once for each range. A
range is so small that its successors (four bytes for each token) and the pairs they may form fit the budget.
There is one range for each thread, and more only if the text is long. Every pair is counted exactly; nothing
is dropped to save memory. If the frequent pairs do not fit, a `DataError` says so.
"""

import contextlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.corpus.phrases.joining import GrowingText
from unhot.corpus.phrases.pair_kernels import (
    FOUND,
    NONE,
    FrequentPairs,
    collect,
    count_row,
    extend,
    fill_map,
    new_map,
    tally,
)
from unhot.errors import ConfigError, DataError
from unhot.threads import in_order
from unhot.types import Bytes, Counts, Doubles, Ids

PAIR_BYTES = 16  # bytes of a pair in `FrequentPairs`
ROW_BYTES = 32  # bytes of a row: its size, where its successors begin and go, and a copy
PREFIX_BYTES = 48  # bytes of a prefix: its parent and connector, its row, and two slots of the map
FEWEST = 1 << 12  # the smallest room for a range, in tokens
MOST = 2**31 - 1  # the largest room for a range: counts of a row are 32-bit
PREFIXES = 1 << 12  # how many prefixes there is room for at the beginning


class Lefts(NamedTuple):
    """The left sides of pairs: words, and prefixes (a word with connectors after it)."""

    shards: list[Ids]  # for each shard, the left side that ends at each token
    sizes: Counts  # [words + prefixes] how often each left side occurs
    parents: Ids  # [prefixes] the left side that each prefix extends
    ends: Ids  # [prefixes] the connector that is added to the parent


def count_pairs(
    text: GrowingText, lefts: Lefts, *, least: int, rare: bool, threads: int, memory: int
) -> tuple[FrequentPairs, int]:
    """Count all pairs of neighbours; return those seen at least `least` times, and how many pairs differ.

    rare        count pairs with a rare left side, too, so that the number of different pairs is right
    memory      budget in bytes
    """
    sizes = lefts.sizes if rare else np.where(lefts.sizes >= least, lefts.sizes, 0)
    room = _room(memory, sizes.size, text.counts.size, least, threads)
    ranges = _ranges(sizes, room, threads)

    def work(rows: tuple[int, int]) -> tuple[int, FrequentPairs]:
        begin, end = rows
        count = _count_long if end - begin == 1 and sizes[begin] > room else _count_range
        return count(text, lefts, sizes[begin:end], begin, least)

    found: list[FrequentPairs] = []
    different = kept = 0
    with contextlib.closing(in_order(ranges, work, threads)) as results:
        for number, pairs in results:
            different += number
            kept += pairs.counts.size
            if kept * PAIR_BYTES > memory:
                raise DataError(
                    f"memory={memory:,}: {kept:,} pairs seen at least {least} times do not fit, and there "
                    "may be more: allow more memory, or raise min_count"
                )
            found.append(pairs)
    found.append(_empty(0))
    return FrequentPairs(*(np.concatenate(arrays) for arrays in zip(*found, strict=True))), different


def _room(memory: int, rows: int, words: int, least: int, threads: int) -> int:
    """Return how many tokens a range may have to fit into memory."""
    fixed = ROW_BYTES * rows + threads * 8 * words
    each = 4 + -(-PAIR_BYTES // least)
    if memory < fixed + threads * FEWEST * each:
        raise ConfigError(
            f"memory={memory:,}: counting pairs of {words:,} words with {threads} threads needs at least "
            f"{fixed + threads * FEWEST * each:,} bytes: allow more, or use fewer threads"
        )
    return min((memory - fixed) // (threads * each), MOST)


def _ranges(sizes: Counts, room: int, threads: int) -> list[tuple[int, int]]:
    """Cut the rows into ranges of at most `room` tokens, of about equal size for the threads.

    A row with more tokens is a range by itself.
    """
    ends = np.cumsum(sizes)
    ranges: list[tuple[int, int]] = []
    begin = 0
    while begin < sizes.size:
        before = int(ends[begin] - sizes[begin])
        part = -(-(int(ends[-1]) - before) // max(1, threads - len(ranges)))  # an equal share of the rest
        end = max(begin + 1, int(np.searchsorted(ends, before + min(room, part), side="right")))
        if ends[end - 1] > before:
            ranges.append((begin, end))
        begin = end
    return ranges


def _empty(room: int) -> FrequentPairs:
    return FrequentPairs(np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64))


def _count_range(
    text: GrowingText, lefts: Lefts, sizes: Counts, begin: int, least: int
) -> tuple[int, FrequentPairs]:
    """Count the pairs whose left sides are begin, begin + 1, ...; this runs in a thread.

    Return the number of different pairs, and the frequent ones.
    """
    begins = np.cumsum(sizes) - sizes
    cursors = np.where(sizes > 0, begins, -1)
    successors, out = np.empty(int(sizes.sum()), np.int32), _empty(int((sizes // least).sum()))
    for shard, left in zip(text.shards, lefts.shards, strict=True):
        collect(left, shard.ids, shard.starts, begin, cursors, successors)
    different, n = tally(successors, begins, cursors, begin, least, np.zeros(text.counts.size, np.int32), out)
    return int(different), FrequentPairs(out.lefts[:n].copy(), out.words[:n].copy(), out.counts[:n].copy())


def _count_long(
    text: GrowingText, lefts: Lefts, sizes: Counts, row: int, least: int
) -> tuple[int, FrequentPairs]:
    """Count the pairs of one left side that has too many successors to collect them; see `_count_range`."""
    counts = np.zeros(text.counts.size, np.int64)
    for shard, left in zip(text.shards, lefts.shards, strict=True):
        count_row(left, shard.ids, shard.starts, row, counts)
    words = np.flatnonzero(counts >= least).astype(np.int32)
    return int(np.count_nonzero(counts)), FrequentPairs(
        np.full(words.size, row, np.int32), words, counts[words]
    )


def left_sides(text: GrowingText, connectors: Bytes, memory: int, folder: Path) -> Lefts:
    """Return the left sides of a text; without connectors these are its words, and nothing is written.

    connectors  [words] 1: the word is a connector, which may stand inside a pair but not be a side of it
    folder      where to write files
    """
    none = np.empty(0, np.int32)
    if not connectors.any():
        return Lefts([shard.ids for shard in text.shards], text.counts, none, none)
    prefixes = _Prefixes(connectors, memory)
    shards = [
        prefixes.extend(shard.ids, shard.starts, folder / f"{number:05}.lefts")
        for number, shard in enumerate(text.shards)
    ]
    n = int(prefixes.place[FOUND])
    return Lefts(shards, prefixes.sizes[: connectors.size + n], prefixes.parents[:n], prefixes.ends[:n])


class _Prefixes:
    """Prefixes (a word with connectors after it), numbered in the order in which they are found."""

    def __init__(self, connectors: Bytes, memory: int) -> None:
        self._connectors, self._memory = connectors, memory
        self.place = np.zeros(4, np.int64)  # see `extend`
        self.parents = self.ends = np.empty(0, np.int32)
        self.sizes = np.zeros(connectors.size, np.int64)
        self._grow(PREFIXES)

    def extend(self, ids: Ids, starts: Counts, path: Path) -> Ids:
        """Write the left sides of a shard to a file and map it."""
        # write all bytes first: here a full disk raises an error, in a sparse mapped file it would kill us
        path.write_bytes(ids.data)
        written = np.memmap(path, np.int32, "r+")
        self.place[:FOUND] = 0, 0, NONE
        while not extend(
            ids,
            starts,
            self._connectors,
            self._map,
            self.parents,
            self.ends,
            self.sizes,
            self.place,
            np.asarray(written),
        ):
            self._grow(2 * self.parents.size)
        del written
        return np.asarray(np.memmap(path, np.int32, "r"))

    def _grow(self, room: int) -> None:
        if room > PREFIXES and room * PREFIX_BYTES > self._memory:
            raise DataError(
                f"memory={self._memory:,}: the text has more than {room // 2:,} different words followed by "
                "connectors, which do not fit: allow more memory, or use fewer connectors"
            )
        n = self.parents.size
        more = np.zeros(room - n, np.int32)
        self.parents = np.concatenate([self.parents, more])
        self.ends = np.concatenate([self.ends, more])
        self.sizes = np.concatenate([self.sizes, more])
        self._map = new_map(room)
        numbers = np.arange(n, dtype=np.int64) + self._connectors.size
        fill_map(self._map, self.parents[:n], self.ends[:n], numbers)


def first_words(lefts: Lefts, words: int, some: Ids) -> Ids:
    """Return the first word of each of the given left sides."""
    first = some.copy()
    while (longer := np.flatnonzero(first >= words)).size:
        first[longer] = lefts.parents[first[longer] - words]
    return first


def words_of(lefts: Lefts, words: int, left: int) -> list[int]:
    """Return the ids that a left side is made of: its word, then its connectors."""
    behind = []
    while left >= words:
        behind.append(int(lefts.ends[left - words]))
        left = int(lefts.parents[left - words])
    return [left, *reversed(behind)]


def pair_scores(
    score: str, min_count: int, a: Counts, b: Counts, ab: Counts, n: int, different: int
) -> Doubles:
    """Return the scores of pairs: how strongly two words belong together.

    a and b are the counts of the two words, ab is the count of the first followed by the second, and n is the
    number of all words of the text:

        word2vec   (ab - min_count) / (a b) n              as in word2phrase
        gensim     (ab - min_count) / (a b) different      gensim's default; different: the number of
                                                           different words (without connectors) plus different
                                                           pairs
        npmi       log(p(ab) / (p(a) p(b))) / -log p(ab)   p = count / n; 1: never apart, 0: as by chance, -1:
                                                           never together

    References: Mikolov et al., Distributed representations of words and phrases and their compositionality,
    2013; Bouma, Normalized (pointwise) mutual information in collocation extraction, 2009.
    """
    if score == "npmi":
        p_a, p_b = a / float(n), b / float(n)
        p_ab = ab / float(n)
        return np.asarray(np.log(p_ab / (p_a * p_b)) / -np.log(p_ab), np.float64)
    times = n if score == "word2vec" else different
    return np.asarray((ab - min_count) / (a.astype(np.float64) * b) * times, np.float64)
