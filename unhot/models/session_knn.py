"""Recommend what similar sessions had: the sessions that share most with the last items of a history.

The formula is in `unhot/items/session_neighbours.py`. The model holds the sessions, but no names of users.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from unhot.errors import FormatError
from unhot.items.histories import Histories, newest
from unhot.items.item_rows import ItemRows
from unhot.items.session_neighbours import SessionSets, session_sets
from unhot.logs.log import Log
from unhot.logs.merging import first_places
from unhot.models.fitting import Tells
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import HistoryFields, Range
from unhot.types import Floats


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
