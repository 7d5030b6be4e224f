"""What every recommender answers: which items suit a user or a history, and which are similar to an item."""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, a_text, whole
from unhot.index.best import ExcludedRows, best
from unhot.items.histories import Histories, events_at, events_of_users, histories_of
from unhot.items.kept_log import LogRecord
from unhot.logs.features import NO_TIMES, EventColumns, given_feature
from unhot.logs.log import Log
from unhot.rows.batches import VALUE
from unhot.rows.numbers import seconds_of
from unhot.rows.values import value_column
from unhot.threads import parts_of
from unhot.types import Counts, Floats, Ids, Starts
from unhot.vocab.vocabulary import UnknownWord, Vocabulary

BLOCK_SCORES = 1 << 24  # scores that are held at a time
ITEM, TIME = "item", "time"  # of an event that is a dict; its other values are features
Filter = Callable[[str], bool] | Collection[str]
Flags = NDArray[np.bool_]


class UserHistories(NamedTuple):
    """The events of users."""

    lines: Histories
    line_of: Mapping[str, int]  # by the name of the user


def columns_of(events: Sequence[Mapping[str, Any]]) -> EventColumns:
    """Return the times and the features of events that are dicts."""
    names = dict.fromkeys(name for event in events for name in event if name != ITEM)
    cells = {name: value_column(name, [event.get(name) for event in events], VALUE, {}) for name in names}
    times = seconds_of(cells.pop(TIME)) if TIME in cells else NO_TIMES
    return EventColumns(times, {name: given_feature(each) for name, each in cells.items()})


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
    def histories(self) -> UserHistories:
        """The events of all users whom the model holds."""
        log = self.record.kept.log
        if log is None:
            raise DataError(
                "this model holds no users: give a history, or the log (--log), or train with with_users "
                "(--with-users)"
            )
        return self._by_user(log.columns, log.ids, log.starts, log.user_of, log.user_words, log.item_words)

    def learn_users(self, log: Log) -> None:
        """Take the histories of users from a log, to answer for them."""
        words = log.users.words, log.items.words
        self.histories = self._by_user(log.columns, log.ids_of_lines, log.starts, log.user_of, *words)

    def _by_user(
        self,
        columns: EventColumns,
        ids: Ids,
        starts: Starts,
        user_of: Ids,
        users: Sequence[str],
        items: Sequence[str],
    ) -> UserHistories:
        known = np.array([self.catalogue.index.get(item, -1) for item in items], np.int32)[ids]
        lines = events_of_users(columns, known, starts, user_of, len(users))
        return UserHistories(lines, {user: number for number, user in enumerate(users)})

    @property
    def user_count(self) -> int:
        """How many users the model knows."""
        return len(self.histories.line_of)

    def user_row(self, user: str) -> int:
        """Return the row of a user who has a vector of their own; -1 if there is none."""
        return -1

    def of_users(self, users: Sequence[str]) -> tuple[Histories, Flags]:
        """Return the events of users, a line for each, and whom the model knows."""
        lines = np.array([self.histories.line_of.get(user, -1) for user in users], np.int32)
        return self.histories.lines.take(lines), lines >= 0

    def of_lists(self, lists: Sequence[Sequence[Any]]) -> tuple[Histories, Flags]:
        """Return histories, a line for each, and those of which the model knows an item, or which are empty.

        An event is an item, or a dict with an `item`, maybe a `time` and the features of the event.
        """
        lines: list[list[Any]] = [
            [*each] if isinstance(each, Iterable) and not isinstance(each, (str, bytes, Mapping)) else [each]
            for each in lists
        ]
        events = [event if isinstance(event, Mapping) else {ITEM: event} for line in lines for event in line]
        wrong = next((event for event in events if not isinstance(event.get(ITEM), str)), None)
        if wrong is not None:
            raise ConfigError(
                f"a history has {wrong.get(ITEM, wrong)!r:.80}: give a list of items as strings, or of dicts "
                "with an item and its columns, oldest first; or a user as a string"
            )
        known = np.array([self.catalogue.index.get(event[ITEM], -1) for event in events], np.int32)
        sizes = np.array([*map(len, lines)], np.int64)
        nobody, places = np.full(sizes.size, -1, np.int32), np.arange(known.size)
        found = events_at(columns_of(events), known, places, sizes, nobody)
        return found, (np.diff(found.starts) > 0) | (sizes == 0)

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
        k, asked = min(whole("k", k, 1), len(self.catalogue)), list[Any](whom)
        leave_out = self.leaves_out_seen if exclude_seen is None else exclude_seen
        allowed, size = self._allowed(filter), max(1, BLOCK_SCORES // len(self.catalogue))
        answers: list[list[Recommendation]] = [[] for _ in asked]
        users = np.array([isinstance(who, str) for who in asked], np.bool_)
        for places, look_up in (
            (np.flatnonzero(users), self.of_users),
            (np.flatnonzero(~users), self.of_lists),
        ):
            if not places.size:
                continue
            lines, known = look_up([asked[place] for place in places])
            for part in parts_of(len(lines), size):
                histories = lines.take(np.arange(part.start, part.stop))
                exclude = (
                    ExcludedRows(histories.ids.astype(np.int64), histories.starts) if leave_out else None
                )
                found = zip(*self.best_items(histories, k, exclude, allowed), strict=True)
                for line, answer in enumerate(found, part.start):
                    answers[places[line]] = self._named(*answer) if known[line] else []
        return answers

    def history_of(self, who: str | Sequence[Any]) -> Histories:
        """Return the events of a user or of a history as one line.

        Raise an `UnknownWord` if the model does not know the user, or no item of the history.
        """
        lines, known = self.of_users([who]) if isinstance(who, str) else self.of_lists([who])
        if not known[0] and isinstance(who, str):
            raise UnknownWord(f"{who!r} is not among the {self.user_count:,} users of the model")
        if not known[0]:
            given = [who] if isinstance(who, Mapping) else [*who]
            raise UnknownWord(
                f"none of the {len(given)} items of the history ({given[0]!r:.40}, ...) is among the "
                f"{len(self.catalogue):,} items of the model: check how items are written"
            )
        return lines

    def knows(self, who: str | Sequence[Any]) -> bool:
        """Return whether the model knows a user, or an item of a history that has some."""
        return bool((self.of_users([who]) if isinstance(who, str) else self.of_lists([who]))[1][0])

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
