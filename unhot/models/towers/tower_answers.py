"""What a tower has learned, and what it answers: user vectors, and the items with the highest products."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from unhot.index.best import ExcludedRows, best
from unhot.index.lengths import units
from unhot.items.feature_rows import FeatureRows, feature_tensors, look_up_all
from unhot.items.histories import Histories, WeightedItems, newest
from unhot.items.kept_log import LogRecord
from unhot.kernels.loop import Params
from unhot.logs.features import EventColumns
from unhot.models.item_vectors import ItemAnswers
from unhot.outputs import OutputLayer
from unhot.threads import parts_of
from unhot.train.histories import EventLog, gaps_of
from unhot.types import Counts, Floats, Ids, Starts
from unhot.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from unhot.nn.tower_net import TowerNet

NET = "net."
# tensors that have other names in a saved model: those of all models with vectors
MATRICES = {f"{NET}events.items.weight": "in_vectors", f"{NET}head.weight": "out_vectors"}
BATCH = 512  # histories of similar lengths whose vectors are computed at a time
LAST, DECAY = 5, 0.8  # items that new items are compared with, and how much one counts relative to the next
NONE = np.zeros(0, np.float32)


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedTower:
    """A trained net, and what is known of the log."""

    layer: OutputLayer
    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    net: "TowerNet"
    record: LogRecord
    features: Sequence[FeatureRows]  # of events
    epochs_found: int | None = None  # on validation, before the model learned from all but the test
    rest: Mapping[str, Any] = field(default_factory=dict)  # the tensors that resuming needs, too

    def as_it_is(self) -> Self:
        """Return another value of the same net, for which `params` are computed again."""
        return replace(self)

    @functools.cached_property
    def params(self) -> Params:
        """The vectors of items, and the output vectors as they are compared with user vectors."""
        inputs = self.net.events.items.weight.detach()
        found = [NONE if one is None else one.cpu().numpy() for one in (inputs, *self.net.head.effective())]
        return Params(found[0], found[1], found[2], NONE, found[3])

    @property
    def seen(self) -> Counts:
        """How often learned noise has seen each item; empty: the noise is not learned."""
        counts: Counts = self.net.head.seen.cpu().numpy()
        return counts

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the parameters, what is kept of the log, and for an incomplete training the rest."""
        found = {f"{NET}{name}": tensor for name, tensor in self.net.own_state().items()}
        found = {MATRICES.get(name, name): tensor for name, tensor in found.items()}
        found |= {} if complete else self.rest
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in found.items()}
        return {**arrays, **self.record.tensors(), **feature_tensors(self.features)}

    def facts(self) -> dict[str, Any]:
        """Return what the saved config holds in addition to the settings."""
        rows = {"out_rows_are_words": self.layer.rows_are_words, "tied": self.net.head.tied}
        return {**self.record.saved_facts(), **rows, "epochs_found": self.epochs_found}


class TowerAnswers(ItemAnswers):
    """Answers by user vectors of a tower; of several interests of a user the best counts for each item."""

    learned: Any

    def newest(self, histories: Histories) -> WeightedItems:
        """Return the last items of each history, which new items are compared with."""
        return newest(histories, LAST, DECAY)

    def user_vectors(self, histories: Histories) -> Floats:
        """Return the vectors of users: [histories, dim], or [histories, interests, dim]."""
        users = self.users(histories)
        return users if users.shape[1] > 1 else users[:, 0]

    def users(self, histories: Histories) -> Floats:
        """Return the vectors of users: [histories, interests, dim]."""
        length, starts = self.settings.length, histories.starts
        events = event_log(histories.ids, starts, histories.columns, self.learned.features)
        sizes = np.minimum(np.diff(starts), length)
        order = np.argsort(sizes, kind="stable")
        found = [np.zeros((0, 1, self.settings.dim), np.float32)] * (not order.size)
        for part in parts_of(order.size, BATCH):
            some = order[part.start : part.stop]
            found.append(
                self.learned.net.users_of(events.padded(starts[1:][some] - sizes[some], sizes[some]))
            )
        users = np.concatenate(found)[np.argsort(order)]
        if not self.learned.layer.by_cosine():
            return users
        return units(users.reshape(-1, users.shape[2]), dtype=np.float32).reshape(users.shape)

    def score(self, histories: Histories) -> Floats:
        """Return the scores of all items; log-probabilities if the layer has no row for each item."""
        users = self.users(histories)
        flat = users.reshape(-1, users.shape[2])
        scores = self.search.scores(flat) if self.by_rows else self.learned.net.log_prob_of(flat)
        best_of: Floats = scores.reshape(*users.shape[:2], scores.shape[1]).max(axis=1)
        return best_of

    def best_items(
        self, histories: Histories, k: int, exclude: ExcludedRows | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Counts, Floats]:
        """Return the k best items for each history, and their scores."""
        if not self.by_rows:
            return best(self.score(histories), k, exclude, allowed)
        users = self.users(histories)
        number, interests, dim = users.shape
        barred = None if exclude is None else exclude.take(np.repeat(np.arange(number), interests))
        ids, scores = self.search.search(users.reshape(-1, dim), k, exclude=barred, allowed=allowed)
        return merged(ids.reshape(number, -1), scores.reshape(number, -1), k)


def merged(ids: Counts, scores: Floats, k: int) -> tuple[Counts, Floats]:
    """Return the k best of each line of items, of which each counts once, by its best score; -1: none.

    >>> merged(np.array([[4, 2, 2, 7]]), np.array([[3, 1, 5, 4]], np.float32), 2)[0].tolist()
    [[2, 7]]
    """
    order = np.lexsort((-scores, ids), axis=1)
    ids, scores = np.take_along_axis(ids, order, 1), np.take_along_axis(scores, order, 1)
    again = np.diff(ids, axis=1, prepend=-2) == 0
    places, found = best(np.where(again | (ids < 0), -np.inf, scores), k)
    return np.where(places < 0, -1, np.take_along_axis(ids, places, 1)), found


def event_log(ids: Ids, starts: Starts, columns: EventColumns, features: Sequence[FeatureRows]) -> EventLog:
    """Return events as towers read them."""
    rows, weights = look_up_all(features, columns.features, ids.size) or (None, None)
    return EventLog(ids, starts, gaps_of(columns.times, starts), rows, weights)
