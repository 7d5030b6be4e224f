"""What every recommender answers: which items suit a user or a history, and which are similar to an item."""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, a_text, whole
from unhot.index.best import ExcludedRows, best
from unhot.items.histories import Histories, histories_of
from unhot.items.kept_log import LogRecord
from unhot.logs.log import Log
from unhot.threads import parts_of
from unhot.types import Counts, Floats
from unhot.vocab.vocabulary import UnknownWord, Vocabulary

BLOCK_SCORES = 1 << 24  # scores that are held at a time
NOBODY: tuple[Sequence[int], int] = ((), -1)  # what is asked where nothing is known
Filter = Callable[[str], bool] | Collection[str]


class Recommendation(NamedTuple):
    """An item, how well it suits, and its name ("" if it has none)."""

    item: str
    score: float
    name: str


class Recommender:
    """Answers questions by the scores of items."""

    def __init__(
        self,
        catalogue: Vocabulary,
        record: LogRecord,
        score: Callable[[Histories], Floats],
        *,
        leaves_out_seen: bool,
    ) -> None:
        """Take the items and what is known of their log.

        score             returns how well each item suits each history, [histories, items]
        leaves_out_seen   whether items of a history are usually left out
        """
        self.catalogue, self.record = catalogue, record
        self.scores, self.leaves_out_seen = score, leaves_out_seen

    @property
    def names(self) -> Sequence[str]:
        """The names of the items; empty if there are none."""
        return self.record.kept.names

    @functools.cached_property
    def histories(self) -> dict[str, list[int]]:
        """The items of all users, by their names, in the ids of the model."""
        log = self.record.kept.log
        if log is None:
            raise DataError(
                "this model holds no users: give a history, or the log (--log), or train with with_users "
                "(--with-users)"
            )
        words = (log.user_words, log.item_words, self.catalogue.index)
        return histories_by_user(log.ids, log.starts, log.user_of, *words)

    def learn_users(self, log: Log) -> None:
        """Take the histories of users from a log, to answer for them."""
        words = (log.users.words, log.items.words, self.catalogue.index)
        self.histories = histories_by_user(log.ids_of_lines, log.starts, log.user_of, *words)

    def user_row(self, user: str) -> int:
        """Return the row of a user who has a vector of their own; -1 if there is none."""
        return -1

    def user_history(self, user: str) -> Sequence[int]:
        """Return the items of a user; raise a `DataError` if the model does not hold them."""
        found = self.histories.get(user)
        if found is None:
            raise UnknownWord(f"{user!r} is not among the {len(self.histories):,} users of the model")
        return found

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
        exclude_seen: bool | None = None,
        filter: Filter | None = None,
    ) -> list[Recommendation]:
        """Return the k items that suit best a user, or a history: a list of items, oldest first.

        exclude_seen   leave out the items of the history; None: unless the model learned from sessions, as in
                       `unhot recommend for` and in evaluations
        filter         recommend only these items, or those for which this function returns True

        Raise a `DataError` if the model knows neither the user nor any item of the history.
        """
        if isinstance(who, Iterator):  # it is read twice
            who = [*who]
        self.history_of(who)
        return self.recommend_many([who], k, exclude_seen=exclude_seen, filter=filter)[0]

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
        if isinstance(whom, (str, bytes)) or not isinstance(whom, Iterable):
            raise ConfigError(f"whom={whom!r:.80}: give a list of users or histories, or use recommend")
        k = min(whole("k", k, 1), len(self.catalogue))
        leave_out = self.leaves_out_seen if exclude_seen is None else exclude_seen
        allowed, asked = self._allowed(filter), [self.known_history(who) for who in whom]
        answers: list[list[Recommendation]] = []
        for part in parts_of(len(asked), max(1, BLOCK_SCORES // len(self.catalogue))):
            lines = asked[part.start : part.stop]
            histories = histories_of(*zip(*((line or NOBODY) for line in lines), strict=True))
            exclude = ExcludedRows(histories.ids.astype(np.int64), histories.starts) if leave_out else None
            found = zip(*self.best_items(histories, k, exclude, allowed), strict=True)
            answers += [self._named(*best) if line else [] for line, best in zip(lines, found, strict=True)]
        return answers

    def history_of(self, who: str | Sequence[str]) -> tuple[Sequence[int], int]:
        """Return the items of a user or of a history, and the row of the user (-1: none)."""
        if isinstance(who, str):
            return self.user_history(who), self.user_row(who)
        return self.known_items(who), -1

    def known_history(self, who: str | Sequence[str]) -> tuple[Sequence[int], int] | None:
        """Return what `history_of` returns; None if the model knows nothing of it."""
        try:
            return self.history_of(who)
        except UnknownWord:
            return None

    def similar(self, item: str, k: int = 10) -> list[Recommendation]:
        """Return the k items most similar to an item: by default those that suit who has only this item."""
        known = self.item_id(item)
        barred = ExcludedRows(np.array([known]), np.array([0, 1]))
        k = min(whole("k", k, 1), len(self.catalogue))
        ids, scores = self.best_items(histories_of([[known]]), k, barred, None)
        return self._named(ids[0], scores[0])

    def item_id(self, item: str) -> int:
        """Return the id of an item; raise an `UnknownWord` if the model does not know it."""
        if a_text("item", item) not in self.catalogue:
            raise UnknownWord(f"{item!r} is not among the {len(self.catalogue):,} items of the model")
        return self.catalogue.index[item]

    def known_items(self, history: Sequence[str]) -> list[int]:
        """Return the ids of the items of a history that the model knows; raise an error if it knows none."""
        items = [*history] if isinstance(history, Iterable) and not isinstance(history, str) else [history]
        if isinstance(history, str) or not all(isinstance(item, str) for item in items):
            raise ConfigError(
                f"a history is {history!r:.80}: give a list of items as strings, oldest first, or a "
                "user as a string"
            )
        ids = [self.catalogue.index[item] for item in items if item in self.catalogue.index]
        if items and not ids:
            raise UnknownWord(
                f"none of the {len(items)} items of the history ({items[0]!r:.40}, ...) is among the "
                f"{len(self.catalogue):,} items of the model: check how items are written"
            )
        return ids

    def _allowed(self, filter: Filter | None) -> NDArray[np.bool_] | None:
        if filter is None:
            return None
        if callable(filter):
            return np.array([bool(filter(item)) for item in self.catalogue.words], np.bool_)
        listed = isinstance(filter, Collection) and not isinstance(filter, str)
        if not listed or not all(isinstance(item, str) for item in filter):
            raise ConfigError(
                f"filter={filter!r:.80}: give a set or list of items as strings, or a function of an item"
            )
        flags = np.zeros(len(self.catalogue), np.bool_)
        flags[[self.catalogue.index[item] for item in filter if item in self.catalogue.index]] = True
        return flags

    def _named(self, ids: Counts, scores: Floats) -> list[Recommendation]:
        pairs = zip(ids.tolist(), scores.tolist(), strict=True)
        names = self.names or [""] * len(self.catalogue)
        return [Recommendation(self.catalogue.words[i], score, names[i]) for i, score in pairs if i >= 0]


def histories_by_user(
    ids: Any, starts: Any, user_of: Any, users: Sequence[str], items: Sequence[str], index: dict[str, int]
) -> dict[str, list[int]]:
    """Return the items that each user had, oldest first, in other ids; unknown items are left out."""
    known = np.array([index.get(item, -1) for item in items], np.int32)
    found: dict[str, list[int]] = {user: [] for user in users}
    for line in np.flatnonzero(user_of >= 0).tolist():
        line_ids = known[ids[starts[line] : starts[line + 1]]]
        found[users[user_of[line]]] += line_ids[line_ids >= 0].tolist()
    return found
