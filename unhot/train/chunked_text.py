"""A text in chunks, and the random streams that belong to them.

Whether a token survives and how far it sees is decided by bits of its position in the whole corpus.
Candidates draw from the stream of their chunk. So nothing depends on which thread trains what.
"""

from dataclasses import dataclass

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.kernels.chunk import Where
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import Text, keep_threshold
from unhot.train.schedule import TextChunk
from unhot.types import Doubles


@dataclass(frozen=True)
class ChunkedText:
    """A corpus, how often each of its words is kept, and a seed."""

    corpus: Corpus
    keep: Doubles  # [words] probability that each survives sub-sampling
    seed: int
    chunks: list[TextChunk]  # of an epoch

    def __post_init__(self) -> None:
        """Refuse a text with places of unknown words: these have no row."""
        self.corpus.check_windows()

    @property
    def longest(self) -> int:
        """The positions of the longest chunk: its pieces may all be whole."""
        return max(chunk.size * self._pieces(chunk) for chunk in self.chunks)

    @property
    def most_pieces(self) -> int:
        """The pieces of the chunk that has most."""
        return max(map(self._pieces, self.chunks))

    def _pieces(self, chunk: TextChunk) -> int:
        first, last = chunk.pieces()
        return last - first

    def texts(self) -> list[Text]:
        """What kernels read, for each shard."""
        threshold = keep_threshold(self.keep)
        return [Text(shard.ids, shard.starts, threshold) for shard in self.corpus.shards]

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return where a chunk is, with its streams."""
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
        """The stream that the candidates of a chunk are drawn from."""
        return stream_key(self.seed, epoch, 1 + chunk.number)
