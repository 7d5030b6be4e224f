"""The n-grams of a text with their counts, as the levels of a trie on disk.

Level k has the n-grams of k words, below the n-grams of k - 1 words that they begin with:

    keys[k]    [n-grams] the key of the last word of each (see symbols.py), rising among those that continue
               the same n-gram; level 1 has no keys: its n-gram i is word i
    counts[k]  [n-grams] how often each occurs
    begins[k]  [n-grams + 1] n-gram i continues as begins[i] .. begins[i + 1] - 1 of level k + 1

All lie in one temporary folder, one file each, and are mapped into memory.
"""

import shutil
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import OpenedFolder, map_numbers
from unhot.largest import largest
from unhot.ngrams.symbols import Keys, keys_of, word_of
from unhot.types import Counts, Ids, Starts

WIDE = 1 << 32  # from so many tokens on, counts and places need 64 bits


class CountLevel(NamedTuple):
    """The n-grams of one order."""

    keys: Any  # int32
    counts: Any  # uint32, or int64 if the text is long
    begins: Any  # the same; empty for the highest order


class LevelWriter:
    """Write levels to files, part by part, in the order of their n-grams."""

    def __init__(self, directory: Path, order: int, wide: bool) -> None:
        """Make the files in a folder; `wide`: use 64 bits for counts and places."""
        directory.mkdir()
        self.directory, self.order = directory, order
        self.kind = np.dtype(np.int64 if wide else np.uint32)
        self.made = np.zeros(order + 2, np.int64)  # n-grams of each level so far
        self._files: dict[str, BinaryIO] = {}

    def append(self, level: int, keys: Ids, counts: Any) -> None:
        """Add n-grams to a level."""
        self._write(f"{level}.keys", keys)
        self._write(f"{level}.counts", counts.astype(self.kind, copy=False))
        self.made[level] += keys.size

    def begin(self, level: int, begins: Any) -> None:
        """Say where the next n-grams of a level continue, counted from the present end of the next level."""
        self._write(f"{level}.begins", (begins + self.made[level + 1]).astype(self.kind))

    def finish(self) -> None:
        """Write where the last n-grams end, and close the files."""
        for level in range(2, self.order):
            self.begin(level, np.zeros(1, np.int64))
        for file in self._files.values():
            file.close()

    def level(self, level: int) -> CountLevel:
        """Map a level, from the second on."""
        begins = map_numbers(self._path(f"{level}.begins"), self.kind) if level < self.order else None
        keys = map_numbers(self._path(f"{level}.keys"), np.int32)
        counts = map_numbers(self._path(f"{level}.counts"), self.kind)
        return CountLevel(keys, counts, np.zeros(0, self.kind) if begins is None else begins)

    def remove(self) -> None:
        """Remove the files."""
        shutil.rmtree(self.directory)

    def _path(self, name: str) -> Path:
        path = self.directory / name
        path.touch()
        return path

    def _write(self, name: str, numbers: Any) -> None:
        if name not in self._files:
            self._files[name] = self._path(name).open("wb")
        self._files[name].write(np.ascontiguousarray(numbers).data)


class NgramCounts(OpenedFolder):
    """The counts of all n-grams of a text; `close()` removes their folder."""

    def __init__(self, directory: Path, words: list[str]) -> None:
        """Do not call this: use `count_ngrams`."""
        super().__init__(directory, True)
        self.directory = directory
        self.words = words  # the symbols, then the words of the text
        # [words] the rank in which each first appeared, in last place their number; -1: it did not appear
        self.seen = np.append(np.full(len(words), -1, np.int32), np.int32(0))
        self._first: CountLevel | None = None
        self._levels: LevelWriter | None = None

    def keep(self, levels: LevelWriter, counts: Counts, begins: Starts) -> None:
        """Take the levels; counts and begins are those of single words."""
        self._first = CountLevel(
            np.zeros(0, np.int32), counts.astype(levels.kind), begins.astype(levels.kind)
        )
        self._levels = levels

    def level(self, order: int) -> CountLevel:
        """Map the n-grams of an order; they take memory only while the result is kept."""
        assert self._first is not None
        assert self._levels is not None
        return self._first if order == 1 else self._levels.level(order)

    @property
    def order(self) -> int:
        """The number of words of the longest n-grams."""
        return 0 if self._levels is None else self._levels.order

    @property
    def keys(self) -> Keys:
        """How words become keys."""
        return keys_of(len(self.words))

    def spell(self, order: int, ngrams: Any) -> Any:
        """Return the words of n-grams of an order, given by number: ids [n-grams, order]."""
        ids = np.empty((len(ngrams), order), np.int64)
        for at in range(order, 1, -1):
            ids[:, at - 1] = word_of(self.keys, self.level(at).keys[ngrams].astype(np.int64))
            ngrams = np.searchsorted(self.level(at - 1).begins, ngrams, side="right") - 1
        ids[:, 0] = ngrams
        return ids

    def most_frequent(self, order: int, top: int | None = None) -> list[tuple[str, int]]:
        """Return the most frequent n-grams of an order with their counts; None: all of them."""
        counts = self.level(order).counts
        best = largest(counts.astype(np.int64), top)
        spelt = [" ".join(self.words[i] for i in row) for row in self.spell(order, best).tolist()]
        return list(zip(spelt, counts[best].tolist(), strict=True))
