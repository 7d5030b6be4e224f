"""Bigrams: how likely one word follows another, by counting."""
# ruff: noqa: D101, D102

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.models.fields import EpochFields
from unhot.models.model import model, shaped_tensor
from unhot.models.planning import plan_of
from unhot.models.settings import Range
from unhot.models.state import InEpochs
from unhot.models.text_model import TextModel
from unhot.train.epoch_run import EpochRun
from unhot.train.schedule import TextChunk, text_chunks
from unhot.vocab.vocabulary import Vocabulary


class LearnedBigrams(NamedTuple):
    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    counts: Any  # [words, words]: how often the second follows the first

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        return {"bigrams": self.counts}


@model("bigrams")
@dataclass(kw_only=True)
class Bigrams(EpochFields, TextModel[LearnedBigrams]):
    epochs: Annotated[int, Range(1, 1)] = 1  # one pass counts them all
    added: Annotated[float, Range(0)] = 1.0  # added to every count

    def training(self, data: Any, begins: Any, tells: Any) -> InEpochs[LearnedBigrams]:
        words = data.vocabulary
        counts = np.zeros((len(words), len(words)), np.int64)
        if begins.learned is not None:  # a training that was cut off goes on
            counts[:] = begins.learned.counts
        learned = LearnedBigrams(words, words, counts)
        plan = plan_of(self, begins, tells, {"counts": counts.nbytes}, lr=1.0)
        return InEpochs(BigramRun(data, counts, plan), now=lambda: learned)

    def restore(self, saved: Any) -> LearnedBigrams:
        words = saved.vocabulary
        return LearnedBigrams(words, words, shaped_tensor(saved, "bigrams", (len(words), len(words))))


class BigramRun(EpochRun[TextChunk]):
    def __init__(self, corpus: Any, counts: Any, plan: Any) -> None:
        chunks = text_chunks(corpus.sizes, columns=8)
        super().__init__(chunks, corpus.ids, plan, [counts], words=corpus.words)
        self._corpus, self._counts = corpus, counts

    def learn(self, epoch: int, chunk: TextChunk, lr: float, thread: int) -> tuple[float, int]:
        shard = self._corpus.shards[chunk.shard]
        places = np.arange(chunk.start, min(chunk.stop, shard.ids.size - 1))
        places = places[~np.isin(places + 1, shard.starts)]  # no word follows the last one of a line
        np.add.at(self._counts, (shard.ids[places], shard.ids[places + 1]), 1)
        return 0.0, places.size
