"""The spool: the local ids of every block, kept on disk until the vocabulary is known.

The ids are written in parts. Each part is removed as soon as it was read back, so spool and shards together
need little more disk space than the ids alone.
"""

from collections.abc import Generator
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from unhot.corpus.indexed_folder import append_numbers
from unhot.corpus.reading.scanner import BREAKS, TOKENS, Block
from unhot.errors import DataError

PART = 1 << 26  # bytes of a part


class Spool:
    """Blocks of ids, written once and read once in the same order."""

    def __init__(self, directory: Path, part: int = PART) -> None:
        """Take the folder for the files; `part`: about how many bytes a file has."""
        self._directory = directory
        self.part = part
        self._entries: list[tuple[Path, int, int, int]] = []  # file, table, tokens and breaks of each block
        self.bytes = 0  # bytes written in total

    def write(self, block: Block) -> None:
        """Add a scanned block."""
        path = self._directory / f"spool-{self.bytes // self.part}"
        ids, breaks = block.sentences()
        append_numbers(path, ids, "<i4")
        append_numbers(path, breaks, "<i4")
        self._entries.append((path, block.table, len(ids), len(breaks)))
        self.bytes += ids.nbytes + breaks.nbytes

    def read(self) -> Generator[Block, None, None]:
        """Yield all blocks, and remove each file that was read; this works only once."""
        for path, entries in groupby(self._entries, key=itemgetter(0)):
            with path.open("rb") as file:
                for _, table, tokens, breaks in entries:
                    numbers = np.fromfile(file, np.int32, tokens + breaks)
                    if numbers.size < tokens + breaks:
                        raise DataError(
                            f"{self._directory}: temporary files were removed or cut short during encoding: "
                            "check whether another program cleans up there, and run it again"
                        )
                    block = Block()
                    block.ids, block.breaks = numbers[:tokens], numbers[tokens:]
                    block.place[TOKENS], block.place[BREAKS] = tokens, breaks
                    block.table = table
                    yield block
            path.unlink()
