"""The spool: the local ids of every block, kept on disk until the vocabulary is known.

The ids are written in parts. Each part is removed as soon as it was read back, so spool and shards together
need little more disk space than the ids alone.
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

PART = 1 << 26  # bytes of a part


class SpooledBlock(NamedTuple):
    """One block in the spool: its file, its table, and the number of its tokens and breaks."""

    path: Path
    table: int
    tokens: int
    breaks: int


class Spool:
    """Blocks of ids, written once and read once in the same order."""

    def __init__(self, directory: Path, part: int = PART) -> None:
        """Take the folder for the files; `part`: about how many bytes a file has."""
        self._directory = directory
        self.part = part
        self._entries: list[SpooledBlock] = []
        self.bytes = 0  # bytes written in total

    def write(self, block: Block) -> None:
        """Add a scanned block."""
        path = self._directory / f"spool-{self.bytes // self.part}"
        ids, breaks = block.sentences()
        append_numbers(path, ids, "<i4")
        append_numbers(path, breaks, "<i4")
        self._entries.append(SpooledBlock(path, block.table, len(ids), len(breaks)))
        self.bytes += ids.nbytes + breaks.nbytes

    def read(self, pool: Pool) -> Generator[Block, None, None]:
        """Yield all blocks, and remove each file that was read; this works only once."""
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
    """Fill an array with ids from a file."""
    if file.readinto(ids.data) != ids.nbytes:  # type: ignore[attr-defined]
        raise DataError(
            f"{Path(file.name).parent}: temporary files were removed or cut short during encoding: check "
            "whether another program cleans up there, and run it again"
        )
