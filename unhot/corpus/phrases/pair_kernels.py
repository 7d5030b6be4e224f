"""Count and join phrases in ids: the compiled part of `pair_counts.py` and `joining.py`.

**Counting.** A pair is a left side and a word. The left side is a word or, if connectors stand in between
("bank of" + "america"), a *prefix*: a word and the connectors after it. `extend` numbers the prefixes. So
`lefts` has an entry for each token:

    a word         its id: it may be the right side of a pair, and the left side of the next
    a connector    the prefix that ends here, or -1 if no word stands before it in the sentence

Without connectors, `lefts` is `ids` itself. A row is a left side. To count the pairs of some rows, one pass
over all tokens collects their successors, row by row. Then each row is tallied in an array with an entry for
every word.

**Joining**, from left to right:

    pending = nothing
    for each token:    connector      if something is pending, append the connector to it; else write it
                       word           if pending + word is a phrase: write the phrase; nothing is pending
                                      else: write what is pending unchanged; the word is now pending

At the end of a sentence, what is pending is written unchanged.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import mix
from unhot.types import Bytes, Counts, Ids, Words64

ZERO, HALF = np.uint64(0), np.uint64(32)
NONE = -1  # no left side
DEAD = -2  # tokens are pending that no phrase begins with
# entries of `place`, see `extend`
SENTENCE = 0
TOKEN = 1
LEFT = 2
FOUND = 3


class FrequentPairs(NamedTuple):
    """The pairs that are frequent enough, with their counts."""

    lefts: Ids
    words: Ids
    counts: Counts


class Rules(NamedTuple):
    """What to join: (left, word) -> the id of the phrase, (left, connector) -> the longer left side."""

    table: Words64  # see `new_map`
    begins: Bytes  # [lefts] 1: some phrase begins with this left side
    connectors: Bytes  # [words] 1: the word is a connector


def new_map(entries: int) -> Words64:
    """Return an empty map (left, word) -> number that is at most half full with that many entries.

    The map is an open-addressing hash table. Slot i is two 64-bit words: the key, and the number + 1 (0 means
    empty).
    """
    return np.zeros(2 << max(2 * entries - 1, 1).bit_length(), np.uint64)


@inner
def find_slot(table: Any, left: Any, word: Any) -> Any:
    """Return the slot of a key, or the empty slot where it would be inserted."""
    key = (np.uint64(left) << HALF) | np.uint64(word)
    mask = (table.size >> 1) - 1
    slot = np.int64(mix(key) & np.uint64(mask))
    while table[2 * slot + 1] != ZERO and table[2 * slot] != key:
        slot = (slot + 1) & mask
    return slot


@inner
def found(table: Any, left: Any, word: Any) -> Any:
    """Return the number of a key, or -1 if the map does not have it."""
    return np.int64(table[2 * find_slot(table, left, word) + 1]) - 1


@inner
def put(table: Any, left: Any, word: Any, number: Any) -> None:
    """Store the number of a key."""
    slot = find_slot(table, left, word)
    table[2 * slot] = (np.uint64(left) << HALF) | np.uint64(word)
    table[2 * slot + 1] = np.uint64(number + 1)


@kernel
def fill_map(table: Any, lefts: Any, words: Any, numbers: Any) -> None:
    """Put many entries into a map."""
    for i in range(lefts.size):
        put(table, lefts[i], words[i], numbers[i])


@kernel
def extend(
    ids: Any,
    starts: Any,
    connectors: Any,
    table: Any,
    parents: Any,
    ends: Any,
    sizes: Any,
    place: Any,
    lefts: Any,
) -> bool:
    """Write the left sides of a shard, from `place` on; return False if there is no room for a new prefix.

    Prefix p is left side number words + p: the left side `parents[p]` followed by the connector `ends[p]`.
    `sizes` counts each left side. `place` holds the sentence and the token to continue with, the left side
    before that token, and the number of prefixes so far.
    """
    at = place[TOKEN]
    left = place[LEFT]
    prefixes = place[FOUND]
    for sentence in range(place[SENTENCE], starts.size - 1):
        for i in range(at, starts[sentence + 1]):
            if connectors[ids[i]] == 0:
                left = np.int64(ids[i])
            elif left != NONE:
                known = found(table, left, ids[i])
                if known < 0:
                    if prefixes == parents.size:
                        place[:] = sentence, i, left, prefixes
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
    """Write the successors of the rows first, first + 1, ... to `successors`.

    The next successor of row r goes to position `cursors[r - first]`, which then advances; -1: skip this row.
    """
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
    """Count each row's successors; write pairs seen at least `least` times to `out`.

    Return the number of different pairs, and the number written to `out`. `counts` is scratch with an entry
    for each word; all entries must be zero and are zero again at the end.
    """
    different, n = np.int64(0), np.int64(0)
    for row in range(cursors.size):
        begin, distinct = begins[row], 0
        for i in range(begin, cursors[row]):
            word = successors[i]
            if counts[word] == 0:
                successors[begin + distinct] = word  # in place: entries before i are no longer needed
                distinct += 1
            counts[word] += 1
        for i in range(begin, begin + distinct):
            word = successors[i]
            if counts[word] >= least:
                out.lefts[n] = first + row
                out.words[n] = word
                out.counts[n] = counts[word]
                n += 1
            counts[word] = 0
        different += distinct
    return different, n


@kernel
def count_row(lefts: Any, ids: Any, starts: Any, row: int, counts: Any) -> None:
    """Add the successors of one row to `counts`, which has an entry for each word.

    This serves rows whose successors do not fit into memory.
    """
    for sentence in range(starts.size - 1):
        left = np.int64(NONE)
        for i in range(starts[sentence], starts[sentence + 1]):
            if left == row and lefts[i] == ids[i]:
                counts[ids[i]] += 1
            left = np.int64(lefts[i])


@inner
def looked_up(rules: Any, left: Any, word: Any) -> Any:
    """Return what (left, word) leads to, a phrase or a longer left side; -1 if there is none."""
    if left < 0 or rules.begins[left] == 0:
        return np.int64(-1)
    return found(rules.table, left, word)


@inner
def copied(ids: Any, begin: Any, end: Any, out: Any, to: Any) -> Any:
    """Copy tokens unchanged; return where the next token goes."""
    for i in range(begin, end):
        out[to] = ids[i]
        to += 1
    return to


@kernel
def join(ids: Any, breaks: Any, rules: Any, out: Any, ends: Any) -> int:
    """Join phrases in some tokens; return the number of tokens after joining.

    A sentence ends before each position in `breaks`; tokens after the last break are ignored. Joined tokens
    are written to `out`, and the ends of sentences, as positions in `out`, to `ends`.
    """
    to, at = 0, 0
    for sentence in range(breaks.size):
        end = breaks[sentence]
        pending, left = end, np.int64(NONE)  # where the pending tokens begin, and their left side
        for i in range(at, end):
            word = ids[i]
            if rules.connectors[word] != 0:
                if left == NONE:
                    out[to] = word
                    to += 1
                else:
                    further = looked_up(rules, left, word)
                    left = np.int64(DEAD) if further < 0 else further
                continue
            phrase = looked_up(rules, left, word)
            if phrase >= 0:
                out[to] = phrase
                to += 1
                pending, left = end, np.int64(NONE)
                continue
            if left != NONE:
                to = copied(ids, pending, i, out, to)
            pending, left = i, np.int64(word)
        to = copied(ids, pending, end, out, to)
        ends[sentence] = to
        at = end
    return to


@kernel
def next_cut(ids: Any, at: int, end: int, rules: Any) -> int:
    """Return the first position from `at` on where the text can be cut without changing what is joined.

    That is a position between two words (not connectors) that do not form a phrase: what is pending there is
    written unchanged. If there is none, it is the end of the sentence.
    """
    for i in range(at, end):
        word, following = ids[i - 1], ids[i]
        if (
            rules.connectors[word] == 0
            and rules.connectors[following] == 0
            and looked_up(rules, np.int64(word), following) < 0
        ):
            return i
    return end


@kernel
def add_counts(ids: Any, counts: Any) -> None:
    """Add 1 to the count of each id in `ids`."""
    for i in range(ids.size):
        counts[ids[i]] += 1


@kernel
def spell(ids: Any, ends: Any, text: Any, offsets: Any, out: Any) -> int:
    """Write words as bytes: a line feed after the last word of a sentence, a space after all others.

    Word w is text[offsets[w] : offsets[w + 1]]. Return the number of bytes.
    """
    to, sentence = 0, 0
    for i in range(ids.size):
        for k in range(offsets[ids[i]], offsets[ids[i] + 1]):
            out[to] = text[k]
            to += 1
        out[to] = 32
        if sentence < ends.size and ends[sentence] == i + 1:
            out[to] = 10
            sentence += 1
        to += 1
    return to
