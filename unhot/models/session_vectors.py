"""Vectors from sessions that end in a booking, as Airbnb's for its listings.

What was booked is near everything in its session, however far apart (a global context). Noise also comes from
the market of the centre, so that items of one market are told apart. Items for which a user was rejected are
kept apart from what the user looked at. The loss is in session_feeders.py. A term counts only if its column
is named: booked, market, rejected.

With item_type and user_type, types of users and items have vectors, too, in one space (type_vectors.py): they
serve items and users that were hardly seen.

Reference: Grbovic and Cheng, Real-time personalization using embeddings for search ranking at Airbnb, 2018.
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.corpus.given_ids import flat
from unhot.corpus.indexed_folder import read_only
from unhot.errors import ConfigError, DataError, whole
from unhot.items.recommender import Recommendation
from unhot.kernels.bags import Bags
from unhot.largest import largest
from unhot.logs.gathering import BOOKED, REJECTED
from unhot.logs.log import Log
from unhot.models.fitting import Begins, Tells, nobody
from unhot.models.item_vectors import ItemVectors
from unhot.models.model import model
from unhot.models.session_feeders import BookedFeeder, SessionFeeder, Sessions
from unhot.models.settings import Range
from unhot.models.type_vectors import USER, LearnedTypes, TypeLog, item_values, type_log, types_from
from unhot.models.wiring import Wiring
from unhot.noise.alias import alias_rows
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun
from unhot.types import Ids, Starts
from unhot.vectors.formats.directory import SavedModel

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
class SessionVectors(ItemVectors):
    """Item vectors from sessions, bookings, markets and rejections."""

    window: Annotated[int, Range(1, 10_000)] = 5  # items on each side of the centre item
    market_k: Annotated[int, Range(1, 4096)] = 5  # draws from the market for each target
    output: str | OutputLayer = "negative:k=5,power=0.25"  # output layer

    default_lr = 0.025

    def __post_init__(self) -> None:
        """Check the settings."""
        self._sessions: Sessions | None = None  # of the log; None: it is not known yet
        self.types: LearnedTypes | None = None
        super().__post_init__()
        if (self.item_type is None) != (self.user_type is None) or (self.item_type and not self.booked):
            raise ConfigError(
                "item_type, user_type: name both, and booked, since types are learned from bookings; or none"
            )

    @property
    def predicts(self) -> str:
        """What is predicted: the items around the centre."""
        return "contexts"

    @property
    def has_negatives(self) -> bool:
        """Whether there are negatives beside those of the output layer."""
        return self.market is not None or self.rejected is not None

    def check_engine(self) -> None:
        """Raise a `ConfigError` if the settings contradict each other."""
        if self.has_negatives and self.layer.name != "negative":
            raise ConfigError(
                f"output={self.layer.name}: market and rejected add noise words to those of output=negative; "
                "use that, or leave market and rejected out"
            )
        super().check_engine()

    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return the wiring: the centre predicts the items around it, and the booked item."""
        sessions, most = self._sessions or NO_SESSIONS, 2 * self.window + 1
        kind = SessionFeeder if self.has_negatives else BookedFeeder
        given = sessions.k * most + int(np.diff(sessions.rejected_starts).max(initial=0))
        feeder = functools.partial(kind, sessions=sessions)
        return Wiring(feeder, None, targets=most, rounds=most, given=given, listed=most)

    def begin(self, data: Any, begins: Begins, tells: Tells) -> EpochRun[Any]:
        """Make the engine and its run; the vectors of types are learned first."""
        self._sessions = self.sessions_of(data)
        if self.item_type is not None and not (begins.resumed and self.types is not None):
            self.types = self._learn_types(data, tells)
        return super().begin(data, begins, tells)

    def sessions_of(self, log: Log) -> Sessions:
        """Return what the log knows of its lines and markets, as far as columns are named."""
        if not log.marks.size and (self.booked is not None or self.rejected is not None):
            raise DataError("booked, rejected: the log was read without these columns; read it with them")
        ids, sizes = np.asarray(log.ids_of_lines), np.diff(log.starts)
        line_of, marks = np.repeat(np.arange(sizes.size), sizes), log.marks
        booked = np.full(sizes.size, -1, np.int32)
        if self.booked is not None:
            places = np.flatnonzero(marks & BOOKED)
            booked[line_of[places]] = ids[places]  # of several, the last one stays
        refused = np.flatnonzero(marks & REJECTED) if self.rejected is not None else np.flatnonzero(NONE)
        pairs = np.unique(line_of[refused] * len(log.items) + ids[refused])
        return self._with_markets(log, booked, *np.divmod(pairs, len(log.items)))

    def _with_markets(self, log: Log, booked: Ids, lines: Any, rejected: Any) -> Sessions:
        """Return the sessions, given pairs of a line and a rejected item, with the markets of items."""
        market_of, counts = np.zeros(0, np.int32), np.zeros(0, np.int64)
        if self.market is not None:
            if self.market not in log.sides:
                raise DataError(f"market={self.market}: no item of the log has a value of this column")
            values, starts = flat(log.sides[self.market])
            market_of = np.full(len(log.items), -1, np.int32)
            named = np.diff(starts) > 0
            market_of[named] = values[starts[:-1][named]]
            counts = np.bincount(market_of[named], minlength=len(log.sides[self.market].vocabulary))
        members = np.argsort(market_of, kind="stable")[market_of.size - int(counts.sum()) :]
        edges = np.append(0, np.cumsum(counts))
        power = getattr(self.layer, "power", 0.0)
        return Sessions(
            booked=read_only(booked),
            rejected_starts=read_only(np.searchsorted(lines, np.arange(booked.size + 1))),
            rejected=read_only(rejected.astype(np.int32)),
            market_of=read_only(market_of),
            market_starts=read_only(edges),
            members=read_only(members.astype(np.int32)),
            table=read_only(alias_rows(edges, log.items.counts[members].astype(np.float64) ** power)),
            k=self.market_k if self.market is not None else 0,
        )

    def beside(self, data: Corpus | Cells) -> Sequence[Ids]:
        """Return the number of each line in the whole log, for each shard."""
        assert isinstance(data, Corpus)
        sizes = [shard.starts.size - 1 for shard in data.shards]
        numbers = np.arange(sum(sizes), dtype=np.int32)
        return [read_only(part) for part in np.split(numbers, np.cumsum(sizes)[:-1])]

    def _learn_types(self, log: Log, tells: Tells) -> LearnedTypes:
        """Return the vectors of types of users and items."""
        assert self.item_type is not None
        types = type_log(log, self.item_type.split(","))
        shared = ("dim", "window", "epochs", "lr", "seed", "threads", "output", "shrink", "rejected")
        learner = TypeVectors(types, **{name: getattr(self, name) for name in shared})
        tells.say(f"learning vectors of {len(types.log.items):,} types from {types.log.words:,} words")
        with types.log as text:
            learner.fit(text, note=nobody)
        if learner.history.interrupted:
            raise KeyboardInterrupt
        return LearnedTypes(learner.vectors, learner.out_vectors.vectors)

    def items_for(self, user_type: str, k: int = 10) -> list[Recommendation]:
        """Return the k items whose types go best with a type of users, of each type the most frequent ones.

        So a user without a history gets an answer, and items that were hardly seen are found by their type.
        """
        if self.types is None:
            raise DataError("this model has no types: train it with item_type, user_type and booked")
        if USER + user_type not in self.types.vectors:
            known = [word.removeprefix(USER) for word in self.types.vectors.words if word.startswith(USER)]
            raise DataError(f"{user_type!r} is not a type of users that the model knows: {', '.join(known)}")
        of_type = self.types.scores(USER + user_type)
        kinds = item_values(self.kept.sides, str(self.item_type).split(","))
        scores = np.array([of_type.get(kind, -np.inf) for kind in kinds], np.float32)
        best = largest(scores, whole("k", k, 1))
        return self._named(best, scores[best])

    def learned_tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return what was learned, with the vectors of types."""
        types = {} if self.types is None else self.types.tensors()
        return {**super().learned_tensors(complete=complete), **types}

    def take(self, saved: SavedModel) -> None:
        """Take over the tensors of a saved model."""
        super().take(saved)
        self.types = types_from(saved.tensors)


class TypeVectors(SessionVectors):
    """Learns vectors of types: session vectors whose lines and rejections are those of a `TypeLog`."""

    def __init__(self, types: TypeLog, **settings: Any) -> None:
        """Take the lines, and the settings of session vectors."""
        self._types = types
        super().__init__(**settings)

    def sessions_of(self, log: Log) -> Sessions:
        """Return the rejections of each line."""
        index, pairs = log.items.index, []
        for line, words in enumerate(self._types.rejected if self.rejected is not None else ()):
            pairs += [(line, index[word]) for word in sorted(words)]
        lines, rejected = np.array(pairs, np.int64).reshape(-1, 2).T
        return self._with_markets(log, np.full(log.sentences, -1, np.int32), lines, rejected)
