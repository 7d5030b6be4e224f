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
        """Positions of the longest chunk."""
        return max(chunk.stop - chunk.start for chunk in self.chunks)

    def texts(self) -> list[Text]:
        """What kernels read, for each shard."""
        threshold = keep_threshold(self.keep)
        return [Text(shard.ids, shard.starts, threshold) for shard in self.corpus.shards]

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """A chunk with its streams."""
        windows = key_from(stream_key(self.seed, epoch, 0), chunk.done - chunk.start)
        return Where(chunk.start, chunk.stop, chunk.sentence, windows, self.draw_key(epoch, chunk))

    def draw_key(self, epoch: int, chunk: TextChunk) -> np.uint64:
        """The stream that the candidates of a chunk are drawn from."""
        return stream_key(self.seed, epoch, 1 + chunk.number)
