"""The parts of a text that the partitioned softmax is trained on.

Each has at most so many different words, which are its columns.
"""

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.outputs.partition import partitions
from unhot.train.schedule import TextChunk
from unhot.types import Ids, Starts


class TextParts:
    """Where parts begin; their words are looked up when a training comes to them."""

    def __init__(self, corpus: Corpus, size: int) -> None:
        self._shards = corpus.shards
        self.cuts: list[Starts] = []  # of each shard, the positions at which parts begin
        for shard in corpus.shards:
            self.cuts.append(np.array([part.first for part in partitions(shard.ids, size)], np.int64))
        self._at = (-1, -1)
        self._words: Ids = np.zeros(0, np.int32)

    def words(self, chunk: TextChunk) -> Ids:
        """The different words of the part that a chunk, which must not lie across two, is in."""
        cuts, ids = self.cuts[chunk.shard], self._shards[chunk.shard].ids
        number = int(np.searchsorted(cuts, chunk.start, side="right")) - 1
        if (chunk.shard, number) != self._at:
            last = int(cuts[number + 1]) if number + 1 < cuts.size else ids.size
            self._at, self._words = (chunk.shard, number), np.unique(ids[int(cuts[number]) : last])
        return self._words
