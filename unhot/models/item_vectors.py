"""Recommenders with vectors of items: how they begin, are watched, answer and are read back.

A history asks with its last items.

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

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, FormatError, whole
from unhot.index.best import ExcludedRows
from unhot.index.hnsw import HnswSettings
from unhot.index.inner import InnerProduct
from unhot.index.lengths import units
from unhot.items.histories import Histories, WeightedItems, newest
from unhot.items.kept_log import LogRecord
from unhot.items.ranking import mean_ndcg
from unhot.items.recommender import Recommendation, Recommender
from unhot.largest import largest
from unhot.logs.log import Log
from unhot.models.engine import EngineData, Wiring
from unhot.models.fitting import Begins, InEpochs, Reads, Tells
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.log_data import LogData, log_data
from unhot.models.text_model import check_scratch, compiling
from unhot.models.type_vectors import LearnedTypes, types_from
from unhot.models.windows import check_machine, check_start, window_training
from unhot.models.word_answers import head_of, mean_of, out_vectors_of, predicted
from unhot.outputs import Head, OutputLayer
from unhot.types import Counts, Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors

CASES = 2_000  # questions that are asked after each epoch
KIN = 3  # items whose mean a new item is


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class LearnedItems(LearnedWords):
    """The vectors of items, and what is known of the log."""

    record: LogRecord
    epochs_found: int | None = None  # on validation, before the model learned from all but the test
    types: LearnedTypes | None = None  # the vectors of types of users and items; None: there are none

    def tensors(self, *, complete: bool = True) -> dict[str, Any]:
        """Return the tensors to save."""
        types = {} if self.types is None else self.types.tensors()
        return {**super().tensors(complete=complete), **types, **self.record.tensors()}

    def facts(self) -> dict[str, Any]:
        """Return what the saved config holds in addition to the settings."""
        return {**super().facts(), **self.record.saved_facts(), "epochs_found": self.epochs_found}


def items_from(saved: SavedModel, layer: OutputLayer, dim: int, rows: int | None = None) -> LearnedItems:
    """Read a saved model; raise a `FormatError` if it is damaged.

    rows   how many input rows it must have; None: one for each input
    """
    words = learned_from(saved, layer, dim)
    catalogue, found = words.out_vocabulary, saved_epochs(saved)
    record = LogRecord.of_saved(saved.config, saved.tensors, len(catalogue))
    inputs, shapes = words.in_vocabulary, (words.params.in_vectors.shape, words.params.out_vectors.shape)
    wanted = (len(inputs) if rows is None else rows, dim), (layer.rows(catalogue.counts), dim)
    if inputs.words[: len(catalogue)] != catalogue.words or shapes != wanted:
        name = saved.config.get("model")
        raise FormatError(f"a model whose vectors are not those of its items: {name} is damaged")
    return LearnedItems(**vars(words), record=record, epochs_found=found, types=types_from(saved.tensors))


def saved_epochs(saved: SavedModel) -> int | None:
    """Return the number of epochs that was best on validation; raise a `FormatError` if it is damaged."""
    found = saved.config.get("epochs_found")
    if not isinstance(found, (int, type(None))) or (found is not None and found < 1):
        raise FormatError(f"epochs_found={found!r:.80}: must be a whole number; config.json is damaged")
    return found


class ItemAnswers(Recommender):
    """Answers by vectors of items."""

    def __init__(self, settings: Any, learned: Any, *, leaves_out_seen: bool) -> None:
        """Take the settings that say how items answer (`ItemFields`), and what is learned."""
        super().__init__(learned.out_vocabulary, learned.record, self.score, leaves_out_seen=leaves_out_seen)
        self.settings, self.learned = settings, learned

    @functools.cached_property
    def item_inputs(self) -> Floats:
        """The input vector of each item."""
        found: Floats = self.learned.params.in_vectors[: len(self.catalogue)]
        return found

    @functools.cached_property
    def unit_inputs(self) -> Floats:
        """The input vectors of items, divided by their lengths."""
        return _units(self.item_inputs)

    @functools.cached_property
    def vectors(self) -> Vectors:
        """The vectors of items."""
        return Vectors(self.catalogue.words, self.item_inputs, self.catalogue.counts)

    @functools.cached_property
    def out_vectors(self) -> Vectors:
        """The output vectors of items; raises a `ConfigError` unless the layer has one for each item."""
        return out_vectors_of(self.learned)

    @property
    def head(self) -> Head:
        """The trained output layer."""
        return head_of(self.learned)

    @property
    def by_rows(self) -> bool:
        """Whether items answer by a row for each of them, not by probabilities of the layer."""
        alike: bool = self.settings.answer == "alike"
        return alike or self.learned.layer.rows_are_words

    @functools.cached_property
    def search(self) -> InnerProduct:
        """The search for the items with the highest scores."""
        params, how = self.learned.params, self.settings
        options: dict[str, Any] = {
            "graph": HnswSettings() if how.approximate else None,
            "threads": how.threads,
        }
        if how.answer == "alike":
            return InnerProduct(self.unit_inputs, None, **options)
        return InnerProduct(params.out_vectors, params.out_bias if params.out_bias.size else None, **options)

    def hidden(self, histories: Histories) -> Floats:
        """Return the hidden vector of each history: the mean of its last items, or the user's own."""
        rows = self.unit_inputs if self.settings.answer == "alike" else self.item_inputs
        out, known = self._mean(histories, rows), histories.users >= 0
        out[known] = self.learned.params.in_vectors[histories.users[known]]
        return _units(out) if self.learned.layer.by_cosine() else out

    def newest(self, histories: Histories) -> WeightedItems:
        """Return the last items of each history, with their weights."""
        return newest(histories, self.settings.last, self.settings.decay)

    def _mean(self, histories: Histories, rows: Floats) -> Floats:
        """Return the weighted mean of the rows of the last items of each history; 0 without items."""
        asked = self.newest(histories)
        out = np.zeros((len(histories), rows.shape[1]), np.float32)
        filled = np.flatnonzero(np.diff(asked.starts))
        if filled.size:
            first, weights = asked.starts[:-1][filled], asked.weights[:, None]
            sums = np.add.reduceat(weights * rows[asked.ids], first)
            out[filled] = sums / np.add.reduceat(weights, first)
        return out

    def user_vectors(self, histories: Histories) -> Floats:
        """Return the vectors of users after their histories, which are compared with output vectors."""
        return self.hidden(histories)

    def score(self, histories: Histories) -> Floats:
        """Return the scores of all items; log-probabilities if the layer has no row for each item."""
        hidden = self.hidden(histories)
        if self.by_rows:
            return self.search.scores(hidden)
        return self.head.log_prob(hidden).astype(np.float32)

    def best_items(
        self, histories: Histories, k: int, exclude: ExcludedRows | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Counts, Floats]:
        """Return the k best items for each history, and their scores."""
        if self.by_rows:
            return self.search.search(self.hidden(histories), k, exclude=exclude, allowed=allowed)
        return super().best_items(histories, k, exclude, allowed)

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the items most likely to stand near the given ones, with their probabilities."""
        return predicted(self.learned, mean_of(self.vectors, context), topn)

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
        sides = self.record.kept.sides
        return np.asarray(self.item_inputs[sides.kin(sides.known(values), KIN)].mean(axis=0))

    def similar_to(self, values: Mapping[str, str | Sequence[str]], k: int = 10) -> list[Recommendation]:
        """Return the k items that are most like an item that the log does not have, by its side values."""
        return self._named_rows(self.vectors.similar_by_vector(self.new_item(values), topn=k))

    def recommend_new(
        self, who: str | Sequence[str], items: Mapping[str, Mapping[str, str | Sequence[str]]], k: int = 10
    ) -> list[Recommendation]:
        """Return the k of some new items that suit best a user or a history.

        items   item -> its side values; they are compared with the last items of the history by cosines
        """
        if not items:
            raise ConfigError("items: give at least one new item with its side values")
        asking = _units(self._mean(self.history_of(who), self.unit_inputs))[0]
        scores = _units(np.stack([self.new_item(values) for values in items.values()])) @ asking
        best = largest(scores, whole("k", k, 1))
        names = [*items]
        return [Recommendation(names[i], float(scores[i]), "") for i in best]


@contextlib.contextmanager
def prepare_items(self: Any, reads: Reads, begins: Begins, tells: Tells) -> Iterator[LogData]:
    """Read the log, compile, and find the number of epochs if the model is fitted again."""
    check_start(self, begins) if self.starts else check_scratch(self, begins)
    check_machine(self)
    with log_data(self, reads, tells) as data:
        compiling(self, tells)()
        yield data._replace(epochs_found=found_epochs(self, data, begins, tells))


def found_epochs(model: Any, data: LogData, begins: Begins, tells: Tells) -> int | None:
    """Return the number of epochs that is best on validation, if the model is fitted again; else None."""
    if begins.learned is not None:
        known: int | None = begins.learned.epochs_found
        return known
    return best_epochs(model, data.split.log, tells) if model.refit else None


def best_epochs(model: Any, log: Log, tells: Tells) -> int | None:
    """Train a copy of a model on train, and return the number of epochs that is best on validation."""
    trial = dataclasses.replace(model, refit=False, with_users=False)
    trial.fit(log, callbacks=tells.callbacks, note=tells.note)
    if trial.history.interrupted:
        raise KeyboardInterrupt
    losses = trial.history.validation
    found = int(np.argmin(losses)) + 1 if losses else None
    if found is not None:
        tells.say(f"best on validation: {found} epochs; now learning from all but the test")
    return found


def item_training(
    model: Any,
    wiring: Wiring,
    data: LogData,
    windows: EngineData,
    begins: Begins,
    tells: Tells,
    *,
    usual_lr: float,
    types: LearnedTypes | None = None,
    kind: Callable[..., LearnedItems] = LearnedItems,
) -> InEpochs[LearnedItems]:
    """Return a training on windows of items, which is watched on validation if there is a split."""

    def whole(words: LearnedWords) -> LearnedItems:
        known: dict[str, Any] = {"record": data.record, "epochs_found": data.epochs_found, "types": types}
        return kind(**vars(words), **known)

    return window_training(
        model,
        wiring,
        windows,
        begins,
        tells,
        usual_lr=usual_lr,
        epochs=data.epochs_found or model.epochs,
        chosen={"lr": model.lr or usual_lr, "output": model.layer.spec()},
        whole=whole,
        measure=validation_of(model, data),
    )


def validation_of(model: Any, data: LogData) -> Callable[[Any], tuple[float, str]] | None:
    """Return what measures a learned value on validation: its loss, and figures in words; None: nothing."""
    watched = data.watched
    cases = None if watched is None else watched.cases.sample(CASES)
    if watched is None or cases is None or not cases.ends.size:
        return None

    def measure(learned: Any) -> tuple[float, str]:
        answers = model.make_answers(learned)
        seen = answers.leaves_out_seen if watched.exclude_seen is None else watched.exclude_seen
        found = mean_ndcg(answers, cases, exclude_seen=seen)
        return -found, f"NDCG@10 {100 * found:.2f} % of {cases.ends.size:,} cases"

    return measure


def answers_of_items(self: Any, learned: LearnedItems) -> ItemAnswers:
    """Return what answers by the vectors of items."""
    return ItemAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))


def restore_items(self: Any, saved: SavedModel) -> LearnedItems:
    """Return what a saved model had learned."""
    return items_from(saved, self.layer, self.dim)


def predict_item(self: Any, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
    """Return the items most likely to stand near the given ones, with their probabilities."""
    found: list[tuple[str, float]] = self.item_answers.predict_word(context, topn)
    return found


def _units(rows: Floats) -> Floats:
    return units(rows, np.linalg.norm(rows, axis=1), np.float32)
