"""The compiled part of counting: sort the places of a text by the words that follow, level by level.

The n-grams of a text are a trie: its level k has the n-grams of k words, each below the k - 1 words that it
begins with. A place of the text stands for the n-gram that begins there. The places of a level are sorted by
their first k words, so those of one n-gram are neighbours, and the next level sorts the places of each
n-gram by one more word. Nothing is hashed, and an n-gram with one place needs no sorting.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.symbols import BEGIN, END, key_of
from unhot.types import Counts, Ids, Starts

FEW = 24  # that many keys are sorted by insertion
AHEAD = 16  # places whose words are prefetched before they are needed
DIGIT = 8  # bits of a digit of the radix sort
HALF, LOW = 32, (1 << 32) - 1


class SortScratch(NamedTuple):
    """The buffers of one thread."""

    keys: Starts
    spare: Starts
    nodes: Starts
    digits: Counts  # [2^DIGIT]


class LevelParts(NamedTuple):
    """What a part of the text adds to each level k: n-grams 0 .. made[k] - 1 of row k."""

    keys: Ids  # the last words
    counts: Ids
    begins: Ids  # where the n-grams of the next level begin that continue each one
    made: Counts


class Merged(NamedTuple):
    """The merged n-grams of a level."""

    keys: Ids
    counts: Counts
    begins: Starts  # of the n-grams before them: where those begin that continue each one
    sizes: Counts  # how many runs have each
    nodes: Starts  # which nodes of the runs they are


def new_scratch(size: int) -> SortScratch:
    """Return buffers to sort `size` keys."""
    return SortScratch(*(np.empty(each, np.int64) for each in (size, size, size, 1 << DIGIT)))


def new_parts(order: int, size: int) -> LevelParts:
    """Return room for `size` n-grams of each order."""
    keys, counts, begins = np.empty((3, order + 1, size + 1), np.int32)
    return LevelParts(keys, counts, begins, np.zeros(order + 1, np.int64))


@kernel
def fill_tokens(ids: Any, starts: Any, first: Any, step: Any, held: Any, words: Any, tokens: Any) -> Any:
    """Write lines as `<s>` word ... `</s>`; return the number of tokens.

    `first`: the number of the first line. Each `step`-th line is held out: `held` says whether these are
    written, or the others. words[id + 1]: the word of an id of the corpus; words[0]: that of unknown words.
    """
    at = 0
    for line in range(starts.size - 1):
        if ((first + line) % step == step - 1) == held:
            tokens[at] = BEGIN
            for i in range(starts[line], starts[line + 1]):
                at += 1
                tokens[at] = words[ids[i] + 1]
            tokens[at + 1] = END
            at += 2
    return at


@kernel
def tally(tokens: Any, sizes: Any, seen: Any) -> None:
    """Count the tokens of each word; seen[word]: the rank in which it first appears, seen[-1]: the next one.

    Ranks go on from one section of a text to the next.
    """
    last = seen.size - 1
    for i in range(tokens.size):
        word = tokens[i]
        sizes[word] += 1
        if seen[word] < 0:
            seen[word] = seen[last]
            seen[last] += 1


@kernel
def list_places(tokens: Any, nexts: Any, places: Any) -> None:
    """Sort the places of a text by their word; `nexts`: where the places of each word begin."""
    for i in range(tokens.size):
        word = tokens[i]
        places[nexts[word]] = i
        nexts[word] += 1


@inner
def sort_keys(scratch: Any, n: Any, bits: Any) -> None:
    """Sort the first n keys by their upper halves, which have `bits` bits; equal ones keep their order."""
    keys, spare = scratch.keys, scratch.spare
    if n <= FEW:
        for i in range(1, n):
            key = keys[i]
            j = i
            while j > 0 and keys[j - 1] >> HALF > key >> HALF:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    for shift in range(HALF, HALF + bits, 2 * DIGIT):
        sort_by_digit(keys, spare, scratch.digits, n, shift)
        sort_by_digit(spare, keys, scratch.digits, n, shift + DIGIT)


@inner
def sort_by_digit(source: Any, target: Any, starts: Any, n: Any, shift: Any) -> None:
    """Sort n keys by the digit above bit `shift`."""
    starts[:] = 0
    for i in range(n):
        starts[(source[i] >> shift) & ((1 << DIGIT) - 1)] += 1
    total = 0
    for digit in range(1 << DIGIT):
        size = starts[digit]
        starts[digit] = total
        total += size
    for i in range(n):
        digit = (source[i] >> shift) & ((1 << DIGIT) - 1)
        target[starts[digit]] = source[i]
        starts[digit] += 1


@inner
def split(
    tokens: Any, places: Any, at: Any, to: Any, size: Any, level: Any, keys: Any, parts: Any, n: Any,
    scratch: Any,
) -> Any:  # fmt: skip
    """Sort places[at : at + size] by word number `level`, and add the n-grams; return how many there are.

    The sorted places go to places[to : to + size], at or before those that they come from.
    """
    if size == 1:
        if at + AHEAD < places.size:
            prefetch_number(tokens, np.int64(places[at + AHEAD]) + level)
        places[to] = places[at]
        parts.keys[level + 1, n] = key_of(keys, np.int64(tokens[places[at] + level]))
        parts.counts[level + 1, n] = 1
        return n + 1
    for i in range(size):
        if at + i + AHEAD < places.size:
            prefetch_number(tokens, np.int64(places[at + i + AHEAD]) + level)
        place = np.int64(places[at + i])
        scratch.keys[i] = (key_of(keys, np.int64(tokens[place + level])) << HALF) | place
    sort_keys(scratch, size, keys.bits)
    last = np.int64(-1)
    for i in range(size):
        key = scratch.keys[i] >> HALF
        places[to + i] = scratch.keys[i] & LOW
        if key != last:
            parts.keys[level + 1, n] = key
            parts.counts[level + 1, n] = 0
            n += 1
            last = key
        parts.counts[level + 1, n - 1] += 1
    return n


@kernel
def add_part(
    tokens: Any, places: Any, sizes: Any, first: Any, order: Any, keys: Any, parts: Any, scratch: Any
) -> None:
    """Find all n-grams that begin with word first, first + 1, ...; sizes[i]: the places of word first + i.

    The places are sorted by these words. Level k + 1 is made from level k. Places at which a line has ended
    drop out.
    """
    parts.made[1] = sizes.size
    end = key_of(keys, np.int64(END))
    for level in range(1, order):
        n = np.int64(0)
        at = np.int64(0)
        to = np.int64(0)
        for i in range(parts.made[level]):
            if level == 1:
                size, ends = np.int64(sizes[i]), first + i == END
            else:
                size, ends = np.int64(parts.counts[level, i]), parts.keys[level, i] == end
            parts.begins[level, i] = n
            if size > 0 and not ends:
                n = split(tokens, places, at, to, size, level, keys, parts, n, scratch)
                to += size
            at += size
        parts.made[level + 1] = n


@kernel
def merge_level(
    sizes: Any, nodes: Any, begins: Any, keys: Any, counts: Any, bits: Any, merged: Any, scratch: Any
) -> Any:
    """Merge the n-grams of several runs that continue the same n-grams; return how many there are.

    N-gram i is the nodes sum(sizes[:i]) .. of the runs. Node x continues as begins[x] .. begins[x + 1] - 1
    of the next level, with their keys and counts.
    """
    n = np.int64(0)
    at = np.int64(0)
    to = np.int64(0)
    for i in range(sizes.size):
        merged.begins[i] = n
        number = np.int64(0)
        for j in range(at, at + sizes[i]):
            for node in range(begins[nodes[j]], begins[nodes[j] + 1]):
                scratch.keys[number] = (np.int64(keys[node]) << HALF) | number
                scratch.nodes[number] = node
                number += 1
        at += sizes[i]
        sort_keys(scratch, number, bits)
        last = np.int64(-1)
        for j in range(number):
            key = scratch.keys[j] >> HALF
            node = scratch.nodes[scratch.keys[j] & LOW]
            merged.nodes[to] = node
            to += 1
            if key != last:
                merged.keys[n] = key
                merged.counts[n] = 0
                merged.sizes[n] = 0
                n += 1
                last = key
            merged.counts[n - 1] += counts[node]
            merged.sizes[n - 1] += 1
    return n
