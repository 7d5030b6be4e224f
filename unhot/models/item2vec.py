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
from numpy.typing import NDArray

from unhot.errors import ConfigError
from unhot.items.histories import Histories, histories_of
from unhot.kernels.chunk import hot_row
from unhot.kernels.feeder import Each, input_of, ones_at
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.window_feeder import centre_target, register_windows
from unhot.kernels.windows import AFTER, BEFORE, BOTH, Text, Window, fill_inputs
from unhot.logs.log import Log
from unhot.models.engine import EngineData, Wiring, by_shard, near_words
from unhot.models.fitting import Begins, InEpochs, Tells
from unhot.models.item_vectors import (
    ItemAnswers,
    LearnedItems,
    item_training,
    predict_item,
    prepare_items,
    restore_items,
)
from unhot.models.log_data import LogData
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import ItemFields, Range
from unhot.models.skipgram import skipgram_wiring
from unhot.models.windows import check_windows, warm_up_windows
from unhot.outputs import parse_output
from unhot.vocab.vocabulary import Vocabulary, encode_word

LR = 0.05  # the default learning rate
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
class Item2Vec(ItemFields, RecommenderModel):
    """Item vectors from the sequences of a log."""

    window: Annotated[int, Range(0, 10_000)] = 5  # items on each side of the centre item; 0: the whole line
    # which items predict an item: those on both sides of it, or only those before it
    sides: Literal["both", "before"] = "both"
    # keep the order of a line; or shuffle each line anew in each epoch, as if it were a set
    order: Literal["kept", "ignored"] = "kept"
    # ask with the mean of a user's last items, or a vector of the user
    users: Literal["mean", "vector"] = "mean"

    starts = True

    predict_word = predict_item
    prepare = prepare_items
    restore = restore_items
    warm_up = warm_up_windows

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        super().check()
        self.layer = parse_output(self.output)
        if self.users == "vector" and (self.engine != "compiled" or self.layer.predicts != "centre"):
            raise ConfigError(
                f"users=vector: needs engine=compiled and a layer that predicts one item at a time, not "
                f"{self.layer.name}; use users=mean"
            )
        check_windows(self)

    def wiring(self, longest: int = USUAL_LINE) -> Wiring:
        """Return which items predict which; `longest`: the widest window that the log needs."""
        centre, width = self.layer.predicts == "centre", self.window or longest
        sides = BOTH if self.sides == "both" else BEFORE if centre else AFTER
        window, around = Window(width, self.shrink, sides, self.order == "ignored"), 2 * width + 1
        most: dict[str, Any] = {"inputs": around} if centre else {"targets": around}
        wiring = skipgram_wiring(self.layer.predicts, window)._replace(listed=around, **most)
        return wiring if self.users == "mean" else wiring._replace(feeder=UserFeeder, examples=None)

    def training(self, data: LogData, begins: Begins, tells: Tells) -> InEpochs[LearnedItems]:
        """Return a training; the longest line is the widest window.

        The default learning rate is lower if many items predict an item, since their steps add up.
        """
        log, sizes = data.text, np.diff(data.text.starts)
        longest = max(1, min(int(sizes.max()) - 1, WIDEST))
        seen = np.maximum(np.minimum(sizes - 1, 2 * (self.window or longest)), 1)  # by an event of each line
        mean, most = float(seen @ sizes / sizes.sum()), int(seen.max())
        usual = LR
        if self.window == 0 or self.window > WIDE:
            usual = min(LR, LR * USUAL_INPUTS / mean, STABLE / most)
        if self.lr is None and usual < LR:
            tells.say(f"lr={usual:.2g}: up to {most:,} items of a line predict an item at once")
        windows = with_users(log) if self.users == "vector" else near_words(log)
        return item_training(self, self.wiring(longest), data, windows, begins, tells, usual_lr=usual)

    def make_answers(self, learned: LearnedItems) -> "UserAnswers":
        """Return what answers by the vectors of items and users."""
        return UserAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))


def with_users(log: Log) -> EngineData:
    """Return a log whose users are inputs, too, behind its items; each line has the row of its user."""
    mark = user_mark(log.items.words)
    users = sorted((mark + user for user in log.users.words), key=encode_word)
    counts = np.append(log.items.counts, np.zeros(len(users), np.int64))
    inputs = Vocabulary([*log.items.words, *users], counts)
    rows = np.array([*(inputs.index[mark + user] for user in log.users.words), -1], np.int32)[log.user_of]
    return near_words(log, inputs, beside=by_shard(log, rows))


class UserAnswers(ItemAnswers):
    """Answers by vectors of items, and of users if they have some."""

    @functools.cached_property
    def user_rows(self) -> dict[str, int]:
        """The input rows of the users who have a vector, by their names."""
        words, items = self.learned.in_vocabulary.words, len(self.catalogue)
        mark = user_mark(self.catalogue.words)
        return {word.removeprefix(mark): row for row, word in enumerate(words[items:], items)}

    def user_row(self, user: str) -> int:
        """Return the input row of a user who has a vector; -1 if there is none."""
        return self.user_rows.get(user, -1)

    @property
    def holds(self) -> bool:
        """Whether the model holds the events of users, and not only their vectors."""
        return (
            self.settings.users == "mean" or self.record.kept.log is not None or "histories" in self.__dict__
        )

    @property
    def user_count(self) -> int:
        """How many users the model knows."""
        return super().user_count if self.holds else len(self.user_rows)

    def of_users(self, users: Sequence[str]) -> tuple[Histories, NDArray[np.bool_]]:
        """Return the events of users, none if the model has only their vectors, and whom it knows."""
        rows = np.array([*map(self.user_row, users)], np.int32)
        lines, known = super().of_users(users) if self.holds else (histories_of([[]] * len(users)), rows >= 0)
        return Histories(lines.ids, lines.starts, rows, lines.columns), known


def user_mark(items: Sequence[str]) -> str:
    """Return what stands before the names of users among the inputs: USER, but no item begins with it."""
    mark = USER
    while any(item.startswith(mark) for item in items):
        mark += ":"
    return mark


register_windows(UserFeeder, centre_target)


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
