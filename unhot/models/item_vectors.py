"""Recommenders that have vectors of items: a history asks with its last items.

    h       = sum of decay^age x_i / sum of decay^age    over the last items i of the history
    score_j = h . o_j + b_j                              answer=next
    score_j = h . x_j, with all x of length 1            answer=alike

Input against output is what was trained: o_j . x_i is high if j came near i. Two input vectors are near each
other if their items came near the *same* items, which says that one can replace the other, not that it comes
next. So `recommend` usually uses the first, `similar` the second. Rare items have poor output vectors, and
popular ones high scores; with answer=alike rare items have a chance, but the others are found less often.

Items that the log does not have come in by their side values (`new_item`).

With a split, validation is asked after each epoch. The best epoch is kept, and the training stops when no
better one comes.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, FormatError, whole
from unhot.index.best import ExcludedRows
from unhot.index.hnsw import HnswSettings
from unhot.index.inner import InnerProduct
from unhot.index.lengths import units
from unhot.items.histories import Histories, histories_of, newest
from unhot.items.ranking import mean_ndcg
from unhot.items.recommender import Recommendation
from unhot.largest import largest
from unhot.logs.splitting import Cases, Split
from unhot.models.fitting import Begins, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.log_model import LogModel
from unhot.models.settings import Range
from unhot.models.text_model import compile_kernels
from unhot.models.window_model import WindowModel
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.validation import Validation
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors

BEST = "best."  # prefix of the names of tensors that only an incomplete training with validation has
KIN = 3  # items whose mean a new item is
CASES = 2_000  # questions that are asked after each epoch


@dataclasses.dataclass(kw_only=True)
class ItemVectors(LogModel[LearnedWords], WindowModel):
    """Settings of a recommender with vectors of items."""

    dim: Annotated[int, Range(1, 1 << 20)] = 64  # length of each vector
    last: Annotated[int, Range(0)] = 5  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 0.8  # how much an item counts, relative to the next newer one
    # how items answer: with output vectors, as what comes next; or with input vectors, as what is alike
    answer: Literal["next", "alike"] = "next"
    output: str | OutputLayer = "negative:k=20,power=0.25"  # output layer
    epochs: Annotated[int, Range(1, 1 << 30)] = 40  # number of passes over the log
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent items; 0 turns it off
    # with a split: stop after so many epochs without a better one on validation, and keep the best
    patience: Annotated[int, Range(1)] = 20
    approximate: bool = False  # recommend by a graph (HNSW, extra `ann`), which may miss an item

    def __post_init__(self) -> None:
        """Check the settings."""
        self._best: dict[str, Any] = {}  # what was learned at the best epoch of a training with validation
        super().__post_init__()
        self.epochs_found: int | None = None  # on validation, before a refit

    @property
    def all_epochs(self) -> int:
        """The number of passes over the log."""
        return self.epochs_found or self.epochs

    @property
    def complete(self) -> bool:
        """Whether the training is done: by epochs, or because validation got no better."""
        return self.history.stopped or super().complete

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run, which keeps the best epoch on validation."""
        run = super().begin(data, begins, tells)
        self._best = run.best
        return run

    def ended(self) -> None:
        """Clean up after a training; only an interrupted one needs its best epoch again."""
        super().ended()
        if self.complete:
            self._best = {}

    def plan(self, begins: Begins, tells: Tells, memory: Mapping[str, int], **details: Any) -> Plan:
        """Return the plan of a run; with a split, validation cases are asked after each epoch."""
        plan = super().plan(begins, tells, memory, **details)
        cases = None if self.held_out is None else self.held_out.sample(CASES)
        if cases is None or not cases.ends.size:
            return plan
        kept, measure = self._best if begins.resumed else {}, functools.partial(self._measure, cases)
        validation = Validation(measure, self.patience, self.learned.tensors(), kept)
        return dataclasses.replace(plan, validation=validation)

    def _measure(self, cases: Cases) -> tuple[float, str]:
        """Return minus the NDCG@10 of validation, and the figure in words."""
        self.forget()
        found = mean_ndcg(self, cases, exclude_seen=self.leaves_out_seen)
        return -found, f"NDCG@10 {100 * found:.2f} % of {cases.ends.size:,} cases"

    def before_learning(self, split: Split, tells: Tells) -> None:
        """Compile; find the number of epochs on validation, if the model is then fitted again."""
        self.check_task()
        compile_kernels(self, tells)
        if self.refit and (self.epochs_found is None or self.complete):
            trial = dataclasses.replace(self, refit=False, with_users=False)
            trial.fit(split.log, callbacks=tells.callbacks, note=tells.note)
            if trial.history.interrupted:
                raise KeyboardInterrupt
            losses = trial.history.validation
            self.epochs_found = int(np.argmin(losses)) + 1 if losses else None
            if losses:
                tells.say(f"best on validation: {self.all_epochs} epochs; now learning from all but the test")

    @property
    def item_inputs(self) -> Floats:
        """The input vector of each item."""
        found: Floats = self.learned.params.in_vectors[: len(self.catalogue)]
        return found

    def make_store(self, name: str) -> Vectors:
        """Make the store of the vectors of items."""
        words = self.catalogue
        rows = self.item_inputs if name == "in_vectors" else getattr(self.learned.params, name)
        return Vectors(words.words, rows[: len(words)], words.counts)

    def forget(self) -> None:
        """Drop what was made from older params."""
        super().forget()
        for name in ("_search", "_unit_inputs"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def _unit_inputs(self) -> Floats:
        """The input vectors of items, divided by their lengths."""
        return units(self.item_inputs, dtype=np.float32)

    def hidden_of(self, histories: Histories) -> Floats:
        """Return the hidden vector of each history: the weighted mean of the last items; 0 without items."""
        rows = self._unit_inputs if self.answer == "alike" else self.item_inputs
        return self._mean(histories, rows)

    def _mean(self, histories: Histories, rows: Floats) -> Floats:
        asked = newest(histories, self.last, self.decay)
        out = np.zeros((len(histories), self.dim), np.float32)
        filled = np.flatnonzero(np.diff(asked.starts))
        if filled.size:
            first, weights = asked.starts[:-1][filled], asked.weights[:, None]
            sums = np.add.reduceat(weights * rows[asked.ids], first)
            out[filled] = sums / np.add.reduceat(weights, first)
        return out

    @functools.cached_property
    def _search(self) -> InnerProduct:
        """The search for the items with the highest scores."""
        params, graph = self.learned.params, HnswSettings() if self.approximate else None
        if self.answer == "alike":
            return InnerProduct(self._unit_inputs, None, graph=graph, threads=self.threads)
        bias = params.out_bias if params.out_bias.size else None
        return InnerProduct(params.out_vectors, bias, graph=graph, threads=self.threads)

    def scores(self, histories: Histories) -> Floats:
        """Return the scores of all items; log-probabilities if the layer has no row for each item."""
        hidden = self.hidden_of(histories)
        if self.layer.rows_are_words or self.answer == "alike":
            return self._search.scores(hidden)
        return self.head.log_prob(hidden).astype(np.float32)

    def best_items(
        self, histories: Histories, k: int, exclude: ExcludedRows | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Counts, Floats]:
        """Return the k best items for each history, and their scores."""
        if self.layer.rows_are_words or self.answer == "alike":
            return self._search.search(self.hidden_of(histories), k, exclude=exclude, allowed=allowed)
        return super().best_items(histories, k, exclude, allowed)

    def similar(self, item: str, k: int = 10) -> list[Recommendation]:
        """Return the k items that can best replace an item: those with the nearest input vectors."""
        self.item_id(item)
        return self._named_rows(self.vectors.most_similar(item, topn=k))

    def _named_rows(self, found: Sequence[tuple[str, float]]) -> list[Recommendation]:
        names = dict(zip(self.catalogue.words, self.names, strict=False))
        return [Recommendation(word, cosine, names.get(word, "")) for word, cosine in found]

    def new_item(self, values: Mapping[str, str | Sequence[str]]) -> Floats:
        """Return the vector of an item that the log does not have: the mean of the items most like it.

        values   the item's side values: column -> value or values; the KIN items that share most of them
                 count, of several the most frequent ones
        """
        kin = self.kept.sides.kin(self.kept.sides.known(values), KIN)
        mean: Floats = self.item_inputs[kin].mean(axis=0)
        return mean

    def similar_to(self, values: Mapping[str, str | Sequence[str]], k: int = 10) -> list[Recommendation]:
        """Return the k items that are most like an item that the log does not have, by its side values."""
        return self._named_rows(self.vectors.similar_by_vector(self.new_item(values), topn=k))

    def recommend_new(
        self,
        who: str | Sequence[str],
        items: Mapping[str, Mapping[str, str | Sequence[str]]],
        k: int = 10,
    ) -> list[Recommendation]:
        """Return the k of some new items that suit best a user or a history.

        items   item -> its side values; they are compared with the last items of the history by cosines
        """
        if not items:
            raise ConfigError("items: give at least one new item with its side values")
        line, _ = self.history_of(who)
        asking = units(self._mean(histories_of([line]), self._unit_inputs), dtype=np.float32)[0]
        scores = units([self.new_item(values) for values in items.values()], dtype=np.float32) @ asking
        best = largest(scores, whole("k", k, 1))
        names = [*items]
        return [Recommendation(names[i], float(scores[i]), "") for i in best]

    def learned_tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return what was learned; for an incomplete training also the best epoch so far."""
        best = {} if complete else {f"{BEST}{name}": array for name, array in self._best.items()}
        return {**super().learned_tensors(complete=complete), **best}

    def facts(self) -> dict[str, Any]:
        """Return also the number of epochs that was found on validation."""
        return {**super().facts(), "epochs_found": self.epochs_found}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        super().take(saved)
        found, items = saved.config.get("epochs_found"), len(self.catalogue)
        if not isinstance(found, (int, type(None))) or (found is not None and found < 1):
            raise FormatError(f"epochs_found={found!r:.80}: must be a whole number; config.json is damaged")
        inputs, params = self.learned.in_vocabulary, self.learned.params
        shapes = (self.input_row_count(), self.dim), (self.layer.rows(self.catalogue.counts), self.dim)
        if inputs.words[:items] != self.catalogue.words or shapes != (
            params.in_vectors.shape,
            params.out_vectors.shape,
        ):
            raise FormatError(f"a model whose vectors are not those of its items: {self.name} is damaged")
        self.epochs_found = found
        self._best = {
            name.removeprefix(BEST): array for name, array in saved.tensors.items() if name.startswith(BEST)
        }

    def input_row_count(self) -> int:
        """Return how many input rows a saved model must have."""
        return len(self.learned.in_vocabulary)
