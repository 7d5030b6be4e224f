"""Ids on disk, memory-mapped: the only training input, however big the corpus.

A shard is two files of little-endian numbers: `00000.ids` (int32) and `00000.starts` (int64), where sentence
s is `ids[starts[s] : starts[s + 1]]`. No sentence is empty, and none reaches over two shards: a shard ends at
the first sentence end at or behind `SHARD_IDS`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from unhot.errors import FormatError
from unhot.types import Ids, Starts

SHARD_IDS = 1 << 27
CHUNK = 1 << 20  # numbers checked together


class Shard(NamedTuple):
    """Sentences as ids; both arrays are read-only."""

    ids: Ids  # [n]
    starts: Starts  # [sentences + 1], the last entry is n


class ShardWriter:
    """Write ids and sentence breaks, in the order of the text, to shards in a directory."""

    def __init__(self, directory: Path, limit: int = SHARD_IDS) -> None:
        """`limit`: ids after which a shard ends at the next sentence end."""
        self.directory = directory
        self.limit = limit
        self.lengths: list[tuple[int, int]] = []  # ids and sentences of each closed shard
        self._files: tuple[IO[bytes], IO[bytes]] | None = None
        self._length = self._starts = self._last = 0

    def append(self, ids: Ids, breaks: Ids) -> None:
        """Add ids; a sentence ends before each position in `breaks` (ascending, len(ids) allowed)."""
        while True:
            over = int(np.searchsorted(breaks, self.limit - self._length))
            if over == len(breaks):
                self._write(ids, breaks)
                return
            end = int(breaks[over])
            self._write(ids[:end], breaks[: over + 1])
            self.close()
            ids, breaks = ids[end:], breaks[over + 1 :] - np.int32(end)

    def close(self) -> None:
        """End the current shard, if there is one."""
        if self._files is None:
            return
        if self._last != self._length:
            self._write(np.empty(0, np.int32), np.zeros(1, np.int32))
        for file in self._files:
            file.close()
        self.lengths.append((self._length, self._starts - 1))
        self._files = None
        self._length = self._starts = self._last = 0

    def abort(self) -> None:
        """Close the files as they are; for when something else went wrong already."""
        for file in self._files or ():
            with contextlib.suppress(OSError):
                file.close()
        self._files = None

    def _write(self, ids: Ids, breaks: Ids) -> None:
        if self._files is None:
            if len(ids) == 0:
                return
            names = shard_names(len(self.lengths))
            self._files = ((self.directory / names[0]).open("wb", 0), (self.directory / names[1]).open("wb"))
            self._put_starts(np.zeros(1, np.int64))
        write_all(self._files[0], ids)
        starts = breaks + np.int64(self._length)
        self._length += len(ids)
        if len(starts) and starts[0] == self._last:  # a sentence without ids: no sentence
            starts = starts[1:]
        if len(starts):
            self._put_starts(starts)

    def _put_starts(self, starts: Starts) -> None:
        assert self._files is not None
        self._files[1].write(starts.astype("<i8", copy=False).data)
        self._starts += len(starts)
        self._last = int(starts[-1])


def write_all(file: IO[bytes], ids: Ids) -> None:
    """Write to an unbuffered file, which may take only a part at a time."""
    view = ids.astype("<i4", copy=False).data.cast("B")
    while len(view):
        view = view[file.write(view) :]


def shard_names(number: int) -> tuple[str, str]:
    """The two file names of a shard."""
    return f"{number:05}.ids", f"{number:05}.starts"


def map_shard(directory: Path, number: int) -> Shard:
    """Map the files of a shard into memory."""
    ids, starts = shard_names(number)
    mapped = (
        np.memmap(directory / ids, dtype="<i4", mode="r"),
        np.memmap(directory / starts, dtype="<i8", mode="r"),
    )
    return Shard(np.asarray(mapped[0], np.int32), np.asarray(mapped[1], np.int64))


def check_shard(directory: Path, number: int, ids: int, sentences: int, words: int) -> None:
    """Raise a `FormatError` unless sizes, order of starts and ids are right.

    Kernels trust them and would read wild memory.
    """
    names = shard_names(number)
    for name, size in zip(names, (4 * ids, 8 * (sentences + 1)), strict=True):
        path = directory / name
        found = path.stat().st_size if path.is_file() else -1
        if found != size or ids < 1:
            raise FormatError(
                f"{path}: {'no such file' if found < 0 else f'{found} bytes'}, expected {size}: encode the "
                "text again"
            )
    _check_starts(directory / names[1], ids)
    _check_ids(directory / names[0], words)


def _check_starts(path: Path, ids: int) -> None:
    last, position = -1, 0
    with path.open("rb") as file:
        while len(part := np.fromfile(file, "<i8", CHUNK)):
            # read, not mapped, so that the check does not fill the memory
            if (position == 0 and part[0] != 0) or part[0] <= last or (np.diff(part) <= 0).any():
                raise FormatError(
                    f"{path}: byte {8 * position}: sentence starts are not rising from 0: encode the text "
                    "again"
                )
            last, position = int(part[-1]), position + len(part)
    if last != ids:
        raise FormatError(
            f"{path}: the last sentence ends at {last}, but there are {ids} ids: encode the text again"
        )


def _check_ids(path: Path, words: int) -> None:
    position = 0
    with path.open("rb") as file:
        while len(part := np.fromfile(file, "<i4", CHUNK)):
            if part.min() < 0 or part.max() >= words:
                raise FormatError(
                    f"{path}: byte {4 * position}: an id outside 0..{words - 1}: encode the text again"
                )
            position += len(part)
