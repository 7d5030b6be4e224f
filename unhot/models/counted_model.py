"""Recommenders that only count: they learn in one pass, without epochs and without vectors."""

import dataclasses
import time
from abc import abstractmethod
from typing import Any, NamedTuple

from unhot.logs.log import Log
from unhot.models.fitting import Begins, Tells
from unhot.models.log_model import LogModel
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary


class LearnedItems(NamedTuple):
    """What a recommender has counted."""

    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    counted: Any  # a NamedTuple of arrays


@dataclasses.dataclass(kw_only=True)
class CountedModel(LogModel[LearnedItems]):
    """Settings of a recommender that only counts."""

    @abstractmethod
    def count(self, log: Log, tells: Tells) -> Any:
        """Return what the model learns from a log: a NamedTuple of arrays."""

    @abstractmethod
    def counted_from(self, tensors: dict[str, Any], items: int) -> Any:
        """Return what `count` returned, from its arrays; raise a `FormatError` if they are damaged."""

    @property
    def counted(self) -> Any:
        """What was counted."""
        return self.learned.counted

    def begin(self, data: Log, begins: Begins, tells: Tells) -> "CountTraining":
        """Return a training that counts when it runs."""
        return CountTraining(self, data, tells)

    def learned_tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the arrays by name."""
        return dict(self.counted._asdict())

    def take(self, saved: SavedModel) -> None:
        """Take over the arrays of a saved model."""
        words = saved.vocabulary
        self.keep(LearnedItems(words, words, self.counted_from(saved.tensors, len(words))))
        super().take(saved)


class CountTraining:
    """A training that counts once."""

    def __init__(self, owner: CountedModel, log: Log, tells: Tells) -> None:
        """Take the model that learns."""
        self.owner, self.log = owner, log
        self.tells = tells

    def train(self) -> None:
        """Count; Ctrl-C leaves nothing."""
        began, log = time.perf_counter(), self.log
        counted = self.owner.count(log, self.tells)
        self.owner.keep(LearnedItems(log.items, log.items, counted))
        self.owner.history.words = log.words
        self.tells.say(f"counted {log.words:,} events in {time.perf_counter() - began:.1f} s")

    def close(self) -> None:
        """Do nothing: all temporary files are gone."""
