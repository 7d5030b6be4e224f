"""EGES: items are made of their own vector and those of their side values, weighted as the item needs it.

    H_v = sum_j exp(a_v^j) x_j / sum_j exp(a_v^j)    over the item's own row and the rows of its side values

Items that were hardly seen lean on their side values. The walks are those of item_graph.py; the step is in
bag_feeders.py.

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
from unhot.graphs.reading import read_graph
from unhot.graphs.walks import no_walks
from unhot.items.kept_log import SideValues
from unhot.kernels.bags import NO_MIXING, Bags
from unhot.kernels.windows import Window
from unhot.models.bag_feeders import MeanFeeder, WeightedFeeder
from unhot.models.engine import Wiring, near_words
from unhot.models.fasttext import NOTHING
from unhot.models.fitting import Begins, InEpochs, Tells
from unhot.models.graph_vectors import check_walks, walks_on
from unhot.models.item_vectors import (
    ItemAnswers,
    LearnedItems,
    item_training,
    items_from,
    predict_item,
    prepare_items,
)
from unhot.models.log_data import LogData
from unhot.models.model import model
from unhot.models.ngram_rows import NgramRows, keyed_bags, shared_rows
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import ItemWalkFields, Range
from unhot.models.windows import (
    check_windows,
    warm_up_windows,
)
from unhot.outputs import OutputLayer, parse_output
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.formats.directory import SavedModel, typed_arrays
from unhot.vocab.vocabulary import Vocabulary

LR = 0.07  # the default learning rate
# tensors whose names readers of vectors would take for those of items, and their names in a saved model
MOVED = {"side_rows": "in_vectors", "side_row_keys": "row_keys"}
BLOCK = 1 << 14  # items whose vectors are made at a time


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LearnedSides(LearnedItems):
    """The rows of items and side values, of which the vectors of items are made."""

    combine: str  # see `EGES`

    @functools.cached_property
    def bags(self) -> Bags:
        """The rows of each item."""
        items = len(self.out_vocabulary)
        return keyed_bags(self.keys, *side_ids(self.record.kept.sides, items, self.combine), items)

    def shares(self) -> Floats:
        """Return the weights of all rows of all items; those of an item sum to one."""
        starts, sizes = self.bags.starts, np.diff(self.bags.starts)
        if not self.mixing.size:
            return np.repeat(1.0 / sizes, sizes).astype(np.float32)
        powers = np.exp(self.mixing - np.repeat(np.maximum.reduceat(self.mixing, starts[:-1]), sizes))
        return np.asarray(powers / np.repeat(np.add.reduceat(powers, starts[:-1]), sizes))

    def mixed(self, shares: Floats) -> Floats:
        """Return the vectors H of all items, given the weights of their rows."""
        rows, starts = self.params.in_vectors, self.bags.starts
        parts = [np.zeros((0, rows.shape[1]), np.float32)]
        for first in range(0, starts.size - 1, BLOCK):
            places = starts[first : first + BLOCK + 1]
            part = slice(places[0], places[-1])
            weighted = shares[part, None] * rows[self.bags.rows[part]]
            parts.append(np.add.reduceat(weighted, places[:-1] - places[0]))
        return np.concatenate(parts)

    def tensors(self, *, complete: bool = True) -> dict[str, Any]:
        """Return the vectors H for all who read vectors, and the rows they are made of."""
        found = super().tensors(complete=complete)
        moved = {new: found.pop(old) for new, old in MOVED.items()}
        return {**found, **moved, "in_vectors": self.mixed(self.shares())}


@model("eges", family="recommend")
@dataclasses.dataclass(kw_only=True)
class EGES(ItemWalkFields, RecommenderModel):
    """Item vectors from walks and side values."""

    directed: bool = False  # walks only go from an item to one that came later
    # how an item is made of its own row and those of its side values: weighted, with weights that are
    # learned for each item (EGES); the plain mean (GES); none: its own row alone (BGE)
    combine: Literal["weighted", "mean", "none"] = "weighted"
    # weighted: the learning rate of the weights, relative to lr; the higher, the more items lean on
    # themselves instead of on their side values
    weights_lr: Annotated[float, Range(0)] = 0.3
    answer: Literal["next", "alike"] = "alike"  # how items answer: as what comes next, or as what is alike
    output: str | OutputLayer = "negative:k=5,power=0.25"  # output layer
    epochs: Annotated[int, Range(1, 1 << 30)] = 20  # number of passes over the log

    unit = "steps"

    predict_word = predict_item
    prepare = prepare_items
    warm_up = warm_up_windows

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        super().check()
        self.layer = parse_output(self.output)
        check_walks(self)
        check_windows(self)
        if self.layer.biases().each_input:
            raise ConfigError(
                f"output={self.layer.spec()}: {self.name} has no bias for each input; use another layer"
            )

    def wiring(self, bags: Bags = NOTHING) -> Wiring:
        """Return what predicts what: the rows of the centre the items around it."""
        feeder: Any = functools.partial(MeanFeeder, bags=bags)
        if self.combine == "weighted":
            feeder = functools.partial(WeightedFeeder, bags=bags, rate=np.float32(self.weights_lr))
        window, around = Window(self.window, self.shrink), 2 * self.window
        listed = max(around, int(np.diff(bags.starts).max(initial=0)))
        most: dict[str, Any] = {"targets": around, "rounds": around, "listed": listed}
        return Wiring(feeder, None, window, **most, no_text=no_walks)

    def training(self, data: LogData, begins: Begins, tells: Tells) -> InEpochs[LearnedItems]:
        """Return a training on walks; a training that is resumed goes on with its weights."""
        if self.combine != "none" and not data.record.kept.sides.words:
            raise DataError(
                f"{self.name}: the log has no side values: name columns (side=, or --side), maybe of a file "
                "(items=, or --items), or set combine=none"
            )
        walks = walks_on(self, read_graph(data.text, directed=self.directed), tells)
        rows = self.rows_of(
            walks.vocabulary, data.record.kept.sides, getattr(begins.learned, "mixing", NO_MIXING)
        )
        windows = near_words(walks, rows=rows, shared="side values")
        more: dict[str, Any] = {"usual_lr": LR, "kind": functools.partial(LearnedSides, combine=self.combine)}
        return item_training(self, self.wiring(rows.bags), data, windows, begins, tells, **more)

    def rows_of(self, words: Vocabulary, sides: SideValues, old: Floats) -> NgramRows:
        """Return the rows of items and side values, those that training touches most often first."""
        starts, ids = side_ids(sides, len(words), self.combine)
        use = words.counts.astype(np.float64)
        rows = shared_rows(starts, ids, max(1, len(sides.words)), len(words), use)
        mixing = np.zeros(rows.bags.rows.size if self.combine == "weighted" else 0, np.float32)
        mixing[: old.size] = old
        return NgramRows(rows.keys, rows.bags._replace(mixing=mixing))

    def make_answers(self, learned: Any) -> "SideAnswers":
        """Return what answers by the vectors of items."""
        return SideAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))

    def explain(self, item: str) -> list[tuple[str, float]]:
        """Return what an item is made of, its own row and its side values, with their weights, largest first.

        The weights sum to one.
        """
        assert isinstance(self.answers, SideAnswers)
        return self.answers.explain(item)

    def restore(self, saved: SavedModel) -> LearnedSides:
        """Return what a saved model had learned; raise a `FormatError` if its rows do not fit its items."""
        kinds = {"in_vectors": (np.float32, 2), "side_rows": (np.float32, 2), "side_row_keys": (np.int64, 1)}
        kinds |= {"mixing": (np.float32, 1)} if self.combine == "weighted" else {}
        typed_arrays(saved.tensors, kinds, "an eges model: a tensor is missing or has another type")
        moved = {old: saved.tensors[new] for new, old in MOVED.items()}
        saved = saved._replace(tensors={**saved.tensors, **moved})
        known = items_from(saved, self.layer, self.dim, saved.tensors["row_keys"].size)
        learned = LearnedSides(**vars(known), combine=self.combine)
        try:
            wanted = learned.bags.rows.size if self.combine == "weighted" else 0
        except (DataError, IndexError, ValueError) as error:
            raise FormatError(f"an eges model whose rows are not those of its items: {error}") from error
        if learned.mixing.shape != (wanted,) or not np.isfinite(learned.mixing).all():
            raise FormatError("an eges model whose weights are not those of its items: it is damaged")
        return learned


def side_ids(sides: SideValues, items: int, combine: str) -> tuple[Any, Any]:
    """Return the side values of items: where each begins, and their ids; none if they are not combined."""
    if combine == "none":
        return np.zeros(items + 1, np.int64), np.zeros(0, np.int32)
    return sides.starts, sides.ids


class SideAnswers(ItemAnswers):
    """Answers by vectors of items that are made of several rows."""

    learned: LearnedSides

    @functools.cached_property
    def shares(self) -> Floats:
        """The weights of all rows of all items."""
        return self.learned.shares()

    @functools.cached_property
    def item_inputs(self) -> Floats:
        """The vector H of each item."""
        return self.learned.mixed(self.shares)

    @functools.cached_property
    def value_weights(self) -> Doubles:
        """How much the row of each side value counts in a new item, relative to others; by row."""
        bags, mixing = self.learned.bags, self.learned.mixing.astype(np.float64)
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
        if self.learned.combine == "none":
            return super().new_item(values)
        keys: Counts = self.learned.keys
        rows = np.flatnonzero(np.isin(keys, self.record.kept.sides.known(values)))
        own, weights = self.learned.params.in_vectors[rows], self.value_weights[rows]
        return np.asarray(np.average(own, axis=0, weights=weights), np.float32)

    def explain(self, item: str) -> list[tuple[str, float]]:
        """Return what an item is made of, with the weights, largest first."""
        number, bags = self.item_id(item), self.learned.bags
        part = slice(int(bags.starts[number]), int(bags.starts[number + 1]))
        words = self.record.kept.sides.words
        parts = [item if key < 0 else words[key] for key in self.learned.keys[bags.rows[part]].tolist()]
        found = zip(parts, self.shares[part].tolist(), strict=True)
        return sorted(found, key=lambda each: -each[1])
