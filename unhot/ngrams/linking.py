"""Link each n-gram to its suffix, the n-gram without its first word, and count by these links.

The suffix of hw is the child of the suffix of h with the same last word. So a level is linked by its lower
levels, and the children of an n-gram are looked for among those of one other n-gram, in the same order. The
number of n-grams that have a suffix is the adjusted count of Kneser-Ney: how many different words stand
before it. N-grams that begin with `<s>` keep their counts.
"""

from typing import Any

import numpy as np

from unhot.corpus.indexed_folder import map_numbers
from unhot.kernels.jit import kernel
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.levels import NgramCounts
from unhot.ngrams.symbols import BEGIN, Sorted, seek, word_of_key
from unhot.threads import in_order, parts_of

BLOCK = 1 << 16  # n-grams whose children a thread does at once
AHEAD = 8  # n-grams whose suffixes are prefetched before they are needed


def link_levels(counts: NgramCounts, adjusted: bool, threads: int) -> None:
    """Write the links of all levels and, if asked for, the adjusted counts of the lower ones."""
    first, last = BEGIN, BEGIN + 1  # the n-grams of a level that begin with <s>
    links = np.zeros(0, np.uint32)
    for order in range(2, counts.order + 1):
        before = counts.level(order - 1)
        links = _link_level(counts, order, links, threads)
        if adjusted:
            found = np.zeros(before.counts.size, links.dtype)
            add_ones(links, found)
            found[first:last] = before.counts[first:last]
            found.tofile(counts.directory / f"{order - 1}.adjusted")
        links.tofile(counts.directory / f"{order}.links")
        first, last = int(before.begins[first]), int(before.begins[last])


def _link_level(counts: NgramCounts, order: int, shorter: Any, threads: int) -> Any:
    """Return the links of a level; `shorter`: those of the level before."""
    keys, before = counts.level(order).keys, counts.level(order - 1)
    links = np.empty(keys.size, before.counts.dtype)
    if order == 2:
        link_words(keys, counts.keys, links)
        return links
    lower = counts.level(order - 2).begins

    def work(part: range) -> None:
        ends = part.start, part.stop
        link_longer(*ends, before.begins, keys, shorter, lower, before.keys, counts.keys.bits, links)

    list(in_order(parts_of(before.begins.size - 1, BLOCK), work, threads))
    return links


def links_of(counts: NgramCounts, order: int) -> Any:
    """Map the links of a level."""
    return map_numbers(counts.directory / f"{order}.links", counts.level(1).counts.dtype)


def counts_of(counts: NgramCounts, order: int, adjusted: bool) -> Any:
    """Return the counts of a level, adjusted or not; that of `<s>`, which is never predicted, is 0."""
    found = counts.level(order).counts
    if adjusted and order < counts.order:
        found = map_numbers(counts.directory / f"{order}.adjusted", found.dtype)
    if order == 1:
        found = found.copy()
        found[BEGIN] = 0
    return found


@kernel
def link_words(level_keys: Any, keys: Any, links: Any) -> None:
    """Link pairs of words to their second word."""
    for i in range(level_keys.size):
        links[i] = word_of_key(keys, np.int64(level_keys[i]))


@kernel
def link_longer(
    first: Any, last: Any, begins: Any, keys: Any, before: Any, lower_begins: Any, lower_keys: Any, bits: Any,
    links: Any,
) -> None:  # fmt: skip
    """Link the n-grams that continue n-grams first .. last - 1, whose own links are `before`."""
    for i in range(first, last):
        if i + 2 * AHEAD < last:
            prefetch_number(lower_begins, np.int64(before[i + 2 * AHEAD]))
            prefetch_number(lower_keys, np.int64(lower_begins[before[i + AHEAD]]))
        low, high = np.int64(lower_begins[before[i]]), np.int64(lower_begins[before[i] + 1])
        for child in range(begins[i], begins[i + 1]):
            low = seek(Sorted(lower_keys), low, high, np.int64(keys[child]), bits)
            links[child] = low


@kernel
def add_ones(links: Any, counts: Any) -> None:
    """Count how many n-grams have each link."""
    for i in range(links.size):
        counts[links[i]] += 1
