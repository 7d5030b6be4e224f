"""Item vectors: skip-gram on the sequences of a log; items that stand near each other predict each other.

With `users="vector"` each user has an input vector x_u, too, which predicts all items of the user, beside
their neighbours; then a user whom the model knows asks with h = x_u (item_vectors.py).

Reference: Barkan and Koenigstein, Item2vec: neural item embedding for collaborative filtering, 2016.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.corpus.indexed_folder import read_only
from unhot.errors import ConfigError
from unhot.items.histories import Histories
from unhot.kernels.bags import Bags
from unhot.kernels.chunk import hot_row
from unhot.kernels.feeder import Each, fetch, input_of, ones_at, prepare, targets_of
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.window_feeder import centre_target, fetch_entering, prepare_windows
from unhot.kernels.windows import AFTER, BEFORE, BOTH, Text, Window, fill_inputs
from unhot.logs.log import Log
from unhot.models.engine import WindowTask
from unhot.models.fitting import Begins, Tells
from unhot.models.item_vectors import ItemVectors
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.models.skipgram import CentreFeeder, ContextsFeeder
from unhot.models.wiring import Wiring
from unhot.train.epoch_run import EpochRun
from unhot.train.torch_batches import centre_pairs, context_pairs
from unhot.types import Floats, Ids
from unhot.vocab.vocabulary import UnknownWord, Vocabulary, encode_word

USER = "user:"  # stands before the names of users among the inputs; see `user_mark`
WIDEST = 10_000  # the widest window
USUAL_INPUTS = 10  # items that predict an item in the window for which the default rate was chosen
WIDE = 25  # wider windows have a lower default rate
STABLE = 5.0  # the default rate times the most items that predict an item; at three times as much losses jump
USUAL_LINE = 100  # what a kernel is compiled for if the window is the whole line, before the log is known


class UserFeeder(NamedTuple):
    """Examples of users="vector": each item before a centre, and its user, predict the centre."""

    text: Text
    window: Window


@model("item2vec", family="recommend")
@dataclasses.dataclass(kw_only=True)
class Item2Vec(ItemVectors):
    """Item vectors from the sequences of a log."""

    window: Annotated[int, Range(0, 10_000)] = 5  # items on each side of the centre item; 0: the whole line
    # which items predict an item: those on both sides of it, or only those before it
    sides: Literal["both", "before"] = "both"
    # keep the order of a line; or shuffle each line anew in each epoch, as if it were a set
    order: Literal["kept", "ignored"] = "kept"
    # ask with the mean of a user's last items, or a vector of the user
    users: Literal["mean", "vector"] = "mean"

    default_lr = 0.05

    def __post_init__(self) -> None:
        """Check the settings."""
        self._longest = USUAL_LINE  # set when the log is known, and so is the rate
        self._usual_lr = self.default_lr
        super().__post_init__()

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the settings contradict each other."""
        if self.users == "vector" and (self.engine != "compiled" or self.predicts != "centre"):
            raise ConfigError(
                f"users=vector: needs engine=compiled and a layer that predicts one item at a time, not "
                f"{self.layer.name}; use users=mean"
            )
        super().check_engine()

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

    @property
    def usual_lr(self) -> float:
        """The default learning rate: lower if many items predict an item, since their steps add up."""
        return self._usual_lr

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run; the longest line is the widest window."""
        sizes = np.diff(data.starts)
        self._longest = max(1, min(int(sizes.max()) - 1, WIDEST))
        seen = np.maximum(np.minimum(sizes - 1, 2 * self.width), 1)  # by an event of each line
        mean, most = float(seen @ sizes / sizes.sum()), int(seen.max())
        wide = self.window == 0 or self.window > WIDE
        slower = min(self.default_lr * USUAL_INPUTS / mean, STABLE / most)
        self._usual_lr = min(self.default_lr, slower) if wide else self.default_lr
        if self.lr is None and self._usual_lr < self.default_lr:
            tells.say(f"lr={self._usual_lr:.2g}: up to {most:,} items of a line predict an item at once")
        return super().begin(data, begins, tells)

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

    def forget(self) -> None:
        """Drop what was made from older params."""
        super().forget()
        self.__dict__.pop("_user_rows", None)

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
        if self.users == "mean" or self.kept.log is not None or "_histories" in self.__dict__:
            return super().user_history(user)
        if self.user_row(user) < 0:
            raise UnknownWord(f"{user!r} is not among the {len(self._user_rows):,} users of the model")
        return []

    def hidden_of(self, histories: Histories) -> Floats:
        """Return the hidden vector of each history: the user's own, or the mean of the last items."""
        out, known = super().hidden_of(histories), histories.users >= 0
        out[known] = self.learned.params.in_vectors[histories.users[known]]
        return out


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
