"""What every recommender answers: which items suit a user or a history, and which are similar to an item."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, whole
from unhot.index.best import ExcludedRows, best
from unhot.items.histories import Histories, histories_of
from unhot.types import Counts, Floats
from unhot.vocab.vocabulary import UnknownWord, Vocabulary

Filter = Callable[[str], bool] | Collection[str]


class Recommendation(NamedTuple):
    """An item, how well it suits, and its name ("" if it has none)."""

    item: str
    score: float
    name: str


class Recommender:
    """Answers questions; a model supplies `catalogue`, `names`, `scores` and the histories of users."""

    @property
    @abstractmethod
    def catalogue(self) -> Vocabulary:
        """The items that can be recommended."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The names of the items; empty if there are none."""

    @abstractmethod
    def scores(self, histories: Histories) -> Floats:
        """Return how well each item suits each history, [histories, items]."""

    def user_row(self, user: str) -> int:
        """Return the row of a user who has a vector of their own; -1 if there is none."""
        return -1

    @abstractmethod
    def user_history(self, user: str) -> Sequence[int]:
        """Return the items of a user; raise a `DataError` if the model does not hold them."""

    def best_items(
        self, histories: Histories, k: int, exclude: ExcludedRows | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Counts, Floats]:
        """Return the k best items for each history, and their scores; -1 where there are fewer."""
        return best(self.scores(histories), k, exclude, allowed)

    def recommend(
        self,
        who: str | Sequence[str],
        k: int = 10,
        *,
        exclude_seen: bool = True,
        filter: Filter | None = None,
    ) -> list[Recommendation]:
        """Return the k items that suit best a user, or a history: a list of items, oldest first.

        exclude_seen   leave out the items of the history
        filter         recommend only these items, or those for which this function returns True
        """
        return self.recommend_many([who], k, exclude_seen=exclude_seen, filter=filter)[0]

    def recommend_many(
        self,
        whom: Sequence[str | Sequence[str]],
        k: int = 10,
        *,
        exclude_seen: bool = True,
        filter: Filter | None = None,
    ) -> list[list[Recommendation]]:
        """Return recommendations for several users or histories; see `recommend`."""
        k = min(whole("k", k, 1), len(self.catalogue))
        lines, users = [], []
        for who in whom:
            users.append(self.user_row(who) if isinstance(who, str) else -1)
            lines.append(self.user_history(who) if isinstance(who, str) else self.known_items(who))
        histories = histories_of(lines, users)
        exclude = ExcludedRows(histories.ids.astype(np.int64), histories.starts) if exclude_seen else None
        found = self.best_items(histories, k, exclude, self._allowed(filter))
        return [self._named(*line) for line in zip(*found, strict=True)]

    def similar(self, item: str, k: int = 10) -> list[Recommendation]:
        """Return the k items most similar to an item: by default those that suit who has only this item."""
        known = self.item_id(item)
        barred = ExcludedRows(np.array([known]), np.array([0, 1]))
        k = min(whole("k", k, 1), len(self.catalogue))
        ids, scores = self.best_items(histories_of([[known]]), k, barred, None)
        return self._named(ids[0], scores[0])

    def item_id(self, item: str) -> int:
        """Return the id of an item; raise an `UnknownWord` if the model does not know it."""
        if item not in self.catalogue:
            raise UnknownWord(f"{item!r} is not among the {len(self.catalogue):,} items of the model")
        return self.catalogue.index[item]

    def known_items(self, history: Sequence[str]) -> list[int]:
        """Return the ids of the items of a history that the model knows; raise an error if it knows none."""
        listed = isinstance(history, Iterable) and not isinstance(history, str)
        if not listed or not all(isinstance(item, str) for item in history):
            raise ConfigError(f"a history is {history!r:.80}: give a list of items as strings, oldest first")
        ids = [self.catalogue.index[item] for item in history if item in self.catalogue.index]
        if history and not ids:
            raise DataError(
                f"none of the {len(history)} items of the history ({history[0]!r:.40}, ...) is among the "
                f"{len(self.catalogue):,} items of the model: check how items are written"
            )
        return ids

    def _allowed(self, filter: Filter | None) -> NDArray[np.bool_] | None:
        if filter is None:
            return None
        if isinstance(filter, str) or not (callable(filter) or isinstance(filter, Collection)):
            raise ConfigError(f"filter={filter!r:.80}: give a set or list of items, or a function of an item")
        if callable(filter):
            return np.array([bool(filter(item)) for item in self.catalogue.words], np.bool_)
        flags = np.zeros(len(self.catalogue), np.bool_)
        flags[[self.catalogue.index[item] for item in filter if item in self.catalogue.index]] = True
        return flags

    def _named(self, ids: Counts, scores: Floats) -> list[Recommendation]:
        pairs = zip(ids.tolist(), scores.tolist(), strict=True)
        names = self.names or [""] * len(self.catalogue)
        return [Recommendation(self.catalogue.words[i], score, names[i]) for i, score in pairs if i >= 0]
