"""Vectors from sessions that end in a booking, as Airbnb's for its listings.

What was booked is near everything in its session, however far apart (a global context). Noise also comes from
the market of the centre, so that items of one market are told apart. Items for which a user was rejected are
kept apart from what the user looked at. A term counts only if its column is named: booked, market, rejected.

    L = - sum_c log s(o_c . x_l)     items c around the centre l
        - sum_n log s(-o_n . x_l)    draws n of the output layer
        - log s(o_b . x_l)           the booked item b of the session, unless it is the centre
        - sum_m log s(-o_m . x_l)    draws m from the market of l, some for each of the T targets
        - sum_r log s(-o_r . x_l)    the items r for which the user was rejected in the session

with s(z) = 1 / (1 + exp(-z)). A draw that hits a target is dropped as the output layer drops it. A rejected
item is never dropped: if it stands near the centre, too, both terms count.

With item_type and user_type, types of users and items have vectors, too, in one space (type_vectors.py): they
serve items and users that were hardly seen.

Reference: Grbovic and Cheng, Real-time personalization using embeddings for search ranking at Airbnb, 2018.
"""

import dataclasses
import functools
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.corpus.given_ids import flat
from unhot.corpus.indexed_folder import read_only
from unhot.errors import ConfigError, DataError, a_text, whole
from unhot.items.recommender import Recommendation
from unhot.kernels.columns import Targets, find, put
from unhot.kernels.feeder import Bag, given_columns, input_of, ones_at
from unhot.kernels.jit import inner
from unhot.kernels.rng import GAMMA, mix
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.window_feeder import register_windows
from unhot.kernels.windows import Text, Window, contexts_of, fill_inputs
from unhot.largest import largest
from unhot.logs.features import BOOKED, REJECTED
from unhot.logs.log import Log
from unhot.models.engine import Wiring, by_shard, near_words
from unhot.models.fitting import Begins, InEpochs, Tells, nobody
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
from unhot.models.settings import ItemFields, MarkFields, Range
from unhot.models.type_vectors import USER, LearnedTypes, TypeLog, item_values, type_log
from unhot.models.windows import (
    check_windows,
    warm_up_windows,
    window_training,
)
from unhot.noise.alias import alias_rows, draw_within
from unhot.outputs import OutputLayer, parse_output
from unhot.train.history import History
from unhot.types import Doubles, Ids, Starts, Words64
from unhot.vectors.store import Vectors

LR = 0.025  # the default learning rate


class Sessions(NamedTuple):
    """What is known of the lines of a log, and of the markets of its items."""

    booked: Ids  # [lines] the booked item, -1: none
    rejected_starts: Starts  # [lines + 1]
    rejected: Ids  # the items that each line was rejected for, each once
    market_of: Ids  # [items] -1: none
    market_starts: Starts  # [markets + 1]
    members: Ids  # the items of each market
    table: Words64  # an alias table for each market
    k: int  # draws from the market for each target


class BookedFeeder(NamedTuple):
    """Examples with the booked item; `Text.beside` has the number of each line."""

    text: Text
    window: Window
    sessions: Sessions


class SessionFeeder(NamedTuple):
    """Examples with the booked item, draws from the market, and rejected items."""

    text: Text
    window: Window
    sessions: Sessions


NONE: Ids = np.zeros(0, np.int32)
NO_STARTS: Starts = np.zeros(1, np.int64)
NO_SESSIONS = Sessions(  # to compile with
    booked=read_only(NONE),
    rejected_starts=read_only(NO_STARTS),
    rejected=read_only(NONE),
    market_of=read_only(NONE),
    market_starts=read_only(NO_STARTS),
    members=read_only(NONE),
    table=read_only(np.zeros(0, np.uint64)),
    k=0,
)


@model("session", family="recommend")
@dataclasses.dataclass(kw_only=True)
class SessionVectors(ItemFields, MarkFields, RecommenderModel):
    """Item vectors from sessions, bookings, markets and rejections."""

    market_k: Annotated[int, Range(1, 4096)] = 5  # draws from the market for each target
    output: str | OutputLayer = "negative:k=5,power=0.25"  # output layer

    starts = True

    predict_word = predict_item
    prepare = prepare_items
    restore = restore_items
    warm_up = warm_up_windows

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        super().check()
        self.layer = parse_output(self.output)
        if (self.market or self.rejected) and self.layer.name != "negative":
            raise ConfigError(
                f"output={self.layer.name}: market and rejected add noise words to those of output=negative; "
                "use that, or leave market and rejected out"
            )
        check_windows(self)
        if (self.item_type is None) != (self.user_type is None) or (self.item_type and not self.booked):
            raise ConfigError(
                "item_type, user_type: name both, and booked, since types are learned from bookings; or none"
            )

    def wiring(self, sessions: Sessions = NO_SESSIONS) -> Wiring:
        """Return what predicts what: the centre its neighbors and the booked item."""
        most, negatives = 2 * self.window + 1, self.market is not None or self.rejected is not None
        given = sessions.k * most + int(np.diff(sessions.rejected_starts).max(initial=0))
        feeder = functools.partial(SessionFeeder if negatives else BookedFeeder, sessions=sessions)
        window = Window(self.window, self.shrink)
        return Wiring(feeder, None, window, targets=most, rounds=most, given=given, listed=most)

    def training(self, data: LogData, begins: Begins, tells: Tells) -> InEpochs[LearnedItems]:
        """Return a training; the vectors of types are learned first."""
        sessions, types = sessions_of(self, data.text), None
        if self.item_type is not None:
            types = None if begins.learned is None else begins.learned.types
            types = types or learn_types(self, data.text, tells)
        windows, wiring = near_words(data.text, beside=line_numbers(data.text)), self.wiring(sessions)
        return item_training(self, wiring, data, windows, begins, tells, usual_lr=LR, types=types)

    def make_answers(self, learned: LearnedItems) -> "TypeAnswers":
        """Return what answers by the vectors of items and types."""
        return TypeAnswers(self, learned, leaves_out_seen=self.leaves_out_seen(learned.record))

    @property
    def types(self) -> LearnedTypes | None:
        """The vectors of types of users and items; None if there are none."""
        found: LearnedTypes | None = self.learned.types
        return found

    def items_for(self, user_type: str, k: int = 10) -> list[Recommendation]:
        """Return the k items whose types go best with a type of users, of each type the most frequent ones.

        So a user without a history gets an answer, and items that were hardly seen are found by their type.
        """
        assert isinstance(self.answers, TypeAnswers)
        return self.answers.items_for(user_type, k)


class TypeAnswers(ItemAnswers):
    """Answers by vectors of items, and of types of users and items."""

    def items_for(self, user_type: str, k: int) -> list[Recommendation]:
        """Return the k items whose types go best with a type of users."""
        types = self.learned.types
        if types is None:
            raise DataError("this model has no types: train it with item_type, user_type and booked")
        if USER + a_text("user_type", user_type) not in types.vectors:
            known = [word.removeprefix(USER) for word in types.vectors.words if word.startswith(USER)]
            raise DataError(f"{user_type!r} is not a type of users that the model knows: {', '.join(known)}")
        of_type = types.scores(USER + user_type)
        kinds = item_values(self.record.kept.sides, str(self.settings.item_type).split(","))
        scores = np.array([of_type.get(kind, -np.inf) for kind in kinds], np.float32)
        best = largest(scores, whole("k", k, 1))
        return self._named(best, scores[best])


def line_numbers(text: Corpus) -> list[Ids]:
    """Return the number of each line in the whole text, for each shard."""
    return by_shard(text, np.arange(text.sentences, dtype=np.int32))


def sessions_of(model: SessionVectors, log: Log) -> Sessions:
    """Return what a log knows of its lines and markets, as far as columns are named."""
    if not log.marks.size and (model.booked is not None or model.rejected is not None):
        raise DataError("booked, rejected: the log was read without these columns; read it with them")
    ids, sizes = np.asarray(log.ids_of_lines), np.diff(log.starts)
    line_of, marks = np.repeat(np.arange(sizes.size), sizes), log.marks
    booked = np.full(sizes.size, -1, np.int32)
    if model.booked is not None:
        places = np.flatnonzero(marks & BOOKED)
        booked[line_of[places]] = ids[places]  # of several, the last one stays
    refused = np.flatnonzero(marks & REJECTED) if model.rejected is not None else np.flatnonzero(NONE)
    pairs = np.unique(line_of[refused] * len(log.items) + ids[refused])
    return _with_markets(model, log, booked, *np.divmod(pairs, len(log.items)))


def _with_markets(model: SessionVectors, log: Log, booked: Ids, lines: Any, rejected: Any) -> Sessions:
    """Return the sessions, given pairs of a line and a rejected item, with the markets of items."""
    market_of, counts = np.zeros(0, np.int32), np.zeros(0, np.int64)
    if model.market is not None:
        if model.market not in log.sides:
            raise DataError(f"market={model.market}: no item of the log has a value of this column")
        values, starts = flat(log.sides[model.market])
        market_of = np.full(len(log.items), -1, np.int32)
        named = np.diff(starts) > 0
        market_of[named] = values[starts[:-1][named]]
        counts = np.bincount(market_of[named], minlength=len(log.sides[model.market].vocabulary))
    members = np.argsort(market_of, kind="stable")[market_of.size - int(counts.sum()) :]
    edges = np.append(0, np.cumsum(counts))
    power = getattr(model.layer, "power", 0.0)
    return Sessions(
        booked=read_only(booked),
        rejected_starts=read_only(np.searchsorted(lines, np.arange(booked.size + 1))),
        rejected=read_only(rejected.astype(np.int32)),
        market_of=read_only(market_of),
        market_starts=read_only(edges),
        members=read_only(members.astype(np.int32)),
        table=read_only(alias_rows(edges, log.items.counts[members].astype(np.float64) ** power)),
        k=model.market_k if model.market is not None else 0,
    )


def learn_types(model: SessionVectors, log: Log, tells: Tells) -> LearnedTypes:
    """Return the vectors of types of users and items: session vectors of the lines of a `TypeLog`."""
    assert model.item_type is not None
    types = type_log(log, model.item_type.split(","))
    tells.say(f"learning vectors of {len(types.log.items):,} types from {types.log.words:,} words")
    shared = ("dim", "window", "epochs", "lr", "seed", "threads", "output", "shrink", "rejected")
    learner = SessionVectors(**{name: getattr(model, name) for name in shared})
    with types.log as text:
        wiring = learner.wiring(type_sessions(learner, types))
        windows, begins = near_words(text, beside=line_numbers(text)), Begins(history=History())
        training = window_training(learner, wiring, windows, begins, Tells(note=nobody), usual_lr=LR)
        training.train()
    if begins.history.interrupted:
        raise KeyboardInterrupt
    found = training.learned
    words = found.in_vocabulary
    return LearnedTypes(Vectors(words.words, found.params.in_vectors, words.counts), found.params.out_vectors)


def type_sessions(model: SessionVectors, types: TypeLog) -> Sessions:
    """Return the rejections of each line of types."""
    index, refused = types.log.items.index, types.rejected if model.rejected is not None else ()
    pairs = [(line, index[word]) for line, words in enumerate(refused) for word in sorted(words)]
    lines, rejected = np.array(pairs, np.int64).reshape(-1, 2).T
    return _with_markets(model, types.log, np.full(types.log.sentences, -1, np.int32), lines, rejected)


def reference(x: Doubles, targets: Doubles, negatives: Doubles) -> tuple[Doubles, ...]:
    """Compute the loss of a centre x, and its gradients for x, targets and negatives, which are rows.

    The booked item is one more target; draws and rejected items are negatives.

    >>> loss, *gradients = reference(np.ones(1), np.zeros((2, 1)), np.zeros((1, 1)))
    >>> float(loss.round(4)), [g.tolist() for g in gradients]
    (2.0794, [[0.0], [[-0.5], [-0.5]], [[0.5]]])
    """
    right, wrong = targets @ x, negatives @ x
    loss = np.logaddexp(0, -right).sum() + np.logaddexp(0, wrong).sum()
    up, down = -1 / (1 + np.exp(right)), 1 / (1 + np.exp(-wrong))
    return loss, up @ targets + down @ negatives, np.outer(up, x), np.outer(down, x)


@inner
def line_of(feeder: Any, kept: Any, centre: Any) -> Any:
    """Return the number of the line that a centre is in."""
    return feeder.text.beside[kept.line[kept.begin[centre]]]


@inner
def booked_with(feeder: Any, kept: Any, centre: Any) -> Any:
    """Return what was booked in the session of a centre; -1: nothing, or the centre itself."""
    booked = feeder.sessions.booked[line_of(feeder, kept, centre)]
    return np.int32(-1) if booked == kept.word[centre] else booked


def _around_and_booked(feeder: Any, scratch: Any, centre: Any) -> Any:
    """Return the items around the centre, and the booked one, as targets, each with its own draws."""
    kept, inputs = scratch.feed, scratch.inputs
    count, times, total = fill_inputs(kept, kept.word, centre, inputs, 1)
    booked = booked_with(feeder, kept, centre)
    if booked >= 0:
        own, at = inputs.times.size // 2, count
        for i in range(count):
            at = i if inputs.row[i] == booked else at
            inputs.times[own + i] = inputs.times[times + i]
        if at == count:
            inputs.row[at], inputs.times[own + at] = booked, np.float32(0.0)
            count += 1
        inputs.times[own + at] += np.float32(1.0)
        for pad in range(own + count, own + count + LANES):
            inputs.times[pad] = np.float32(0.0)
        times, total = own, total + 1
    return Targets(inputs.row, 0, inputs.times, times, count, total, total, 1)


register_windows(BookedFeeder, _around_and_booked)
register_windows(SessionFeeder, _around_and_booked)


@input_of.register(SessionFeeder)
@input_of.register(BookedFeeder)
def _centre(feeder: Any, shape: Any, scratch: Any, centre: Any, how: Any) -> Any:
    kept, inputs = scratch.feed, scratch.inputs
    one = np.float32(1.0)
    pairs = contexts_of(kept, centre) + np.int64(booked_with(feeder, kept, centre) >= 0)
    inputs.row[0] = kept.row[centre]
    return Bag(min(pairs, 1), ones_at(inputs, 1), pairs, one, one, one)


@given_columns.register(SessionFeeder)
def _negatives(
    feeder: Any, tables: Any, scratch: Any, centre: Any, targets: Any, state: Any, first: Any, n: Any
) -> Any:
    """Add draws from the market of the centre, and the rejected items of its session."""
    sessions, kept = feeder.sessions, scratch.feed
    columns = scratch.columns
    one, item = np.float32(1.0), kept.word[centre]
    drop = one / np.float32(targets.total) if tables.drop_hits else np.float32(0.0)
    market = sessions.market_of[item] if sessions.market_of.size else np.int32(-1)
    if market >= 0:
        begin = sessions.market_starts[market]
        size = sessions.market_starts[market + 1] - begin
        for _ in range(sessions.k * targets.total):
            state += GAMMA
            drawn = sessions.members[begin + draw_within(sessions.table, begin, size, mix(state))]
            n = _add_negative(columns, first, n, drawn, one, drop)
    line = line_of(feeder, kept, centre)
    for i in range(sessions.rejected_starts[line], sessions.rejected_starts[line + 1]):
        if sessions.rejected[i] != item:
            n = _add_negative(columns, first, n, sessions.rejected[i], one, np.float32(0.0))
    return n, state


@inner
def _add_negative(columns: Any, first: Any, n: Any, item: Any, weight: Any, drop: Any) -> Any:
    """Add to the weight of the column of an item, which may be new; return the number of columns."""
    at = find(columns, first, n, item)
    if at < 0:
        put(columns, first + n, item, 0.0, weight, 0.0)
        return n + 1
    columns.weight[first + at] += weight - drop * columns.label[first + at]
    return n
