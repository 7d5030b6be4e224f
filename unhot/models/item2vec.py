"""Item vectors: skip-gram on the sequences of a log; items that stand near each other predict each other.

A history asks with the weighted mean of its last items, and items answer with their output vectors:

    h       = sum of decay^age x_i / sum of decay^age    over the last items i of the history
    score_j = h . o_j + b_j

Input against output is what was trained: o_j . x_i is high if j came near i. Two input vectors are near each
other if their items came near the *same* items, which says that one can replace the other, not that it comes
next; so `recommend` uses the first, `similar` the second.

With `users="vector"` each user has an input vector x_u, too, which predicts all items of the user, beside
their neighbours; then h = x_u for a user that the model knows.

Reference: Barkan and Koenigstein, Item2vec: neural item embedding for collaborative filtering, 2016.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.corpus.indexed_folder import read_only
from unhot.errors import ConfigError, FormatError
from unhot.index.best import ExcludedRows
from unhot.index.hnsw import HnswSettings
from unhot.index.inner import InnerProduct
from unhot.items.histories import Histories, newest
from unhot.items.ranking import mean_ndcg
from unhot.items.recommender import Recommendation
from unhot.kernels.bags import Bags
from unhot.kernels.chunk import hot_row
from unhot.kernels.feeder import Each, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.window_feeder import centre_target, fetch_entering, prepare_windows
from unhot.kernels.windows import AFTER, BEFORE, BOTH, Text, Window, fill_inputs
from unhot.logs.log import Log
from unhot.logs.splitting import Cases, Split
from unhot.models.engine import WindowTask
from unhot.models.fitting import Begins, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.log_model import LogModel
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.skipgram import CentreFeeder, ContextsFeeder
from unhot.models.text_model import compile_kernels
from unhot.models.validation import Validation
from unhot.models.window_model import WindowModel
from unhot.models.wiring import Wiring
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.torch_batches import centre_pairs, context_pairs
from unhot.types import Counts, Floats, Ids
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors
from unhot.vocab.vocabulary import Vocabulary, encode_word

USER = "user:"  # stands before the names of users among the inputs; see `user_mark`
BEST = "best."  # prefix of the names of tensors that only an incomplete training with validation has
CASES = 2_000  # questions that are asked after each epoch
WIDEST = 10_000  # the widest window
USUAL_LINE = 100  # what a kernel is compiled for if the window is the whole line, before the log is known


class UserFeeder(NamedTuple):
    """Examples of users="vector": each item before a centre, and its user, predict the centre."""

    text: Text
    window: Window


class BestVectors:
    """What was learned at the best epoch so far."""

    def __init__(self, learned: LearnedWords, kept: dict[str, Any]) -> None:
        """Take what is learned, and where to keep a copy; a training that is resumed may have one."""
        self._arrays, self._kept = learned.tensors(), kept
        mine, theirs = ({n: (a.shape, a.dtype) for n, a in each.items()} for each in (self._arrays, kept))
        if kept and mine != theirs:
            raise FormatError("the best epoch of an interrupted training is damaged: train again")

    def keep(self) -> None:
        """Copy what is learned now."""
        self._kept.update({name: array.copy() for name, array in self._arrays.items()})

    def restore(self) -> None:
        """Go back to the copy."""
        for name, array in self._kept.items():
            self._arrays[name][...] = array


@model("item2vec")
@dataclasses.dataclass(kw_only=True)
class Item2Vec(LogModel[LearnedWords], WindowModel):
    """Item vectors from the sequences of a log."""

    dim: Annotated[int, Range(1, 1 << 20)] = 64  # length of each vector
    window: Annotated[int, Range(0, 10_000)] = 5  # items on each side of the centre item; 0: the whole line
    # which items predict an item: those on both sides of it, or only those before it
    sides: Literal["both", "before"] = "both"
    # keep the order of a line; or shuffle each line anew in each epoch, as if it were a set
    order: Literal["kept", "ignored"] = "kept"
    # ask with the mean of a user's last items, or a vector of the user
    users: Literal["mean", "vector"] = "mean"
    last: Annotated[int, Range(0)] = 5  # ask with so many of the last items of a history; 0: with all
    decay: Annotated[float, Range(0)] = 0.8  # how much an item counts, relative to the next newer one
    output: str | OutputLayer = "negative:k=20,power=0.25"  # output layer
    epochs: Annotated[int, Range(1, 1 << 30)] = 40  # number of passes over the log
    sample: Annotated[float, Range(0)] = 0.0  # threshold of sub-sampling frequent items; 0 turns it off
    # with a split: stop after so many epochs without a better one on validation, and keep the best
    patience: Annotated[int, Range(1)] = 20
    approximate: bool = False  # recommend by a graph (HNSW, extra `ann`), which may miss an item

    default_lr = 0.05

    def __post_init__(self) -> None:
        """Check the settings."""
        self._longest = USUAL_LINE  # set when the log is known
        self._watch: Validation | None = None
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

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the settings contradict each other."""
        if self.users == "vector" and (self.engine != "compiled" or self.predicts != "centre"):
            raise ConfigError(
                f"users=vector: needs engine=compiled and a layer that predicts one item at a time, not "
                f"{self.layer.name}; use users=mean"
            )
        super().check_engine()

    @property
    def predicts(self) -> str:
        """Which item of a window is predicted: the centre, or the contexts."""
        return self.layer.predicts

    def task(self, bags: Bags | None = None) -> WindowTask:
        """Return the settings that engines need."""
        sides = BOTH if self.sides == "both" else BEFORE if self.predicts == "centre" else AFTER
        window = Window(self.width, self.shrink, sides, self.order == "ignored")
        return dataclasses.replace(super().task(bags), window=window)

    @property
    def width(self) -> int:
        """The items on each side of a centre, at most."""
        return self.window or self._longest

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return which items predict which."""
        around = 2 * self.width + 1
        if self.predicts != "centre":
            return Wiring(ContextsFeeder, context_pairs, targets=around, listed=around)
        if self.users == "vector":
            return Wiring(UserFeeder, None, inputs=around, listed=around)
        return Wiring(CentreFeeder, centre_pairs, inputs=around, listed=around)

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run; with a split, the run is watched on validation."""
        self._longest = max(1, min(int(np.diff(data.starts).max()) - 1, WIDEST))
        self._watch = None
        run = super().begin(data, begins, tells)
        if self._watch is not None:
            self._best = self._best if begins.resumed else {}
            self._watch.watch(BestVectors(self.learned, self._best), holds_best=bool(self._best))
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
        self._watch = Validation(
            functools.partial(self._measure, cases), begins.history, self.patience, tells.say
        )
        return dataclasses.replace(plan, callbacks=[self._watch, *plan.callbacks], stop=self._watch.stops)

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

    def input_vocabulary(self, data: Corpus | Cells) -> Vocabulary:
        """Return the items and, if users have vectors, the users behind them."""
        if self.users == "mean" or not isinstance(data, Log):
            return data.vocabulary
        mark = user_mark(data.items.words)
        users = sorted((mark + user for user in data.users.words), key=encode_word)
        counts = np.append(data.items.counts, np.zeros(len(users), np.int64))
        return Vocabulary([*data.items.words, *users], counts)

    def beside(self, data: Corpus | Cells) -> Sequence[Ids]:
        """Return the input row of the user of each line, for each shard."""
        if self.users == "mean" or not isinstance(data, Log):
            return ()
        index, mark = self.input_vocabulary(data).index, user_mark(data.items.words)
        rows = np.array([*(index[mark + user] for user in data.users.words), -1], np.int32)[data.user_of]
        edges = np.cumsum([shard.starts.size - 1 for shard in data.shards])[:-1]
        return [read_only(part) for part in np.split(rows, edges)]

    def make_store(self, name: str) -> Vectors:
        """Make the store of the vectors of items."""
        words = self.catalogue
        return Vectors(words.words, getattr(self.learned.params, name)[: len(words)], words.counts)

    def forget(self) -> None:
        """Drop what was made from older params."""
        super().forget()
        for name in ("_search", "_user_rows"):
            self.__dict__.pop(name, None)

    @functools.cached_property
    def _user_rows(self) -> dict[str, int]:
        """The input rows of the users who have a vector, by their names."""
        words, items = self.learned.in_vocabulary.words, len(self.catalogue)
        mark = user_mark(self.catalogue.words)
        return {word.removeprefix(mark): row for row, word in enumerate(words[items:], items)}

    def user_row(self, user: str) -> int:
        """Return the input row of a user who has a vector; -1 if there is none."""
        return self._user_rows.get(user, -1)

    def user_history(self, user: str) -> Sequence[int]:
        """Return the items of a user; nothing if the model has only the user's vector."""
        if self.user_row(user) >= 0 and self.kept.log is None and "_histories" not in self.__dict__:
            return []
        return super().user_history(user)

    def hidden_of(self, histories: Histories) -> Floats:
        """Return the hidden vector of each history: the user's own, or the mean of the last items."""
        asked, vectors = newest(histories, self.last, self.decay), self.learned.params.in_vectors
        out = np.zeros((len(histories), self.dim), np.float32)
        for line in range(len(out)):
            part = slice(asked.starts[line], asked.starts[line + 1])
            if histories.users[line] >= 0:
                out[line] = vectors[histories.users[line]]
            elif part.stop > part.start:
                weights = asked.weights[part]
                out[line] = weights @ vectors[asked.ids[part]] / weights.sum()
        return out

    @functools.cached_property
    def _search(self) -> InnerProduct:
        """The search for the items with the highest scores."""
        params = self.learned.params
        bias = params.out_bias if params.out_bias.size else None
        graph = HnswSettings() if self.approximate else None
        return InnerProduct(params.out_vectors, bias, graph=graph, threads=self.threads)

    def scores(self, histories: Histories) -> Floats:
        """Return the scores of all items; log-probabilities if the layer has no row for each item."""
        hidden = self.hidden_of(histories)
        if self.layer.rows_are_words:
            return self._search.scores(hidden)
        return self.head.log_prob(hidden).astype(np.float32)

    def best_items(
        self, histories: Histories, k: int, exclude: ExcludedRows | None, allowed: NDArray[np.bool_] | None
    ) -> tuple[Counts, Floats]:
        """Return the k best items for each history, and their scores."""
        if self.layer.rows_are_words:
            return self._search.search(self.hidden_of(histories), k, exclude=exclude, allowed=allowed)
        return super().best_items(histories, k, exclude, allowed)

    def similar(self, item: str, k: int = 10) -> list[Recommendation]:
        """Return the k items that can best replace an item: those with the nearest input vectors."""
        self.item_id(item)
        names = dict(zip(self.catalogue.words, self.names, strict=False))
        return [
            Recommendation(word, cosine, names.get(word, ""))
            for word, cosine in self.vectors.most_similar(item, topn=k)
        ]

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
        shapes = (len(inputs), self.dim), (self.layer.rows(self.catalogue.counts), self.dim)
        if inputs.words[:items] != self.catalogue.words or shapes != (
            params.in_vectors.shape,
            params.out_vectors.shape,
        ):
            raise FormatError("an item2vec model whose vectors are not those of its items: it is damaged")
        self.epochs_found = found
        self._best = {
            name.removeprefix(BEST): array for name, array in saved.tensors.items() if name.startswith(BEST)
        }


def user_mark(items: Sequence[str]) -> str:
    """Return what stands before the names of users among the inputs: USER, but no item begins with it."""
    mark = USER
    while any(item.startswith(mark) for item in items):
        mark += ":"
    return mark


prepare.register(UserFeeder)(prepare_windows)
fetch.register(UserFeeder)(fetch_entering)
targets_of.register(UserFeeder)(centre_target)


@input_of.register(UserFeeder)
def _items_and_user(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    group = len(shape.group)
    count, times, contexts = fill_inputs(kept, kept.row, centre, inputs, group)
    user = feeder.text.beside[kept.line[kept.begin[centre]]]
    if user < 0 or contexts == 0:
        return Each(count, times, contexts)
    inputs.row[count] = hot_row(user, how.hot.in_rows, how.hot.in_shift)
    if times == inputs.times.size // 2:  # multiplicities of their own: the user counts once
        inputs.times[times + count] = np.float32(1.0)
        inputs.times[times + count + LANES] = np.float32(0.0)
    else:
        times = ones_at(inputs, count + 1)
    for pad in range(count + 1, count + group):
        inputs.row[pad] = inputs.row[0]
    return Each(count + 1, times, contexts + 1)
