"""Recommend what others had together with the items of a history: nearest neighbours of items by cosine.

    cos_ij  = G_ij / (sqrt(n_i n_j) + shrinkage)    G_ij: lines with both items, n_i: lines with item i
    score_j = sum over the items i of the history of decay^age cos_ij

`itemknn` asks with all items of a history, `last-cosine` with the last five, of which the newest counts most.
An item is not a neighbour of itself.
"""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.given_ids import flat
from unhot.errors import DataError
from unhot.items.histories import Histories, ItemRows, newest, rows_of_cells
from unhot.logs.log import Log, merged_lines
from unhot.models.fitting import Tells
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import HistoryFields, Range
from unhot.sizes import free_space, readable
from unhot.types import Doubles, Floats

LONGEST = 10_000  # items of a line, at most: the widest window that cells are counted in
CELL = 24  # bytes of a cell while it is counted and weighed


def reference(x: Doubles, shrinkage: float) -> Doubles:
    """Compute the cosines of the columns of a matrix of zeros and ones [lines, items].

    >>> reference(np.array([[1.0, 1, 0], [1, 0, 0]]), shrinkage=0.0).round(3)
    array([[0.   , 0.707, 0.   ],
           [0.707, 0.   , 0.   ],
           [0.   , 0.   , 0.   ]])
    """
    together = x.T @ x
    alone = np.diag(together)
    below = np.sqrt(np.outer(alone, alone)) + shrinkage
    out = np.divide(together, below, out=np.zeros_like(together), where=together > 0)
    np.fill_diagonal(out, 0.0)
    return np.asarray(out)


def rows_from(self: Any, tensors: Mapping[str, Any], items: int) -> ItemRows:
    """Check the rows of a saved model."""
    return ItemRows.of_tensors(tensors, items)


def score_rows(self: Any, counted: ItemRows, histories: Histories) -> Floats:
    """Return the scores of all items for each history: the rows of its last items, added up."""
    return counted.scores(newest(histories, self.last, self.decay))


@model("last-cosine", family="recommend")
@dataclasses.dataclass(kw_only=True)
class LastCosine(HistoryFields, RecommenderModel):
    """Recommend neighbours of the last items of a history, by cosine."""

    # added below the fraction bar: how much rare pairs count less
    shrinkage: Annotated[float, Range(0)] = 5.0
    neighbours: Annotated[int, Range(0)] = 0  # keep only so many neighbours of each item; 0: all

    counted_from = rows_from
    score = score_rows

    def count(self, log: Log, tells: Tells) -> ItemRows:
        """Count the lines that have two items, and weigh them."""
        with together(log, self.threads, tells) as cells:
            alone = cells.vocabulary.counts.astype(np.float64)
            row = np.repeat(np.arange(alone.size), np.diff(cells.starts))
            cosines = cells.values / (np.sqrt(alone[row] * alone[cells.columns]) + self.shrinkage)
            return rows_of_cells(cells, cosines, self.neighbours)


@model("itemknn", family="recommend")
@dataclasses.dataclass(kw_only=True)
class ItemKNN(LastCosine):
    """Recommend neighbours of all items of a history, by cosine."""

    last: Annotated[int, Range(0)] = 0  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 1.0  # how much an item counts, relative to the next newer one
    # added below the fraction bar: how much rare pairs count less
    shrinkage: Annotated[float, Range(0)] = 0.0


def together(log: Log, threads: int, tells: Tells) -> Cells:
    """Count for all pairs of items how many lines have both; the counts of single items are of lines, too."""
    with merged_lines(log) as lines:
        sizes = np.diff(flat(lines)[1])
        longest = int(sizes.max())
        pairs = min(float((sizes.astype(np.float64) ** 2).sum()), float(len(lines.vocabulary)) ** 2)
        if longest > LONGEST:
            raise DataError(
                f"a line of the log has {longest:,} items, and neighbours are counted among at most "
                f"{LONGEST:,}: cut the log into sessions (gap), or choose another model"
            )
        if pairs * CELL > free_space(lines.directory):
            raise DataError(
                f"the neighbours of {len(lines.vocabulary):,} items may need {readable(pairs * CELL)} of "
                f"disk space, but {readable(free_space(lines.directory))} are free: cut the log into "
                "sessions (gap), or choose another model"
            )
        how = {"window": max(longest - 1, 1), "weights": "flat", "sides": "both"}
        return cooccurrences(lines, **how, threads=threads, progress=tells.counting)  # type: ignore[arg-type]
