"""A text in chunks, and their random streams.

Random bits for its position in the whole corpus decide whether a token survives and how far it sees.
Candidates are drawn from the stream of their chunk. So nothing depends on which thread trains a chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.graphs.walks import GraphWalks
from unhot.kernels.chunk import Where
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import NOTHING, Kept, Text, Window, keep_threshold, kept_buffer
from unhot.outputs.partition import partitions
from unhot.train.schedule import TextChunk
from unhot.types import Doubles, Ids, Starts


@dataclass(frozen=True)
class ChunkedText:
    """A corpus, the probability that each of its words is kept, a seed, and the chunks."""

    corpus: Corpus | GraphWalks
    keep: Doubles  # [words] probability that a word survives sub-sampling
    seed: int
    chunks: list[TextChunk]  # the chunks of an epoch
    beside: Sequence[Ids] = ()  # of each shard: a number for each sentence; empty: there is none

    def __post_init__(self) -> None:
        """Refuse a text that marks unknown words: these have no row."""
        self.corpus.check_windows()

    @property
    def size(self) -> int:
        """Return the positions of an epoch."""
        return self.corpus.ids

    @property
    def words(self) -> int:
        """Return the words of an epoch, as progress reports count them."""
        return self.corpus.words

    @property
    def longest(self) -> int:
        """Return the positions of the longest chunk, as if all its pieces were whole."""
        return max(chunk.size * self._pieces(chunk) for chunk in self.chunks)

    @property
    def most_pieces(self) -> int:
        """Return the largest number of pieces in a chunk."""
        return max(map(self._pieces, self.chunks))

    def _pieces(self, chunk: TextChunk) -> int:
        first, last = chunk.pieces()
        return last - first

    def texts(self) -> list[Any]:
        """Return the text of each shard as kernels read it."""
        threshold = keep_threshold(self.keep)
        if isinstance(self.corpus, GraphWalks):
            return [self.corpus.text(threshold)]
        beside = self.beside or [NOTHING] * len(self.corpus.shards)
        texts = zip(self.corpus.shards, beside, strict=True)
        return [Text(shard.ids, shard.starts, threshold, numbers) for shard, numbers in texts]

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return the place of a chunk in its shard, with its random streams."""
        first, last = chunk.pieces()
        return Where(
            first=first,
            last=last,
            begin=chunk.begin,
            end=chunk.end,
            size=chunk.size,
            order_key=stream_key(self.seed, epoch, -1 - chunk.before - chunk.begin),
            window_key=key_from(stream_key(self.seed, epoch, 0), chunk.before),
            draw_key=self.draw_key(epoch, chunk),
        )

    def draw_key(self, epoch: int, chunk: TextChunk) -> np.uint64:
        """Return the key of the stream that the candidates of a chunk are drawn from."""
        return stream_key(self.seed, epoch, 1 + chunk.number)


@dataclass(frozen=True, kw_only=True)
class WindowExamples(ChunkedText):
    """The windows of a text as the examples of a training with compiled kernels."""

    window: Window
    feeder: Callable[[Any, Window], Any]  # makes the feeder of a shard

    def feeders(self) -> list[Any]:
        """Return a feeder for each shard."""
        return [self.feeder(text, self.window) for text in self.texts()]

    def buffers(self) -> Kept:
        """Return buffers for the surviving words of the longest chunk."""
        return kept_buffer(self.longest, self.window.size, self.most_pieces)


class TextParts:
    """The parts of a text that the partitioned softmax is trained on: the positions at which they begin.

    A part has a limited number of different words, which are its columns. They are found when a training
    reaches it.
    """

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
