"""Recommend what similar sessions had: the sessions that share most with the last items of a history.

    score of a session s = sum over the items that s shares with the history of decay^age / sqrt(|s|)
    score_j              = sum of the scores of the k best sessions that have item j

The newest place of an item in the history gives its age. |s| is the number of different items of s. The model
holds the sessions, but no names of users.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.errors import FormatError
from unhot.index.topk import push
from unhot.items.histories import Histories, ItemRows, WeightedItems, newest
from unhot.kernels.jit import inner, kernel
from unhot.logs.log import Log, first_places
from unhot.models.fitting import Tells
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import HistoryFields, Range
from unhot.types import Floats, Ids, Starts


class SessionSets(NamedTuple):
    """Sessions as sets of items, and for each item the sessions that have it."""

    starts: Starts  # [sessions + 1]
    items: Ids
    item_starts: Starts  # [items + 1]
    sessions: Ids

    def tensors(self) -> dict[str, Any]:
        """Return the sessions as they are saved; the other list follows from them."""
        return {"starts": self.starts, "columns": self.items}

    def facts(self) -> dict[str, Any]:
        """Return how many sessions there are."""
        return {"sessions": self.starts.size - 1}

    def scores(self, query: WeightedItems, k: int) -> Floats:
        """Return the scores of all items for each line of items, by its k best sessions."""
        out = np.zeros((query.starts.size - 1, self.item_starts.size - 1), np.float32)
        number = self.starts.size - 1
        room = NeighbourRoom(
            np.zeros(number, np.float32),
            np.empty(number, np.int32),
            np.empty((1, k), np.float32),
            np.empty((1, k), np.int64),
        )
        add_sessions(query.ids, query.starts, query.weights, self, room, out)
        return out


def session_sets(ids: Ids, starts: Starts, items: int) -> SessionSets:
    """Turn sessions, each item once, into both lists; the newest sessions of an item come last."""
    order = np.argsort(ids, kind="stable")
    of_session = np.repeat(np.arange(starts.size - 1, dtype=np.int32), np.diff(starts))
    item_starts = np.append(0, np.cumsum(np.bincount(ids, minlength=items)))
    return SessionSets(np.array(starts), np.array(ids), item_starts, of_session[order])


class NeighbourRoom(NamedTuple):
    """Buffers of a search: the sums of all sessions, zeros between two lines, and a heap of the best."""

    sums: Floats  # [sessions]
    touched: Ids  # [sessions] those whose sum is not zero
    scores: Floats  # [1, k]
    # [1, k] the sessions of the heap, as negative numbers: of equal scores the newest session stays
    sessions: Starts


@kernel
def add_sessions(ids: Any, starts: Any, weights: Any, sets: Any, room: Any, out: Any) -> None:
    """Add to each line of `out` the scores of the items of its best sessions."""
    for line in range(starts.size - 1):
        number = 0
        for at in range(starts[line], starts[line + 1]):
            # a weight of zero, by a decay of zero or a high age, would leave its sessions without a sum
            if weights[at] > 0 and not comes_again(ids, at, starts[line + 1]):
                number = add_weights(sets, ids[at], weights[at], room, number)
        keep_best(sets, room, number)
        for i in range(room.scores.shape[1]):
            session = -room.sessions[0, i]
            if session >= 0:
                for place in range(sets.starts[session], sets.starts[session + 1]):
                    out[line, sets.items[place]] += room.scores[0, i]


@inner
def comes_again(ids: Any, at: Any, end: Any) -> Any:
    """Return whether an item has a newer place in its history."""
    for later in range(at + 1, end):
        if ids[later] == ids[at]:
            return True
    return False


@inner
def add_weights(sets: Any, item: Any, weight: Any, room: Any, number: Any) -> Any:
    """Add the weight of an item to all sessions that have it; return how many sessions have a sum."""
    for place in range(sets.item_starts[item], sets.item_starts[item + 1]):
        session = sets.sessions[place]
        if room.sums[session] == 0:
            room.touched[number] = session
            number += 1
        room.sums[session] += weight
    return number


@inner
def keep_best(sets: Any, room: Any, number: Any) -> None:
    """Keep the sessions with the highest scores in the heap, and clear all sums."""
    k = room.scores.shape[1]
    for i in range(k):
        room.scores[0, i], room.sessions[0, i] = -np.inf, 1
    for i in range(number):
        session = room.touched[i]
        size = sets.starts[session + 1] - sets.starts[session]
        score = np.float32(room.sums[session] / np.sqrt(np.float64(size)))
        room.sums[session] = 0
        worst = room.scores[0, 0]
        if score > worst or (score == worst and -session < room.sessions[0, 0]):
            push(room.scores, room.sessions, 0, k, score, -session)


@model("session-knn", family="recommend")
@dataclasses.dataclass(kw_only=True)
class SessionKNN(HistoryFields, RecommenderModel):
    """Recommend what the sessions had that share most with a history."""

    last: Annotated[int, Range(0)] = 20  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 0.6  # how much an item counts, relative to the next newer one
    neighbours: Annotated[int, Range(1, 100_000)] = 500  # sessions that count

    def count(self, log: Log, tells: Tells) -> SessionSets:
        """List the sessions as sets."""
        ids, starts = log.ids_of_lines, log.starts
        kept = first_places(ids, starts)
        return session_sets(ids[kept], np.searchsorted(kept, starts), len(log.items))

    def counted_from(self, tensors: Mapping[str, Any], items: int) -> SessionSets:
        """Check the sessions of a saved model."""
        starts, ids = tensors.get("starts"), tensors.get("columns")
        if starts is None or ids is None or starts.ndim != 1 or starts.size < 2:
            raise FormatError("a session-knn model without its sessions: it is damaged")
        values = np.zeros(ids.size, np.float32)
        rows = ItemRows.of_tensors(
            {"starts": starts, "columns": ids, "values": values}, starts.size - 1, items
        )
        return session_sets(rows.columns, rows.starts, items)

    def score(self, counted: SessionSets, histories: Histories) -> Floats:
        """Return the scores of all items for each history."""
        return counted.scores(newest(histories, self.last, self.decay), self.neighbours)
