"""The compiled scanner: turn bytes into local ids and sentence breaks, and count words on the way.

Every scanner thread has its own `WordTable`. Local ids number the words of a table in the order in which they
first appear. `merge` combines the tables at the end, and `remap` turns local ids into final ids.

The table is an open-addressing hash table. Slot i is two 64-bit words: the key `slots[2 i]`, and
`slots[2 i + 1]` = length << 32 | id + 1 (0: empty). The key of a word of at most 8 bytes is the word itself,
so equal keys and lengths mean equal words. The key of a longer word is a hash, and its bytes in the arena are
compared, too. So looking up a token takes one cache miss nearly always.

Tokens are found 64 bytes at a time: a mask of the separators gives starts and ends as bits. A block always
ends with a separator, so no token is open at its end. When the table or the arena is full, the kernel
returns; Python makes it bigger and calls the kernel again from where it stopped. So the hot loop never
allocates.

A word of more than `LONGEST_WORD` bytes is counted, but gets no entry in the table: its local id is -1. Words
that are in the table are not asked for their length, so this costs nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.separators import PADDING, WIDTH, first_bytes, other_mask, special_mask
from unhot.corpus.report import LONGEST_WORD
from unhot.corpus.shards import Keeping
from unhot.kernels.jit import inner, kernel
from unhot.kernels.rng import mix
from unhot.kernels.simd.ids import first_bit
from unhot.kernels.simd.rows import prefetch_number
from unhot.types import Bytes, Counts, Ids, Starts, Words64

ZERO, ONE = np.uint64(0), np.uint64(1)
HALF = np.uint64(32)
LOW, ALL = np.uint64(0xFFFFFFFF), np.uint64(0xFFFFFFFFFFFFFFFF)

# entries of `WordTable.state`
WORDS = 0
ARENA = 1
SHIFT = 2
# entries of `place`
POSITION = 0
TOKENS = 1
BREAKS = 2
NULS = 3
LONG_WORDS = 4
PLACE = 5  # number of entries

ESCAPE = 0xFD  # the byte that stands in front of an escaped byte of a token list, see tokenizers.py
AHEAD = 8  # words whose slots are asked for before they are looked up
WHITE = -2  # the final id of words that are read as white space
TOO_LONG, FULL = -1, -2  # answers of `count_token` instead of an id; TOO_LONG is also written as an id


class WordTable(NamedTuple):
    """The words seen by one thread; `state` says how much of the arrays is in use."""

    slots: Words64  # [2 x capacity], capacity a power of two
    offsets: Starts  # [capacity / 2 + 1] where each word begins in the arena
    counts: Counts  # [capacity / 2]
    arena: Bytes  # the words, one after another, and PADDING
    state: Starts  # [3] number of words; bytes used in the arena; 64 - log2(capacity)


class Block:
    """A block of text and what `scan` makes of it; only pages of the buffers that are written take memory."""

    def __init__(self) -> None:
        """Start with empty buffers."""
        self.text: Bytes = np.empty(0, np.uint8)  # and PADDING
        self.size = 0  # bytes of text
        self.normalised: Bytes = np.empty(0, np.uint8)
        self.ids: Ids = np.empty(0, np.int32)
        self.breaks: Ids = np.empty(0, np.int32)
        self.place: Starts = np.zeros(PLACE, np.int64)  # see `scan`
        self.table = 0  # the number of the table that the ids refer to

    def put(self, raw: bytes) -> None:
        """Replace the text."""
        self.size = len(raw)
        self.text = _at_least(self.text, self.size + PADDING)
        self.text[: self.size] = np.frombuffer(raw, np.uint8)

    def reserve_ids(self, tokens: int, breaks: int) -> None:
        """Make room for that many ids and breaks; the old ones are lost."""
        self.ids, self.breaks = _at_least(self.ids, tokens), _at_least(self.breaks, breaks)

    def sentences(self) -> tuple[Ids, Ids]:
        """Return the ids and the breaks that are in use."""
        return self.ids[: self.place[TOKENS]], self.breaks[: self.place[BREAKS]]


def _at_least(array: Any, size: int) -> Any:
    """Return an array if it has so many entries, otherwise a new one."""
    return array if len(array) >= size else np.empty(size, array.dtype)


def new_table(words: int, arena: int) -> WordTable:
    """Return an empty table with room for `words` words of `arena` bytes in total."""
    bits = max(2 * words - 1, 1).bit_length()
    capacity = 1 << bits
    return WordTable(
        np.zeros(2 * capacity, np.uint64),
        np.zeros(capacity // 2 + 1, np.int64),
        np.zeros(capacity // 2, np.int64),
        np.zeros(arena + PADDING, np.uint8),
        np.array([0, 0, 64 - bits], np.int64),
    )


def grown(table: WordTable, longest: int) -> WordTable:
    """Return a bigger copy of a full table, with the same ids; no word is longer than `longest`."""
    words, room = len(table.counts), len(table.arena)
    n = int(table.state[WORDS])
    bigger = new_table(2 * words, room) if n == words else new_table(words, 2 * room + longest)
    merge(table.arena, table.offsets, table.counts, bigger, np.empty(n, np.int32), 0)
    return bigger


@inner
def head(text: Bytes, start: Any, length: Any) -> Any:
    """Return the first min(length, 8) bytes of a word as a number."""
    bits = np.uint64(first_bytes(text, start))
    return bits if length >= 8 else bits & (ALL >> np.uint64(64 - 8 * length))


@inner
def same(a: Bytes, i: Any, b: Bytes, j: Any, length: Any) -> Any:
    """Return whether a[i : i + length] == b[j : j + length], for length >= 8."""
    for k in range(0, length - 8, 8):
        if first_bytes(a, i + k) != first_bytes(b, j + k):
            return False
    return first_bytes(a, i + length - 8) == first_bytes(b, j + length - 8)


@inner
def word_key(text: Bytes, start: Any, length: Any) -> Any:
    """Return the key of a word: the bytes of a short word, a hash of a long one."""
    key = head(text, start, length)
    for k in range(8, length, 8):
        key = mix(key) ^ head(text, start + k, length - k)
    return key


@inner
def look_up(table: WordTable, text: Bytes, start: Any, length: Any) -> Any:
    """Return the id of a word (-1: it is new), the slot where it is or belongs, and its key."""
    key = word_key(text, start, length)
    found, slot = find_from(table, text, start, length, key, first_slot(table, key))
    return found, slot, key


@inner
def first_slot(table: WordTable, key: Any) -> Any:
    """Return the slot at which the search for a key begins."""
    return np.int64(mix(key) >> np.uint64(table.state[SHIFT]))


@inner
def find_from(table: WordTable, text: Bytes, start: Any, length: Any, key: Any, slot: Any) -> Any:
    """Search for a word from its first slot on; return its id (-1: it is new) and its slot."""
    mask = (len(table.slots) >> 1) - 1
    while True:
        meta = table.slots[2 * slot + 1]
        if meta == ZERO:
            return np.int64(-1), slot
        if table.slots[2 * slot] == key and np.int64(meta >> HALF) == length:
            found = np.int64(meta & LOW) - 1
            if length <= 8 or same(table.arena, table.offsets[found], text, start, length):
                return found, slot
        slot = (slot + 1) & mask


@inner
def insert(table: WordTable, slot: Any, key: Any, text: Bytes, start: Any, length: Any) -> Any:
    """Add a word at a free slot; return its id, or -1 if the table or the arena is full."""
    new, used = table.state[WORDS], table.state[ARENA]
    if new == len(table.counts) or used + length + PADDING > len(table.arena):
        return -1
    table.slots[2 * slot] = key
    table.slots[2 * slot + 1] = (np.uint64(length) << HALF) | np.uint64(new + 1)
    for k in range(length):
        table.arena[used + k] = text[start + k]
    table.offsets[new + 1] = used + length
    table.state[WORDS] = new + 1
    table.state[ARENA] = used + length
    return new


@inner
def count_token(table: WordTable, text: Bytes, start: Any, length: Any, rows: Bytes, place: Starts) -> Any:
    """Count a token; return its id, TOO_LONG if it gets none, or FULL if it is new and the table is full."""
    found, slot, key = look_up(table, text, start, length)
    if found < 0:
        if too_long(text, start, length, rows):
            place[LONG_WORDS] += 1
            return TOO_LONG
        found = insert(table, slot, key, text, start, length)
        if found < 0:
            return FULL
    table.counts[found] += 1
    return found


@inner
def too_long(text: Bytes, start: Any, length: Any, rows: Bytes) -> Any:
    """Return whether a token has more than LONGEST_WORD bytes; in token lists, escapes do not count."""
    escapes = 0
    if length > LONGEST_WORD and rows[0] > ESCAPE:
        for k in range(start, start + length):
            escapes += text[k] == ESCAPE
    return length - escapes > LONGEST_WORD


@inner
def separators(text: Bytes, base: Any, size: Any, rows: Bytes) -> Any:
    """Return two masks for 64 bytes, one bit each: the special separators, and all separators.

    Bytes after the end of the text count as separators that are not special.
    """
    special = np.uint64(special_mask(text, base, rows))
    blank = special | np.uint64(other_mask(text, base, rows))
    if size - base < WIDTH:
        inside = (ONE << np.uint64(size - base)) - ONE
        special &= inside
        blank |= ~inside
    return special, blank


@kernel
def scan(
    text: Bytes,
    size: int,
    rows: Bytes,
    table: WordTable,
    ids: Ids,
    breaks: Ids,
    place: Starts,
    empty_lines: bool,
) -> bool:
    """Scan a block from `place` on; return False if the table has to grow first.

    `place` holds the position in the text, the tokens and breaks written, and how many NUL bytes and how many
    words that are too long were found so far. A break b means that a sentence ends before token b of this
    block; with `empty_lines` several may end there. `rows` defines the separators (see separators.py).
    """
    base = place[POSITION]
    tokens = place[TOKENS]
    n_breaks = place[BREAKS]
    nuls = place[NULS]
    last = np.int64(breaks[n_breaks - 1]) if n_breaks > 0 else -1
    start = -1  # where the open token begins; -1: no token is open
    while base < size:
        special, blank = separators(text, base, size, rows)
        before = (blank << ONE) | np.uint64(start < 0)  # bit i: byte i - 1 is blank
        starts, ends = before & ~blank, blank & ~before
        if start < 0 and starts != ZERO:
            start = base + first_bit(starts)
            starts &= starts - ONE
        events = ends | special
        while events != ZERO:
            bit = first_bit(events)
            lowest = events & (~events + ONE)
            events ^= lowest
            if ends & lowest != ZERO:
                found = count_token(table, text, start, base + bit - start, rows, place)
                if found == FULL:
                    place[:LONG_WORDS] = start, tokens, n_breaks, nuls
                    return False
                ids[tokens] = found
                tokens += 1
                start = -1
                if starts != ZERO:
                    start = base + first_bit(starts)
                    starts &= starts - ONE
            if special & lowest != ZERO:
                if text[base + bit] != rows[0]:
                    nuls += 1
                elif last != tokens or empty_lines:
                    last = tokens
                    breaks[n_breaks] = tokens
                    n_breaks += 1
        base += WIDTH
    place[:LONG_WORDS] = size, tokens, n_breaks, nuls
    return True


@kernel
def merge(arena: Bytes, offsets: Starts, counts: Counts, table: WordTable, ids: Ids, first: int) -> int:
    """Add words, from number `first` on, and their counts to a table; write their ids there to `ids`.

    Return the number of words done: fewer than all if the table has to grow first.
    """
    for word in range(first, len(ids)):
        later = min(word + AHEAD, len(ids) - 1)
        next_key = word_key(arena, offsets[later], offsets[later + 1] - offsets[later])
        prefetch_number(table.slots, 2 * first_slot(table, next_key))
        length = offsets[word + 1] - offsets[word]
        found, slot, key = look_up(table, arena, offsets[word], length)
        if found < 0:
            found = insert(table, slot, key, arena, offsets[word], length)
        if found < 0:
            return word
        table.counts[found] += counts[word]
        ids[word] = found
    return len(ids)


@kernel
def remap(ids: Ids, breaks: Ids, place: Starts, final: Ids, keeping: Keeping) -> None:
    """Replace local ids by final ids in place; drop tokens with id -1 and empty lines, unless kept.

    Tokens whose final id is WHITE are dropped in any case.
    The last entry of `final` must be -1: local ids of -1 (words that are too long) are replaced by it.
    """
    tokens, n_breaks = place[TOKENS], place[BREAKS]
    lowest = -1 if keeping.unknown else 0
    to = 0
    position = 0
    n = 0
    last = -1
    for b in range(n_breaks + 1):
        end = breaks[b] if b < n_breaks else tokens
        for i in range(position, end):
            new = final[ids[i]]
            ids[to] = new
            to += new >= lowest
        position = end
        if b < n_breaks and (to != last or keeping.empty_lines):
            breaks[n] = to
            n += 1
            last = to
    place[TOKENS], place[BREAKS] = to, n
