"""The parts of a text that the partitioned softmax is trained on.

A part has a limited number of different words, which are its columns.
"""

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.outputs.partition import partitions
from unhot.train.schedule import TextChunk
from unhot.types import Ids, Starts


class TextParts:
    """The positions at which parts begin; their words are found when a training reaches them."""

    def __init__(self, corpus: Corpus, size: int) -> None:
        self._shards = corpus.shards
        self.cuts: list[Starts] = []  # for each shard, the positions at which parts begin
        for shard in corpus.shards:
            self.cuts.append(np.array([part.first for part in partitions(shard.ids, size)], np.int64))
        self._at = (-1, -1)
        self._words: Ids = np.zeros(0, np.int32)

    def words(self, chunk: TextChunk) -> Ids:
        """Return the different words of a chunk's part; the chunk must not cross two parts."""
        cuts, ids = self.cuts[chunk.shard], self._shards[chunk.shard].ids
        number = int(np.searchsorted(cuts, chunk.start, side="right")) - 1
        if (chunk.shard, number) != self._at:
            last = int(cuts[number + 1]) if number + 1 < cuts.size else ids.size
            self._at, self._words = (chunk.shard, number), np.unique(ids[int(cuts[number]) : last])
        return self._words
