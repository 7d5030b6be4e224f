"""Blocks: about a megabyte of text that ends where a token ends, with arrays for its ids and breaks."""

import numpy as np

from unhot.corpus.reading.scanner import BREAKS, PLACE, TOKENS
from unhot.corpus.reading.separators import PADDING
from unhot.types import Bytes, Ids, Starts


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

    def put(self, raw: bytes) -> None:
        """Replace the text."""
        self.size = len(raw)
        if len(self.text) < self.size + PADDING:
            self.text = np.empty(self.size + PADDING, np.uint8)
        self.text[: self.size] = np.frombuffer(raw, np.uint8)

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
        """Return a block, whose content may be overwritten."""
        return self._free.pop() if self._free else Block()

    def give(self, block: Block) -> None:
        """Return a block to the pool."""
        self._free.append(block)
