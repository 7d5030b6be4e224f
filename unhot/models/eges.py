"""EGES: items are made of their own vector and those of their side values, weighted as the item needs it.

    H_v = sum_j exp(a_v^j) x_j / sum_j exp(a_v^j)    over the item's own row and the rows of its side values

Items that were hardly seen lean on their side values, and items that were never seen have vectors, too. The
walks are those of item_graph.py; the step is in side_feeders.py.

    combine=weighted    EGES: the weights a_v are learned
    combine=mean        GES: H_v is the plain mean of the rows
    combine=none        BGE: H_v is the item's own row

Reference: Wang et al., Billion-scale commodity embedding for e-commerce recommendation in Alibaba, 2018.
"""

import dataclasses
import functools
from typing import Any, Literal

import numpy as np

from unhot.errors import ConfigError, DataError
from unhot.graphs.walks import no_walks
from unhot.kernels.bags import NO_MIXING, Bags
from unhot.models.fasttext import NOTHING
from unhot.models.fitting import Begins, Tells
from unhot.models.item_graph import ItemGraph
from unhot.models.model import model
from unhot.models.ngram_rows import NgramRows, keyed_bags, shared_rows
from unhot.models.side_feeders import MeanFeeder, WeightedFeeder
from unhot.models.wiring import Wiring
from unhot.train.epoch_run import EpochRun
from unhot.types import Counts, Floats
from unhot.vocab.vocabulary import Vocabulary

BLOCK = 1 << 14  # items whose vectors are made at a time


@model("eges")
@dataclasses.dataclass(kw_only=True)
class EGES(ItemGraph):
    """Item vectors from walks and side values."""

    # how an item is made of its own row and those of its side values: weighted, with weights that are
    # learned for each item (EGES); the plain mean (GES); none: its own row alone (BGE)
    combine: Literal["weighted", "mean", "none"] = "weighted"

    starts = False
    has_bags = True

    @property
    def predicts(self) -> str:
        """What is predicted: the items around the centre."""
        return "contexts"

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the settings contradict each other."""
        super().check_engine()
        if self.layer.biases().each_input:
            raise ConfigError(
                f"output={self.layer.spec()}: {self.name} has no bias for each input; use another layer"
            )

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run; a training that is resumed goes on with its weights."""
        if self.combine != "none" and not self.kept.sides.words:
            raise DataError(
                f"{self.name}: the log has no side values: name columns (side=, or --side), maybe of a file "
                "(items=, or --items), or set combine=none"
            )
        self._old = self.learned.mixing if begins.resumed else NO_MIXING
        return super().begin(data, begins, tells)

    def input_rows(self, vocabulary: Vocabulary, also: Counts) -> NgramRows:
        """Return the rows of items and side values, those that training touches most often first."""
        starts, ids = self._values(len(vocabulary))
        use = vocabulary.counts.astype(np.float64)
        rows = shared_rows(starts, ids, max(1, len(self.kept.sides.words)), len(vocabulary), use)
        mixing = np.zeros(rows.bags.rows.size if self.combine == "weighted" else 0, np.float32)
        mixing[: self._old.size] = self._old
        return NgramRows(rows.keys, rows.bags._replace(mixing=mixing), "side values")

    def _values(self, items: int) -> tuple[Any, Any]:
        """Return the side values of items: where each begins, and their ids."""
        if self.combine == "none":
            return np.zeros(items + 1, np.int64), np.zeros(0, np.int32)
        return self.kept.sides.starts, self.kept.sides.ids

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring: the rows of the centre predict the items around it."""
        bags, around = bags or NOTHING, 2 * self.window
        feeder = functools.partial(WeightedFeeder if self.combine == "weighted" else MeanFeeder, bags=bags)
        listed = max(around, int(np.diff(bags.starts).max(initial=0)))
        return Wiring(feeder, None, targets=around, rounds=around, listed=listed, no_text=no_walks)

    def forget(self) -> None:
        """Drop what was made from older params."""
        super().forget()
        for name in ("_bags", "_weights", "_mixed"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def _bags(self) -> Bags:
        """The rows of each item."""
        items = len(self.catalogue)
        return keyed_bags(self.learned.keys, *self._values(items), items)

    @functools.cached_property
    def _weights(self) -> Floats:
        """The weights of all rows of all items; those of an item sum to one."""
        starts, mixing = self._bags.starts, self.learned.mixing
        sizes = np.diff(starts)
        if not mixing.size:
            return np.repeat(1.0 / sizes, sizes).astype(np.float32)
        powers = np.exp(mixing - np.repeat(np.maximum.reduceat(mixing, starts[:-1]), sizes))
        weights: Floats = powers / np.repeat(np.add.reduceat(powers, starts[:-1]), sizes)
        return weights

    @functools.cached_property
    def _mixed(self) -> Floats:
        """The vectors H of all items."""
        rows, starts = self.learned.params.in_vectors, self._bags.starts
        parts = [np.zeros((0, self.dim), np.float32)]
        for first in range(0, starts.size - 1, BLOCK):
            places = starts[first : first + BLOCK + 1]
            part = slice(places[0], places[-1])
            weighted = self._weights[part, None] * rows[self._bags.rows[part]]
            parts.append(np.add.reduceat(weighted, places[:-1] - places[0]))
        return np.concatenate(parts)

    @property
    def item_inputs(self) -> Floats:
        """The vector H of each item."""
        return self._mixed
