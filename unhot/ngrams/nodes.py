"""Two layouts of the n-grams of a model: quick, with gaps between keys, and compact, in bits.

Both are the levels of a trie (see levels.py) in two arrays: `nodes` has the n-grams of all orders but the
highest, one level behind another, and `top` has the highest. An entry is a key, the log10 of the probability
and, in `nodes`, that of the back-off weight and `begin`: node i continues as the nodes (or tops) begin[i] ..
begin[i + 1] - 1. Single words come first: node i is word i. Each level ends with an entry that has only a
begin.

quick     An entry is a record of numbers. If more than FEW n-grams continue an n-gram, they have more places
          than they need. A key's home is its share of the places, begin + key * places / 2^bits; it is there,
          or a few places behind it, before an empty place and before greater keys. So looking up a key takes
          one access to memory nearly always.
compact   Fields take as many bits as they need, and there are no gaps; a key is looked for around the place
          where it would be if keys were spread evenly.

Probabilities are the same in both, to the last bit.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.jit import generic, inner
from unhot.kernels.simd.rows import prefetch_number
from unhot.ngrams.symbols import key_at, seek
from unhot.types import Words64

FEW = 4
EMPTY = 0xFFFFFFFF
FLOAT_BITS = 32
ONE = np.uint64(1)


class Quick(NamedTuple):
    """Nodes as records: key, begin, prob and backoff."""

    table: Any


class QuickTop(NamedTuple):
    """Tops as records: key and prob."""

    table: Any


class Compact(NamedTuple):
    """Nodes of `width` bits, one behind another: key, prob, begin and backoff."""

    bits: Words64
    width: int
    key_bits: int
    begin_bits: int


class CompactTop(NamedTuple):
    """Tops of `width` bits: key and prob."""

    bits: Words64
    width: int
    key_bits: int


def quick_kinds(wide: bool, double: bool) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the records of nodes and of tops; `wide`: places need 64 bits, `double`: so do probabilities."""
    number, place = ("<f8" if double else "<f4"), ("<i8" if wide else "<u4")
    return (
        np.dtype([("key", "<u4"), ("begin", place), ("prob", number), ("backoff", number)]),
        np.dtype([("key", "<u4"), ("prob", number)]),
    )


@generic
def begin_at(entries: Any, i: Any) -> Any:
    """Return where the n-grams begin that continue entry i."""


@generic
def prob_at(entries: Any, i: Any) -> Any:
    """Return the log10 probability of entry i."""


@generic
def backoff_at(entries: Any, i: Any) -> Any:
    """Return the log10 back-off weight of entry i."""


@generic
def put(entries: Any, i: Any, key: Any, prob: Any, begin: Any, backoff: Any) -> None:
    """Write entry i, all of whose bits are zero."""


@generic
def find(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> Any:
    """Return the entry from low to high - 1 that has a key; -1: there is none."""


@generic
def ask_for(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> None:
    """Prefetch the entry that `find` will look at first."""


@key_at.register(Quick)
@key_at.register(QuickTop)
def quick_key(entries: Any, i: Any) -> Any:
    """Read the record."""
    return np.int64(entries.table[i]["key"])


@begin_at.register(Quick)
def quick_begin(entries: Any, i: Any) -> Any:
    """Read the record."""
    return np.int64(entries.table[i]["begin"])


@prob_at.register(Quick)
@prob_at.register(QuickTop)
def quick_prob(entries: Any, i: Any) -> Any:
    """Read the record."""
    return np.float64(entries.table[i]["prob"])


@backoff_at.register(Quick)
def quick_backoff(entries: Any, i: Any) -> Any:
    """Read the record."""
    return np.float64(entries.table[i]["backoff"])


@put.register(Quick)
def quick_put(entries: Any, i: Any, key: Any, prob: Any, begin: Any, backoff: Any) -> None:
    """Write the record."""
    entries.table[i]["key"] = key
    entries.table[i]["begin"] = begin
    entries.table[i]["prob"] = prob
    entries.table[i]["backoff"] = backoff


@put.register(QuickTop)
def quick_top_put(entries: Any, i: Any, key: Any, prob: Any, begin: Any, backoff: Any) -> None:
    """Write the record."""
    entries.table[i]["key"] = key
    entries.table[i]["prob"] = prob


@inner
def home(low: Any, places: Any, key: Any, bits: Any) -> Any:
    """Return the first place where a key may be."""
    return low + ((key * places) >> bits) if places > FEW else low


@find.register(Quick)
@find.register(QuickTop)
def quick_find(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> Any:
    """Go on from the key's home to the first key that is not smaller; empty places have the greatest key."""
    for i in range(home(low, high - low, key, bits), high):
        found = np.int64(entries.table[i]["key"])
        if found >= key:
            return i if found == key else np.int64(-1)
    return np.int64(-1)


@ask_for.register(Quick)
@ask_for.register(QuickTop)
def quick_ask_for(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> None:
    """Prefetch the key's home, and the place behind it, where its continuations end."""
    at = home(low, high - low, key, bits)
    prefetch_number(entries.table, at)
    prefetch_number(entries.table, at + 1)


@inner
def read_bits(bits: Any, at: Any, width: Any) -> Any:
    """Return the `width` bits from bit `at` on, at most 63."""
    word, shift = at >> 6, np.uint64(at & 63)
    found = bits[word] >> shift
    if np.int64(shift) + width > 64:
        found |= bits[word + 1] << (np.uint64(64) - shift)
    return found & ((ONE << np.uint64(width)) - ONE)


@inner
def write_bits(bits: Any, at: Any, width: Any, value: Any) -> None:
    """Write `width` bits, which are zero before, from bit `at` on."""
    word, shift = at >> 6, np.uint64(at & 63)
    bits[word] |= np.uint64(value) << shift
    if np.int64(shift) + width > 64:
        bits[word + 1] |= np.uint64(value) >> (np.uint64(64) - shift)


@key_at.register(Compact)
@key_at.register(CompactTop)
def compact_key(entries: Any, i: Any) -> Any:
    """Read the first field."""
    return np.int64(read_bits(entries.bits, i * entries.width, entries.key_bits))


@prob_at.register(Compact)
@prob_at.register(CompactTop)
def compact_prob(entries: Any, i: Any) -> Any:
    """Read the second field."""
    found = read_bits(entries.bits, i * entries.width + entries.key_bits, FLOAT_BITS)
    return np.float64(np.uint32(found).view(np.float32))


@begin_at.register(Compact)
def compact_begin(entries: Any, i: Any) -> Any:
    """Read the third field."""
    at = i * entries.width + entries.key_bits + FLOAT_BITS
    return np.int64(read_bits(entries.bits, at, entries.begin_bits))


@backoff_at.register(Compact)
def compact_backoff(entries: Any, i: Any) -> Any:
    """Read the last field."""
    found = read_bits(entries.bits, (i + 1) * entries.width - FLOAT_BITS, FLOAT_BITS)
    return np.float64(np.uint32(found).view(np.float32))


@put.register(CompactTop)
def compact_top_put(entries: Any, i: Any, key: Any, prob: Any, begin: Any, backoff: Any) -> None:
    """Write two fields."""
    at = i * entries.width
    write_bits(entries.bits, at, entries.key_bits, key)
    write_bits(entries.bits, at + entries.key_bits, FLOAT_BITS, np.float32(prob).view(np.uint32))


@put.register(Compact)
def compact_put(entries: Any, i: Any, key: Any, prob: Any, begin: Any, backoff: Any) -> None:
    """Write four fields."""
    at = i * entries.width
    write_bits(entries.bits, at, entries.key_bits, key)
    at += entries.key_bits
    write_bits(entries.bits, at, FLOAT_BITS, np.float32(prob).view(np.uint32))
    write_bits(entries.bits, at + FLOAT_BITS, entries.begin_bits, begin)
    at += FLOAT_BITS + entries.begin_bits
    write_bits(entries.bits, at, FLOAT_BITS, np.float32(backoff).view(np.uint32))


@find.register(Compact)
@find.register(CompactTop)
def compact_find(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> Any:
    """Look around the place that the key should have."""
    at = seek(entries, low, high, key, bits)
    return at if at < high and key_at(entries, at) == key else np.int64(-1)


@ask_for.register(Compact)
@ask_for.register(CompactTop)
def compact_ask_for(entries: Any, low: Any, high: Any, key: Any, bits: Any) -> None:
    """Prefetch the place that the key should have."""
    prefetch_number(entries.bits, ((low + ((key * (high - low)) >> bits)) * entries.width) >> 6)
