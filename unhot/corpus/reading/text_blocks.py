"""Blocks: about a megabyte of text that ends where a token ends, with arrays for its ids and breaks."""

import numpy as np

from unhot.corpus.reading.scanner import BREAKS, PLACE, TOKENS
from unhot.corpus.reading.separators import PADDING
from unhot.types import Bytes, Ids, Starts

BLOCK = 1 << 20  # bytes of a block, so that its text and ids fit the second-level cache of one core


class Block:
    """Buffers that are reused for one block after another; only pages that are written take memory."""

    def __init__(self) -> None:
        """Start with empty buffers."""
        self.text: Bytes = np.empty(PADDING, np.uint8)
        self.size = 0  # bytes of text
        self.normalised: Bytes = np.empty(0, np.uint8)
        self.ids: Ids = np.empty(0, np.int32)
        self.breaks: Ids = np.empty(0, np.int32)
        self.place: Starts = np.zeros(PLACE, np.int64)  # see `scan`
        self.table = 0  # the number of the table that the ids refer to

    def reserve(self, size: int) -> None:
        """Make room for `size` bytes of text; keep the text that is there."""
        if len(self.text) < size + PADDING:
            text = np.empty(size + PADDING, np.uint8)
            text[: self.size] = self.text[: self.size]
            self.text = text

    def append(self, raw: bytes | memoryview) -> None:
        """Append bytes to the text."""
        end = self.size + len(raw)
        if end + PADDING > len(self.text):
            self.reserve(max(end, 2 * self.size))
        self.text[self.size : end] = np.frombuffer(raw, np.uint8)
        self.size = end

    def reserve_ids(self, tokens: int, breaks: int) -> None:
        """Make room for that many ids and breaks; the old ones are lost."""
        if len(self.ids) < tokens:
            self.ids = np.empty(tokens, np.int32)
        if len(self.breaks) < breaks:
            self.breaks = np.empty(breaks, np.int32)

    def sentences(self) -> tuple[Ids, Ids]:
        """Return the ids and the breaks that are in use."""
        return self.ids[: self.place[TOKENS]], self.breaks[: self.place[BREAKS]]


class Pool:
    """A pool of free blocks."""

    def __init__(self) -> None:
        """Start empty: blocks are made when they are needed."""
        self._free: list[Block] = []

    def take(self) -> Block:
        """Return an empty block."""
        block = self._free.pop() if self._free else Block()
        block.size = 0
        return block

    def give(self, block: Block) -> None:
        """Return a block to the pool."""
        self._free.append(block)
