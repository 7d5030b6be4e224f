"""Shards: the ids of a corpus in memory-mapped files, so that a training text may exceed memory.

A shard is two files of little-endian numbers: `00000.ids` (int32) and `00000.starts` (int64). Sentence s is
`ids[starts[s] : starts[s + 1]]`. No sentence spans two shards: a shard ends at the first sentence end at or
after `SHARD_IDS` ids. No shard is empty.

Usually no sentence is empty and no id is negative; `Keeping` names the exceptions.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import append_numbers, check_size, map_numbers
from unhot.errors import FormatError
from unhot.types import Ids, Starts

SHARD_IDS = 1 << 27
CHUNK = 1 << 20  # numbers checked at a time
AGAIN = "encode the text again"


class Shard(NamedTuple):
    """Sentences as ids; both arrays are read-only."""

    ids: Ids  # [n]
    starts: Starts  # [sentences + 1], the last entry is n


class Lines(NamedTuple):
    """Some consecutive lines of one shard: line i is ids[starts[i] : starts[i + 1]]."""

    ids: Ids  # of the whole shard
    starts: Starts  # [lines + 1]


class Keeping(NamedTuple):
    """What a corpus keeps besides the words of its vocabulary."""

    empty_lines: bool = False  # lines without a known word, as sentences without ids
    unknown: bool = False  # the places of words outside the vocabulary, as ids of -1


WORDS_ONLY = Keeping()


class ShardWriter:
    """Write ids and sentence breaks, in the order of the text, to shards in a directory.

    `close` ends the last shard. No file stays open between two calls.
    """

    def __init__(self, directory: Path, limit: int = SHARD_IDS, *, empty_lines: bool = False) -> None:
        """Take the directory; a shard with at least `limit` ids ends at the next sentence end."""
        self.directory = directory
        self.limit = limit
        self.empty_lines = empty_lines
        self.lengths: list[tuple[int, int]] = []  # ids and sentences of each closed shard
        # of the current shard: its ids, the starts written, and the last of these starts
        self._length = self._starts = self._last = 0

    def append(self, ids: Ids, breaks: Ids) -> None:
        """Add ids; a sentence ends before each position in `breaks` (ascending, at most len(ids))."""
        while True:
            if self._last == self._length >= self.limit:  # the shard is full
                empty = int(np.searchsorted(breaks, 0, side="right"))  # empty lines still belong to it
                self._write(ids[:0], breaks[:empty])
                breaks = breaks[empty:]
                if not len(ids):
                    return
                self.close()
            over = int(np.searchsorted(breaks, self.limit - self._length))
            if over == len(breaks):
                self._write(ids, breaks)
                return
            end = int(breaks[over])
            self._write(ids[:end], breaks[: over + 1])
            ids, breaks = ids[end:], breaks[over + 1 :] - np.int32(end)

    def close(self) -> None:
        """End the current shard, if there is one."""
        if not self._starts:
            return
        if self._last != self._length:
            self._write(np.empty(0, np.int32), np.zeros(1, np.int32))
        self.lengths.append((self._length, self._starts - 1))
        self._length = self._starts = self._last = 0

    def _write(self, ids: Ids, breaks: Ids) -> None:
        starts = breaks + np.int64(self._length)
        if len(starts) and starts[0] == self._last and not self.empty_lines:
            starts = starts[1:]
        if not len(ids) and not len(starts):
            return
        if not self._starts:
            starts = np.concatenate([np.zeros(1, np.int64), starts])
        ids_name, starts_name = shard_names(len(self.lengths))
        append_numbers(self.directory / ids_name, ids, "<i4")
        append_numbers(self.directory / starts_name, starts, "<i8")
        self._length += len(ids)
        self._starts += len(starts)
        self._last = int(starts[-1]) if len(starts) else self._last


def shard_names(number: int) -> tuple[str, str]:
    """Return the two file names of a shard."""
    return f"{number:05}.ids", f"{number:05}.starts"


def map_shards(directory: Path, number: int) -> list[Shard]:
    """Map the files of shards 0 .. number - 1 into memory."""
    paths = [[directory / name for name in shard_names(each)] for each in range(number)]
    return [Shard(map_numbers(ids, np.int32), map_numbers(starts, np.int64)) for ids, starts in paths]


def check_shard(
    directory: Path, number: int, ids: int, sentences: int, words: int, keeping: Keeping = WORDS_ONLY
) -> None:
    """Raise a `FormatError` unless file sizes, the order of starts and the range of ids are right.

    Kernels do not check them again, and would read outside their arrays.
    """
    ids_name, starts_name = shard_names(number)
    check_size(directory / ids_name, 4 * ids, AGAIN)
    check_size(directory / starts_name, 8 * (sentences + 1), AGAIN)
    _check_starts(directory / starts_name, sentences + 1, ids, 0 if keeping.empty_lines else 1)
    check_ids(directory / ids_name, ids, -1 if keeping.unknown else 0, words - 1)


def _check_starts(path: Path, number: int, ids: int, shortest: int) -> None:
    """Check the starts of a shard; each sentence must have at least `shortest` ids."""
    last = -shortest
    # read in chunks instead of mapped, so that the check does not fill memory
    for at in range(0, 8 * number, 8 * CHUNK):
        part = np.fromfile(path, "<i8", min(CHUNK, number - at // 8), offset=at)
        rising = part.min() >= 0 and np.diff(part, prepend=last).min() >= shortest
        if not rising or (at == 0 and part[0] != 0):
            raise FormatError(f"{path}: byte {at}: sentence starts do not rise from 0: {AGAIN}")
        last = int(part[-1])
    if last != ids or ids < 1:
        raise FormatError(f"{path}: the last sentence ends at {last}, but there are {ids} ids: {AGAIN}")


def check_ids(path: Path, number: int, lowest: int, highest: int) -> None:
    """Raise a `FormatError` unless all numbers of a file are in a range."""
    for at in range(0, 4 * number, 4 * CHUNK):
        part = np.fromfile(path, "<i4", min(CHUNK, number - at // 4), offset=at)
        if part.min() < lowest or part.max() > highest:
            raise FormatError(f"{path}: byte {at}: an id outside {lowest}..{highest}: {AGAIN}")
