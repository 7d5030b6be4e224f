"""Recommend what follows: how often an item came soon after another one.

    c_ij    = sum of 1 / gap over all places where item j comes `gap` events after item i, gap <= window
    m_ij    = c_ij + backward c_ji, then each row is divided by its sum
    score_j = sum over the last items i of the history of decay^age m_ij

The counts are co-occurrence cells with `sides="right"`, so millions of events take seconds.
"""

import dataclasses
from typing import Annotated

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.items.histories import ItemRows, rows_of_cells
from unhot.logs.log import Log
from unhot.models.fitting import Tells
from unhot.models.item_cosine import rows_from, score_rows
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import HistoryFields, Range
from unhot.types import Doubles


def reference(lines: list[list[int]], items: int, window: int, backward: float) -> Doubles:
    """Compute the matrix m in plain Python.

    >>> reference([[0, 1, 2]], 3, window=2, backward=0.0).round(3)
    array([[0.   , 0.667, 0.333],
           [0.   , 0.   , 1.   ],
           [0.   , 0.   , 0.   ]])
    """
    counts = np.zeros((items, items))
    for line in lines:
        for at, item in enumerate(line):
            for gap, other in enumerate(line[at + 1 : at + 1 + window], 1):
                counts[item, other] += 1 / gap
    counts = counts + backward * counts.T
    sums = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0))


@model("skip-markov", family="recommend")
@dataclasses.dataclass(kw_only=True)
class SkipMarkov(HistoryFields, RecommenderModel):
    """Recommend what came soon after the last items of a history."""

    window: Annotated[int, Range(1, 1000)] = 5  # count items that come so many events later, at most
    backward: Annotated[float, Range(0)] = 0.0  # how much an item that came before counts
    neighbours: Annotated[int, Range(0)] = 0  # keep only so many followers of each item; 0: all

    counted_from = rows_from
    score = score_rows

    def count(self, log: Log, tells: Tells) -> ItemRows:
        """Count what follows each item."""
        how = {"window": self.window, "weights": "distance", "sides": "right"}
        with cooccurrences(log, **how, threads=self.threads, progress=tells.counting) as cells:  # type: ignore[arg-type]
            if self.backward:
                cells = _both_ways(cells, self.backward)
            sums = np.maximum(cells.row_sums(), 1e-300)
            return rows_of_cells(
                cells, cells.values / np.repeat(sums, np.diff(cells.starts)), self.neighbours
            )


def _both_ways(cells: Cells, backward: float) -> Cells:
    """Return c + backward c'."""
    items = len(cells.vocabulary)
    row = np.repeat(np.arange(items), np.diff(cells.starts))
    keys = np.concatenate([row * items + cells.columns, cells.columns.astype(np.int64) * items + row])
    values = np.concatenate([cells.values, backward * cells.values])
    different, places = np.unique(keys, return_inverse=True)
    sums = np.bincount(places, values)
    starts = np.searchsorted(different, np.arange(items + 1) * items)
    return Cells.from_arrays(cells.vocabulary, starts, (different % items).astype(np.int32), sums)
