"""Models that learn from a log of users and items, and recommend items.

A recommender that only counts says what it counts (`count`), how well items suit histories by that
(`score`), and how it is read back (`counted_from`). One that learns in epochs says `training`, `make_answers`
and `restore` itself, see item_vectors.py.
"""

import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from unhot.errors import ConfigError
from unhot.items.histories import Histories
from unhot.items.kept_log import LogRecord
from unhot.items.recommender import Filter, Recommendation, Recommender
from unhot.logs.log import Log
from unhot.models.fitting import AtOnce, Begins, Counting, Note, Reading, Reads, Tells, Training
from unhot.models.item_vectors import ItemAnswers
from unhot.models.log_data import LogData, Watched, log_data
from unhot.models.model import Model
from unhot.models.settings import LogFields
from unhot.models.text_model import check_scratch
from unhot.outputs import Head
from unhot.rows.remote import hidden
from unhot.train.checkpoint import Checkpoint
from unhot.train.progress import Callback
from unhot.types import Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary


class NoVectors(ConfigError, AttributeError):
    """The model has no vectors of items; an AttributeError, so that `hasattr` says it, too."""


@dataclasses.dataclass(frozen=True)
class LearnedCounts:
    """What a recommender has counted."""

    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    counted: Any  # a NamedTuple of arrays
    record: LogRecord

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the arrays by name, and what is kept of the log."""
        own = getattr(self.counted, "tensors", self.counted._asdict)()
        return {**own, **self.record.tensors()}

    def facts(self) -> dict[str, Any]:
        """Return what is known of the log."""
        return {**getattr(self.counted, "facts", dict)(), **self.record.saved_facts()}


@dataclasses.dataclass(kw_only=True)
class RecommenderModel(LogFields, Model[Any, Recommender]):
    """Settings of a recommender; after `fit` or `load`, also its state."""

    unit = "interactions"
    own_words = False
    uses_columns: ClassVar[bool] = False  # whether it learns from the times and the features of events
    use = "try: unhot recommend for {0} --history ITEM, or unhot recommend similar {0} ITEM"

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other."""
        if self.refit and self.split == "none":
            raise ConfigError("refit: split=none has no validation; choose a split, or leave refit out")
        if not 0 < self.share < 0.5:
            raise ConfigError(f"share={self.share}: must be between 0 and 0.5")

    def fit(
        self,
        source: Any,
        *,
        start: Any = None,
        frozen: str | Iterable[str] | None = None,
        checkpoint: Checkpoint | None = None,
        progress: bool = False,
        callbacks: Sequence[Callback] = (),
        reading: Reading | None = None,
        counting: Counting | None = None,
        note: Note | None = None,
        directory: str | os.PathLike[str] | None = None,
        force: bool = False,
        validation: Watched | None = None,
    ) -> Self:
        """Learn from a log: files, a table, lists of items, or a `Log` (see `unhot.logs.read_log`).

        start       vectors to start from, for the items that have one; or a model to train further
        frozen      items whose input vectors must not change; "known": all items of `start`
        checkpoint  where and how often to save the state, to `resume` from
        progress    show the progress: a bar on a terminal or in a notebook, elsewhere a line for each epoch
        callbacks   functions called with a `Progress` after every chunk and every epoch
        reading     function called with the bytes read and the total while the log is read
        counting    function called with the rows counted and the total while pairs are counted
        note        function called with lines about what goes on; None: the lines are logged or, with
                    `progress`, shown
        directory   where to keep the encoded log for later; None: a temporary directory
        force       read files even if they do not look like text
        validation  questions to watch a training on if there is no split
        """
        return super().fit(
            source,
            start=start,
            frozen=frozen,
            checkpoint=checkpoint,
            progress=progress,
            callbacks=callbacks,
            reading=reading,
            counting=counting,
            note=note,
            directory=directory,
            force=force,
            validation=validation,
        )

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Read the log, and give the part to learn from."""
        check_scratch(self, begins)
        return log_data(self, reads, tells)

    def count(self, log: Log, tells: Tells) -> Any:
        """Return what the model learns from a log: a NamedTuple of arrays."""
        raise NotImplementedError

    def counted_from(self, tensors: Mapping[str, Any], items: int) -> Any:
        """Return what `count` returned, from its arrays; raise a `FormatError` if they are damaged."""
        raise NotImplementedError

    def score(self, counted: Any, histories: Histories) -> Floats:
        """Return how well each item suits each history by what was counted, [histories, items]."""
        raise NotImplementedError

    def training(self, data: LogData, begins: Begins, tells: Tells) -> Training[Any]:
        """Return a training that counts when it runs."""

        def learn() -> LearnedCounts:
            began, log = time.perf_counter(), data.text
            counted = self.count(log, tells)
            tells.say(f"counted {log.words:,} events in {time.perf_counter() - began:.1f} s")
            return LearnedCounts(log.items, log.items, counted, data.record)

        return AtOnce(learn, begins.history, data.text.words)

    def make_answers(self, learned: Any) -> Recommender:
        """Return what recommends by what was counted."""
        score = functools.partial(self.score, learned.counted)
        seen = self.leaves_out_seen(learned.record)
        return Recommender(learned.out_vocabulary, learned.record, score, leaves_out_seen=seen)

    def restore(self, saved: SavedModel) -> Any:
        """Return what a saved model had counted."""
        words, items = saved.vocabulary, len(saved.vocabulary)
        record = LogRecord.of_saved(saved.config, saved.tensors, items)
        return LearnedCounts(words, words, self.counted_from(saved.tensors, items), record)

    def leaves_out_seen(self, record: LogRecord) -> bool:
        """Return whether items of a history are usually left out: not if lines are sessions."""
        named = self.session is not None or self.gap is not None or self.split == "session"
        return not named and not record.facts.get("sessions") and bool(record.facts.get("users"))

    def config(self) -> dict[str, Any]:
        """Return what a saved model is made of again; of the file of items only its name."""
        named = self.items is not None and (self.fit_state is None or self.complete)
        return super().config() | ({"items": Path(hidden(str(self.items))).name} if named else {})

    @property
    def catalogue(self) -> Vocabulary:
        """The items that can be recommended."""
        words: Vocabulary = self.learned.out_vocabulary
        return words

    @property
    def names(self) -> Sequence[str]:
        """The names of the items; empty if there are none."""
        return self.answers.names

    def recommend(
        self,
        who: str | Sequence[str],
        k: int = 10,
        *,
        exclude_seen: bool | None = None,
        filter: Filter | None = None,
    ) -> list[Recommendation]:
        """Return the k items that suit best a user, or a history: a list of items, oldest first.

        exclude_seen   leave out the items of the history; None: unless the model learned from sessions, as in
                       `unhot recommend for` and in evaluations
        filter         recommend only these items, or those for which this function returns True

        Raise a `DataError` if the model knows neither the user nor any item of the history.
        """
        return self.answers.recommend(who, k, exclude_seen=exclude_seen, filter=filter)

    def recommend_many(
        self,
        whom: Sequence[str | Sequence[str]],
        k: int = 10,
        *,
        exclude_seen: bool | None = None,
        filter: Filter | None = None,
    ) -> list[list[Recommendation]]:
        """Return recommendations for several users or histories; see `recommend`.

        The list is empty for a user whom the model does not know, and for a history of unknown items.
        """
        return self.answers.recommend_many(whom, k, exclude_seen=exclude_seen, filter=filter)

    def scores(self, histories: Histories) -> Floats:
        """Return how well each item suits each history, [histories, items]."""
        return self.answers.scores(histories)

    def similar(self, item: str, k: int = 10) -> list[Recommendation]:
        """Return the k items most similar to an item: by default those that suit who has only this item."""
        return self.answers.similar(item, k)

    def learn_users(self, log: Log) -> None:
        """Take the histories of users from a log, to answer for them; they are not saved."""
        self.answers.learn_users(log)

    @property
    def item_answers(self) -> ItemAnswers:
        """What answers by the vectors of items; raises a `ConfigError` if the model has none."""
        if not isinstance(self.answers, ItemAnswers):
            raise NoVectors(f"a {self.name} model has no vectors of items: train another, such as item2vec")
        return self.answers

    @property
    def vectors(self) -> Vectors:
        """The vectors of items; raises a `ConfigError` if the model has none."""
        return self.item_answers.vectors

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors of items; raises a `ConfigError` if the model has none."""
        return self.item_answers.out_vectors

    @property
    def head(self) -> Head:
        """The trained output layer; raises a `ConfigError` if the model has none."""
        return self.item_answers.head

    def new_item(self, values: Mapping[str, str | Sequence[str]]) -> Floats:
        """Return the vector of an item that the log does not have, by its side values: column -> values."""
        return self.item_answers.new_item(values)

    def similar_to(self, values: Mapping[str, str | Sequence[str]], k: int = 10) -> list[Recommendation]:
        """Return the k items that are most like an item that the log does not have, by its side values."""
        return self.item_answers.similar_to(values, k)

    def recommend_new(
        self, who: str | Sequence[str], items: Mapping[str, Mapping[str, str | Sequence[str]]], k: int = 10
    ) -> list[Recommendation]:
        """Return the k of some new items that suit best a user or a history.

        items   item -> its side values; they are compared with the last items of the history by cosines
        """
        return self.item_answers.recommend_new(who, items, k)
