"""EGES: items are made of their own vector and those of their side values, weighted as the item needs it.

    H_v = sum_j exp(a_v^j) x_j / sum_j exp(a_v^j)    over the item's own row and the rows of its side values

Items that were hardly seen lean on their side values. The walks are those of item_graph.py; the step is in
side_feeders.py.

Items that were never seen have vectors, too: the mean of the rows of their side values, weighted by exp(b_j),
where b_j is how much higher a_v^j is than those of the other side values of an item v, in the mean over the
items that have value j (combine=mean: all weights are equal).

    combine=weighted    EGES: the weights a_v are learned
    combine=mean        GES: H_v is the plain mean of the rows
    combine=none        BGE: H_v is the item's own row

Reference: Wang et al., Billion-scale commodity embedding for e-commerce recommendation in Alibaba, 2018.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.graphs.walks import no_walks
from unhot.kernels.bags import NO_MIXING, Bags
from unhot.models.fasttext import NOTHING
from unhot.models.fitting import Begins, Tells
from unhot.models.item_graph import ItemGraph
from unhot.models.model import model
from unhot.models.ngram_rows import NgramRows, keyed_bags, shared_rows
from unhot.models.settings import Range
from unhot.models.side_feeders import MeanFeeder, WeightedFeeder
from unhot.models.wiring import Wiring
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import Vocabulary

# tensors whose names readers of vectors would take for those of items, and their names in a saved model
MOVED = {"side_rows": "in_vectors", "side_row_keys": "row_keys"}
BLOCK = 1 << 14  # items whose vectors are made at a time


@model("eges", family="recommend")
@dataclasses.dataclass(kw_only=True)
class EGES(ItemGraph):
    """Item vectors from walks and side values."""

    # how an item is made of its own row and those of its side values: weighted, with weights that are
    # learned for each item (EGES); the plain mean (GES); none: its own row alone (BGE)
    combine: Literal["weighted", "mean", "none"] = "weighted"
    # weighted: the learning rate of the weights, relative to lr; the higher, the more items lean on
    # themselves instead of on their side values
    weights_lr: Annotated[float, Range(0)] = 0.3
    answer: Literal["next", "alike"] = "alike"  # how items answer: as what comes next, or as what is alike
    directed: bool = False  # walks only go from an item to one that came later
    output: str | OutputLayer = "negative:k=5,power=0.25"  # output layer
    epochs: Annotated[int, Range(1, 1 << 30)] = 20  # number of passes over the log

    default_lr = 0.07
    starts = False
    has_bags = True
    shared = "side values"

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
        return NgramRows(rows.keys, rows.bags._replace(mixing=mixing))

    def _values(self, items: int) -> tuple[Any, Any]:
        """Return the side values of items: where each begins, and their ids."""
        if self.combine == "none":
            return np.zeros(items + 1, np.int64), np.zeros(0, np.int32)
        return self.kept.sides.starts, self.kept.sides.ids

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring: the rows of the centre predict the items around it."""
        bags, around = bags or NOTHING, 2 * self.window
        feeder: Any = functools.partial(MeanFeeder, bags=bags)
        if self.combine == "weighted":
            feeder = functools.partial(WeightedFeeder, bags=bags, rate=np.float32(self.weights_lr))
        listed = max(around, int(np.diff(bags.starts).max(initial=0)))
        return Wiring(feeder, None, targets=around, rounds=around, listed=listed, no_text=no_walks)

    def forget(self) -> None:
        """Drop what was made from older params."""
        super().forget()
        for name in ("_bags", "_weights", "_mixed", "_value_weights"):
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

    @functools.cached_property
    def _value_weights(self) -> Doubles:
        """How much the row of each side value counts in a new item, relative to others; by row."""
        bags, mixing = self._bags, self.learned.mixing.astype(np.float64)
        rows, sizes = len(self.learned.keys), np.diff(bags.starts)
        side = np.ones(bags.rows.size, bool)
        side[bags.starts[:-1]] = False  # the item's own row comes first
        if not mixing.size:
            return np.ones(rows)
        owner = np.repeat(np.arange(sizes.size), sizes)
        means = np.bincount(owner[side], mixing[side], sizes.size) / np.maximum(sizes - 1, 1)
        higher = np.bincount(bags.rows[side], (mixing - means[owner])[side], rows)
        return np.exp(higher / np.maximum(np.bincount(bags.rows[side], minlength=rows), 1))

    def new_item(self, values: Mapping[str, str | Sequence[str]]) -> Floats:
        """Return the vector of an item that the log does not have: the weighted mean of its side values."""
        if self.combine == "none":
            return super().new_item(values)
        keys, wanted = self.learned.keys, self.kept.sides.known(values)
        rows = np.flatnonzero(np.isin(keys, wanted))
        found: Floats = np.average(
            self.learned.params.in_vectors[rows], axis=0, weights=self._value_weights[rows]
        ).astype(np.float32)
        return found

    def explain(self, item: str) -> list[tuple[str, float]]:
        """Return what an item is made of, its own row and its side values, with their weights, largest first.

        The weights sum to one.
        """
        number, starts = self.item_id(item), self._bags.starts
        part = slice(int(starts[number]), int(starts[number + 1]))
        keys = self.learned.keys[self._bags.rows[part]].tolist()
        parts = [item if key < 0 else self.kept.sides.words[key] for key in keys]
        found = zip(parts, self._weights[part].tolist(), strict=True)
        return sorted(found, key=lambda each: -each[1])

    def input_row_count(self) -> int:
        """Return how many input rows a saved model must have."""
        return self.learned.keys.size

    def learned_tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return what was learned: the vectors H for all who read vectors, and the rows they are made of."""
        self.forget()  # H may be older than the rows
        found = super().learned_tensors(complete=complete)
        moved = {new: found.pop(old) for new, old in MOVED.items()}
        return {**found, **moved, "in_vectors": self._mixed}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model; raise a `FormatError` if its rows do not fit its items."""
        kinds = {"in_vectors": (np.float32, 2), "side_rows": (np.float32, 2), "side_row_keys": (np.int64, 1)}
        kinds |= {"mixing": (np.float32, 1)} if self.combine == "weighted" else {}
        for name, (kind, axes) in kinds.items():
            tensor = saved.tensors.get(name)
            if tensor is None or tensor.dtype != kind or tensor.ndim != axes:
                raise FormatError(f"an eges model: its tensor {name!r} is missing or has another type")
        moved = {old: saved.tensors[new] for new, old in MOVED.items()}
        super().take(saved._replace(tensors={**saved.tensors, **moved}))
        weighted, mixing = self.combine == "weighted", self.learned.mixing
        try:
            wanted = self._bags.rows.size if weighted else 0
        except (DataError, IndexError, ValueError) as error:
            raise FormatError(f"an eges model whose rows are not those of its items: {error}") from error
        if mixing.shape != (wanted,) or not np.isfinite(mixing).all():
            raise FormatError("an eges model whose weights are not those of its items: it is damaged")
