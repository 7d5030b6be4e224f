"""A block: about a megabyte of text that ends where a token ends, and the arrays for what becomes of it."""

import numpy as np

from unhot.corpus.reading.scanner import BREAKS, TOKENS
from unhot.corpus.reading.separators import PADDING
from unhot.types import Bytes, Ids, Starts

BLOCK = 1 << 20  # bytes; its text and ids fit the second-level cache of one core


class Block:
    """Buffers that are used again and again; only the pages that are touched take memory."""

    def __init__(self) -> None:
        """Start without any room."""
        self.text: Bytes = np.empty(PADDING, np.uint8)
        self.size = 0  # bytes of text
        self.normalised: Bytes = np.empty(0, np.uint8)
        self.ids: Ids = np.empty(0, np.int32)
        self.breaks: Ids = np.empty(0, np.int32)
        self.place: Starts = np.zeros(4, np.int64)  # see `scan`
        self.table = 0  # number of the table that the ids belong to

    def reserve(self, size: int) -> None:
        """Make room for so many bytes of text; what is there stays."""
        if len(self.text) < size + PADDING:
            text = np.empty(size + PADDING, np.uint8)
            text[: self.size] = self.text[: self.size]
            self.text = text

    def append(self, raw: bytes | memoryview) -> None:
        """Add bytes."""
        end = self.size + len(raw)
        if end + PADDING > len(self.text):
            self.reserve(max(end, 2 * self.size))
        self.text[self.size : end] = np.frombuffer(raw, np.uint8)
        self.size = end

    def reserve_ids(self, tokens: int, breaks: int) -> None:
        """Make room for ids and breaks; what was there is lost."""
        if len(self.ids) < tokens:
            self.ids = np.empty(tokens, np.int32)
        if len(self.breaks) < breaks:
            self.breaks = np.empty(breaks, np.int32)

    def sentences(self) -> tuple[Ids, Ids]:
        """The ids in use and the breaks in use."""
        return self.ids[: self.place[TOKENS]], self.breaks[: self.place[BREAKS]]


class Pool:
    """Blocks that are free."""

    def __init__(self) -> None:
        """Start with none: they are made when needed."""
        self._free: list[Block] = []

    def take(self) -> Block:
        """An empty block."""
        block = self._free.pop() if self._free else Block()
        block.size = 0
        return block

    def give(self, block: Block) -> None:
        """Take a block back."""
        self._free.append(block)
