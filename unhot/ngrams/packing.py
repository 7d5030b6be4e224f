"""Write the levels of a model in one of the two layouts (nodes.py), and read levels back."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import map_numbers, read_only
from unhot.errors import DataError, FormatError
from unhot.kernels.jit import kernel
from unhot.ngrams.estimating import Level
from unhot.ngrams.nodes import (
    EMPTY,
    FEW,
    FLOAT_BITS,
    Compact,
    CompactTop,
    Quick,
    QuickTop,
    backoff_at,
    begin_at,
    home,
    prob_at,
    put,
    quick_kinds,
)
from unhot.ngrams.symbols import key_at, keys_of, word_of
from unhot.threads import in_order, parts_of

BLOCK = 1 << 15  # n-grams whose continuations a thread writes at once
GROUP = 64  # the entries of a compact level are a multiple of this, so that a level begins with a number
ENDS = 1 << 12  # room for the ends of levels
MOST_PLACES = 16  # for each n-gram; usually there are 1.0 to 1.3
NAMES = ("nodes", "top")


class Layout(NamedTuple):
    """How entries are written."""

    compact: bool
    bits: int  # of a key
    places: int  # bits of a begin
    double: bool = False

    @property
    def kinds(self) -> tuple[Any, Any]:
        """The types of the arrays of nodes and of tops."""
        if self.compact:
            return np.dtype("<u8"), np.dtype("<u8")
        return quick_kinds(self.places > FLOAT_BITS, self.double)

    def nodes(self, array: Any) -> Any:
        """Return an array of nodes in the form that kernels read."""
        width = self.bits + 2 * FLOAT_BITS + self.places
        return Compact(array, width, self.bits, self.places) if self.compact else Quick(array)

    def top(self, array: Any) -> Any:
        """Return an array of tops in the form that kernels read."""
        return CompactTop(array, self.bits + FLOAT_BITS, self.bits) if self.compact else QuickTop(array)

    def most(self, array: Any, top: bool) -> int:
        """Return how many entries an array has at most."""
        view = self.top(array) if top else self.nodes(array)
        return int((array.size - 1) * 64 // view.width if self.compact else array.size)

    def numbers(self, entries: int, top: bool) -> int:
        """Return the size of the array that holds so many entries."""
        view = self.top(None) if top else self.nodes(None)
        return -(-entries * view.width // 64) if self.compact else entries


def choose_layout(ngrams: int, bits: int, *, compact: bool, double: bool = False) -> Layout:
    """Return the layout of a model with so many n-grams."""
    return Layout(compact, bits, ((1 if compact else 2) * ngrams + ENDS).bit_length(), double)


class PackedNgrams(NamedTuple):
    """A model in one of the layouts."""

    layout: Layout
    ngrams: list[int]  # how many n-grams each order has
    nodes: Any  # arrays, see `Layout.kinds`
    top: Any

    @property
    def order(self) -> int:
        """The number of words of the longest n-grams."""
        return len(self.ngrams)

    @property
    def words(self) -> int:
        """The number of words, with the three symbols."""
        return self.ngrams[0]

    @classmethod
    def of_bytes(
        cls, layout: Layout, ngrams: object, words: int, tensors: Mapping[str, Any]
    ) -> "PackedNgrams":
        """Make it of saved bytes; raise a `FormatError` if they cannot be those of a model."""
        found = []
        for name, kind in zip(NAMES, layout.kinds, strict=True):
            raw = tensors.get(name, np.zeros(1, np.uint8))
            if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size % kind.itemsize:
                raise FormatError(f"an n-gram model: the tensor {name!r} is missing or damaged")
            found.append(raw.view(kind))
        size, room = layout.most(found[0], top=False), sum(array.nbytes for array in found)
        counts = ngrams if isinstance(ngrams, list) else []
        wrong = any(type(count) is not int or not 0 <= count <= room for count in counts)
        if wrong or counts[:1] != [words] or words >= size:
            raise FormatError(
                f"an n-gram model: its n-grams are {ngrams!r:.80}, but there are {words} words and {size} "
                "nodes; the file is damaged"
            )
        return cls(layout, counts, *found)

    def levels(self) -> Iterator[Level]:
        """Yield the levels, from single words on; raise a `FormatError` if one is damaged."""
        nodes, top = self.layout.nodes(self.nodes), self.layout.top(self.top)
        number = np.dtype(np.float64 if self.layout.double else np.float32)
        first, last = 0, self.words
        held, begins = Level(None, None, None, None), np.array([0, last])  # of the level before
        for order in range(1, self.order + 1):
            source = top if order == self.order > 1 else nodes
            most = (
                self.layout.most(self.top, True) if source is top else self.layout.most(self.nodes, False) - 1
            )
            self._refuse(first < 0 or last > most or (begins[1:] < begins[:-1]).any(), order)
            size = last - first
            keys, after = np.empty(size, np.uint32), np.zeros(size + 1, np.int64)
            prob, backoff = np.empty(size, number), np.zeros(size, number)
            if source is nodes:
                read_nodes(nodes, first, last, keys, prob, after, backoff)
            else:
                read_tops(top, first, last, keys, prob)
            full = keys != EMPTY if order > 1 and not self.layout.compact else np.ones(size, bool)
            rank = np.concatenate([[0], np.cumsum(full)])
            self._refuse(rank[-1] != self.ngrams[order - 1], order)
            if order > 1:
                keys = keys[full]
                starts, rising = rank[begins - first], np.ones(keys.size + 1, bool)
                rising[1:-1] = keys[1:] > keys[:-1]
                rising[starts] = True
                ids = word_of(keys_of(self.words), keys.astype(np.int64))
                wrong = (keys >> self.layout.bits).any() or (ids >= self.words).any()
                self._refuse(wrong or not rising.all(), order)
                yield held._replace(begins=starts)
            own = keys.astype(np.int32) if order > 1 else np.zeros(0, np.int32)
            held = Level(own, np.zeros(0, np.int64), prob[full], backoff[full])
            begins = np.append(after[:-1][full], after[-1])
            first, last = int(begins[0]), int(begins[-1])
        yield held._replace(backoff=np.zeros(0, number))

    @staticmethod
    def _refuse(wrong: Any, order: int) -> None:
        """Raise a `FormatError` if something is wrong; compiled code believes what it is given."""
        if wrong:
            raise FormatError(f"an n-gram model: its {order}-grams are damaged; make or get the model again")


def pack(levels: Iterable[Level], layout: Layout, directory: Path, threads: int) -> PackedNgrams:
    """Write levels to two files of a folder, and return them, mapped."""
    parents, places = np.zeros(0, np.int64), np.zeros(0, np.int64)
    held: Level | None = None
    ngrams: list[int] = []
    files = [directory / name for name in NAMES]
    with files[0].open("wb") as nodes, files[1].open("wb") as top:
        for level in levels:
            ngrams.append(level.prob.size)
            if held is None:
                parents = places = np.array([0, level.prob.size])
            else:
                after = _places(held.begins, level.keys, layout, threads)
                after += after.dtype.type(_end(places, layout) if level.begins.size else 0)
                _write(nodes, held, parents, places, after, layout, threads)
                parents, places = held.begins, after
            held = level
        assert held is not None
        if len(ngrams) > 1:
            _write(top, held, parents, places, np.zeros(0, np.int64), layout, threads)
        else:  # single words have no n-grams that continue them, but are nodes
            after, held = (
                np.zeros(held.prob.size + 1, np.int64),
                held._replace(backoff=np.zeros_like(held.prob)),
            )
            _write(nodes, held, parents, places, after, layout, threads)
        for file in (nodes, top):
            file.write(bytes(8 if layout.compact else 0))  # fields are read two numbers at a time
    return PackedNgrams(layout, ngrams, *map(map_numbers, files, layout.kinds))


def _end(places: Any, layout: Layout) -> int:
    """Return the place behind a level of nodes, with its last entry."""
    end = int(places[-1]) + 1
    return end + -end % GROUP if layout.compact else end


def _places(begins: Any, keys: Any, layout: Layout, threads: int) -> Any:
    """Return the places at which the continuations of each n-gram begin."""
    kind = np.dtype(np.int64 if layout.places > FLOAT_BITS else np.uint32)
    if layout.compact:
        return begins.astype(kind)
    after = np.zeros(begins.size, kind)

    def work(part: range) -> None:
        count_places(part.start, part.stop, begins, keys, layout.bits, after)

    list(in_order(parts_of(begins.size - 1, BLOCK), work, threads))
    if after.sum(dtype=np.int64) > MOST_PLACES * keys.size + ENDS:
        raise DataError(
            f"{keys.size} n-grams would need {after.sum(dtype=np.int64)} places, because their words are "
            "spread unevenly on purpose: use the compact layout"
        )
    return np.cumsum(after, out=after)


def _write(
    file: BinaryIO, level: Level, parents: Any, places: Any, after: Any, layout: Layout, threads: int
) -> None:
    """Write the entries of a level; `after`: where their continuations begin, empty for tops."""
    step = places.size if layout.compact else BLOCK  # a part of a compact level would end within a number
    top = not after.size

    def work(part: range) -> Any:
        first, last = part.start, part.stop
        base, end = int(places[first]), int(places[last])
        if last == places.size - 1 and not top:
            end = _end(places, layout)
        out = np.zeros(layout.numbers(end - base, top), layout.kinds[top])
        entries = layout.top(out) if top else layout.nodes(out)
        write_entries(
            first,
            last,
            *map(read_only, (parents, places, level.keys, level.prob, level.backoff, after)),
            layout.bits,
            not layout.compact,
            entries,
        )
        if end > places[last]:
            write_ends(int(places[last]) - base, end - base, after[-1], entries)
        return out

    for out in in_order(parts_of(places.size - 1, step) or [range(0)], work, threads):
        file.write(out.data)


@kernel
def count_places(first: Any, last: Any, begins: Any, keys: Any, bits: Any, after: Any) -> None:
    """Write after[i + 1], how many places the continuations of n-gram i need, so that each has its home."""
    for i in range(first, last):
        low, high = np.int64(begins[i]), np.int64(begins[i + 1])
        number = high - low
        places = number if number <= FEW else number + (number >> 2) + 1
        while number > FEW:
            at = np.int64(0)
            for j in range(low, high):
                at = max(at, home(0, places, np.int64(keys[j]), bits)) + 1
            if at <= places:
                break
            places += 1 + (places >> 4)
        after[i + 1] = places


@kernel
def write_entries(
    first: Any,
    last: Any,
    parents: Any,
    places: Any,
    keys: Any,
    prob: Any,
    backoff: Any,
    after: Any,
    bits: Any,
    gaps: Any,
    entries: Any,
) -> None:
    """Write the continuations of n-grams first .. last - 1; entries begin at the place of the first."""
    base = np.int64(places[first])
    gaps = gaps and keys.size > 0
    for i in range(first, last):
        low, high = np.int64(places[i]), np.int64(places[i + 1])
        at = low
        for j in range(parents[i], parents[i + 1]):
            begin = after[j] if after.size > 0 else 0
            key = np.int64(keys[j]) if keys.size > 0 else np.int64(0)
            to = max(at, home(low, high - low, key, bits)) if gaps else at
            while at < to:
                put(entries, at - base, EMPTY, 0.0, begin, 0.0)
                at += 1
            weight = backoff[j] if after.size > 0 else 0.0
            put(entries, at - base, key, prob[j], begin, weight)
            at += 1
        while at < high:
            put(entries, at - base, EMPTY, 0.0, after[parents[i + 1]] if after.size > 0 else 0, 0.0)
            at += 1


@kernel
def write_ends(first: Any, last: Any, begin: Any, entries: Any) -> None:
    """Write entries that have only a begin."""
    for i in range(first, last):
        put(entries, i, 0, 0.0, begin, 0.0)


@kernel
def read_nodes(nodes: Any, first: Any, last: Any, keys: Any, prob: Any, begins: Any, backoff: Any) -> None:
    """Copy the fields of nodes first .. last - 1, and the begin of the next one."""
    for i in range(first, last):
        keys[i - first] = key_at(nodes, i)
        prob[i - first] = prob_at(nodes, i)
        begins[i - first] = begin_at(nodes, i)
        backoff[i - first] = backoff_at(nodes, i)
    begins[last - first] = begin_at(nodes, last)


@kernel
def read_tops(top: Any, first: Any, last: Any, keys: Any, prob: Any) -> None:
    """Copy the fields of tops first .. last - 1."""
    for i in range(first, last):
        keys[i - first] = key_at(top, i)
        prob[i - first] = prob_at(top, i)
