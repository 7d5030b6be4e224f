"""Local ids of every block, on disk until the vocabulary is known.

They are written in parts that are removed as soon as they are read back, so that spool and shards together
take little more space than the ids once.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import IO, NamedTuple

from unhot.corpus.reading.scanner import BREAKS, TOKENS
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.corpus.shards import write_all
from unhot.errors import DataError

PART = 1 << 26  # bytes


class SpooledBlock(NamedTuple):
    """One block in the spool."""

    part: int
    table: int
    tokens: int
    breaks: int


class Spool:
    """Blocks of ids, written once and read once in the same order."""

    def __init__(self, directory: Path, part: int = PART) -> None:
        """`part`: bytes after which a new file begins."""
        self._directory = directory
        self.part = part
        self._entries: list[SpooledBlock] = []
        self._number = self._written = 0
        self.bytes = 0  # written in all
        self._file: IO[bytes] | None = None

    def write(self, block: Block) -> None:
        """Add a scanned block."""
        if self._file is None:
            self._file = self._path(self._number).open("wb", 0)
        ids, breaks = block.sentences()
        write_all(self._file, ids)
        write_all(self._file, breaks)
        self._entries.append(SpooledBlock(self._number, block.table, len(ids), len(breaks)))
        self._written += ids.nbytes + breaks.nbytes
        self.bytes += ids.nbytes + breaks.nbytes
        if self._written >= self.part:
            self.close()
            self._number, self._written = self._number + 1, 0

    def read(self, pool: Pool) -> Generator[Block, None, None]:
        """All blocks, once."""
        self.close()
        part = -1
        for entry in self._entries:
            if entry.part != part:
                self._remove(part)
                part = entry.part
                self._file = self._path(part).open("rb", 0)
            block = pool.take()
            block.reserve_ids(entry.tokens, entry.breaks)
            block.place[TOKENS], block.place[BREAKS] = entry.tokens, entry.breaks
            block.table = entry.table
            self._read(block.ids.data[: entry.tokens].cast("B"))
            self._read(block.breaks.data[: entry.breaks].cast("B"))
            yield block
        self._remove(part)

    def close(self) -> None:
        """Close the file that is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _remove(self, part: int) -> None:
        self.close()
        self._path(part).unlink(missing_ok=True)

    def _path(self, number: int) -> Path:
        return self._directory / f"spool-{number}"

    def _read(self, view: memoryview) -> None:
        while len(view):
            got = self._file.readinto(view)  # type: ignore[union-attr]
            if not got:
                raise DataError(
                    f"{self._directory}: what was read is gone from there: is something else cleaning up? "
                    "run it again"
                )
            view = view[got:]
