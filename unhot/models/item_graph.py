"""Item vectors from walks on the graph of sessions: what followed what, how often (BGE of the EGES paper).

    X[i, j] = how often item j came next after item i in a line of the log

A walk strings together what different users did, so items come near each other that no user had together.

Reference: Wang et al., Billion-scale commodity embedding for e-commerce recommendation in Alibaba, 2018.
"""

import dataclasses
from typing import Annotated, Any

from unhot.corpus.cells import Cells
from unhot.graphs.reading import read_graph
from unhot.models.fitting import Tells
from unhot.models.item_vectors import ItemVectors
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.walk_model import WalkModel


@model("graph", family="recommend")
@dataclasses.dataclass(kw_only=True)
class ItemGraph(ItemVectors, WalkModel):
    """Item vectors from walks on the graph of sessions."""

    window: Annotated[int, Range(1, 10_000)] = 5  # items on each side of the centre item
    walks: Annotated[int, Range(1, 1 << 20)] = 4  # walks from each item in an epoch; each epoch has new ones
    length: Annotated[int, Range(2, 1 << 20)] = 10  # items of a walk
    directed: bool = True  # walks only go from an item to one that came later

    default_lr = 0.05
    unit = "steps"

    def graph(self, data: Any, tells: Tells) -> Cells:
        """Return the graph of a log."""
        return read_graph(data, directed=self.directed)
