"""What trainings on text share: its shards, and the random streams of its chunks."""

from __future__ import annotations

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.kernels.rng import key_from, stream_key
from unhot.kernels.windows import Chunk, Hot, Text, keep_threshold
from unhot.train.epoch_run import Plan, Run
from unhot.train.schedule import Piece
from unhot.types import Bytes


class TextRun(Run[Piece]):
    """A training on text under way."""

    def __init__(self, corpus: Corpus, cut: list[Piece], plan: Plan, threads: int) -> None:
        """An epoch of the corpus is cut into these pieces."""
        super().__init__(cut, corpus.ids, corpus.words, plan, threads)
        threshold = keep_threshold(plan.keep)
        self.texts = [Text(shard.ids, shard.starts, threshold) for shard in corpus.shards]

    def chunk(self, epoch: int, piece: Piece, lr: float, place: Hot, frozen: Bytes) -> Chunk:
        """A piece with its streams: random bits belong to positions of the whole corpus, draws to the chunk."""
        windows = key_from(stream_key(self._plan.seed, epoch, 0), piece.done - piece.start)
        return Chunk(
            piece.start,
            piece.stop,
            piece.sentence,
            windows,
            self.draw_key(epoch, piece),
            np.float32(lr),
            place,
            frozen,
        )

    def draw_key(self, epoch: int, piece: Piece) -> np.uint64:
        """The stream that the candidates of a chunk are drawn from."""
        return stream_key(self._plan.seed, epoch, 1 + piece.number)
