"""Local ids of every block, on disk until the vocabulary is known.

They are written in parts that are removed as soon as they are read back, so that spool and shards together
take little more space than the ids once.
"""

from collections.abc import Generator
from itertools import groupby
from pathlib import Path
from typing import IO, NamedTuple

from unhot.corpus.indexed_folder import append_numbers
from unhot.corpus.reading.scanner import BREAKS, TOKENS
from unhot.corpus.reading.text_blocks import Block, Pool
from unhot.errors import DataError
from unhot.types import Ids

PART = 1 << 26  # bytes


class SpooledBlock(NamedTuple):
    """One block in the spool."""

    path: Path
    table: int
    tokens: int
    breaks: int


class Spool:
    """Blocks of ids, written once and read once in the same order."""

    def __init__(self, directory: Path, part: int = PART) -> None:
        """`part`: bytes after which a new file begins, about."""
        self._directory = directory
        self.part = part
        self._entries: list[SpooledBlock] = []
        self.bytes = 0  # written in all

    def write(self, block: Block) -> None:
        """Add a scanned block."""
        path = self._directory / f"spool-{self.bytes // self.part}"
        ids, breaks = block.sentences()
        append_numbers(path, ids, "<i4")
        append_numbers(path, breaks, "<i4")
        self._entries.append(SpooledBlock(path, block.table, len(ids), len(breaks)))
        self.bytes += ids.nbytes + breaks.nbytes

    def read(self, pool: Pool) -> Generator[Block, None, None]:
        """All blocks, once."""
        for path, entries in groupby(self._entries, key=lambda entry: entry.path):
            with path.open("rb") as file:
                for entry in entries:
                    block = pool.take()
                    block.reserve_ids(entry.tokens, entry.breaks)
                    block.place[TOKENS], block.place[BREAKS] = entry.tokens, entry.breaks
                    block.table = entry.table
                    _fill(block.ids[: entry.tokens], file)
                    _fill(block.breaks[: entry.breaks], file)
                    yield block
            path.unlink()


def _fill(ids: Ids, file: IO[bytes]) -> None:
    """Read so many ids."""
    if file.readinto(ids.data) != ids.nbytes:  # type: ignore[attr-defined]
        raise DataError(
            f"{Path(file.name).parent}: what was read is gone from there: is something else cleaning up? "
            "run it again"
        )
