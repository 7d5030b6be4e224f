"""Models that learn from a log of users and items, and recommend items.

The settings say how the log is read, which part of it is learned from, and what the saved model keeps.
"""

import contextlib
import dataclasses
import functools
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.items.kept_cases import keep_cases, kept_part, saved_cases
from unhot.items.kept_log import KeptLog, keep_of
from unhot.items.recommender import Recommender
from unhot.items.side_values import side_values
from unhot.logs.encoding import read_log
from unhot.logs.log import Log, make_log
from unhot.logs.log_reading import MARKS
from unhot.logs.splitting import Cases, Split, check_order, split_log
from unhot.models.fitting import Reads, Tells, are_texts, names_of, nobody
from unhot.models.model import L, Model
from unhot.models.settings import Range
from unhot.train.checkpoint import fingerprint
from unhot.vectors.formats.directory import SavedModel
from unhot.vocab.vocabulary import UnknownWord, Vocabulary

READING = ("user", "item", "time", "weight", "session", "format", "min_rating", "strict", *MARKS)
EVENTS_ALONE: dict[str, Any] = {"items": None, "side": ()}  # how a log is read to ask a trained model
SHAPING = ("repeats", "core", "gap", "in_order", "items", "threads")


@dataclasses.dataclass(kw_only=True)
class LogModel(Recommender, Model[L]):
    """Settings of a model that learns from a log."""

    # number of threads; the models that only count give the same bytes with any number, those that learn in
    # epochs (item2vec, session, graph, eges) with 1 thread and the same seed
    threads: Annotated[int, Range(1, 1024)] = 2
    user: str | None = None  # the column of users, if it is not called user, user_id, customer or the like
    item: str | None = None  # the column of items, if it is not called item, product, movieId or the like
    # the column of times: seconds, or dates, if it is not called time, timestamp, date, ts or the like
    time: str | None = None
    weight: str | None = None  # the column of ratings or weights, if it is not called rating or weight
    session: str | None = None  # the column of sessions; a session is a sequence of its own
    # the column that says what was booked or bought; session: the booked item is near its whole session
    booked: str | None = None
    # the column that says for which items a user was rejected; session: such items are kept apart
    rejected: str | None = None
    user_type: str | None = None  # the column of types of users, such as new; session: types have vectors
    item_type: str | None = None  # columns of the item that are its type together, such as kind,price
    market: str | None = None  # the column of the item's market; session: noise also comes from the market
    side: str | None = None  # columns with values of the item, such as brand,colour
    items: str | None = None  # a file with the names of items, and with side columns: CSV, JSONL or JSON
    # the format of the log: by default what its name and its first bytes say; sessions: a line has the items
    # of a session; user-sessions: a line has a user, then items
    format: Literal["csv", "tsv", "jsonl", "parquet", "movielens", "sessions", "user-sessions"] | None = None
    min_rating: float | None = None  # leave out events with a smaller rating
    repeats: Literal["keep", "merge"] = "keep"  # keep all events of a line with an item, or only the first
    core: Annotated[int, Range(0)] = 0  # drop users and items with fewer events than this, repeatedly
    gap: float | None = None  # minutes without an event after which a user's next session begins
    # rows without times are in order of time; a split of rows without times needs this
    in_order: bool = False
    strict: bool = False  # stop at the first bad row instead of counting bad rows
    # what is held out: of each user the last event for the test and the one before it for validation; or the
    # last events by time; or the last sessions; or nothing
    split: Literal["none", "leave-last-out", "time", "session"] = "none"
    # split time and session: the share of the log that is the test, and as much again for validation
    share: Annotated[float, Range(0)] = 0.05
    # choose on validation first, then learn from train and validation together
    refit: bool = False
    with_users: bool = False  # keep the log in the model's folder: users' names and histories

    unit = "interactions"
    use = "try: unhot recommend for {0} --history ITEM, or unhot recommend similar {0} ITEM"

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self.kept = KeptLog()
        self.kept_cases: dict[str, Any] = {}  # the questions of the split, as tensors
        self.log_facts: dict[str, Any] = {}
        self.exclude_seen: bool | None = None  # instead of what is usual; see `leaves_out_seen`
        self.held_out: Cases | None = None  # questions that a training may be watched on
        if self.refit and self.split == "none":
            raise ConfigError("refit: split=none has no validation; choose a split, or leave refit out")
        if not 0 < self.share < 0.5:
            raise ConfigError(f"share={self.share}: must be between 0 and 0.5")

    @property
    def catalogue(self) -> Vocabulary:
        """The items that can be recommended."""
        return self.learned.out_vocabulary

    @property
    def names(self) -> Sequence[str]:
        """The names of the items; empty if there are none."""
        return self.kept.names

    @property
    def leaves_out_seen(self) -> bool:
        """Whether items of a history are usually left out: not if the lines of the log are sessions."""
        if self.exclude_seen is not None:
            return self.exclude_seen
        sessions = self.session is not None or self.gap is not None or bool(self.log_facts.get("sessions"))
        return not sessions and self.split != "session" and bool(self.log_facts.get("users"))

    def forget(self) -> None:
        """Drop what was made from the old state."""
        super().forget()
        self.__dict__.pop("_histories", None)

    @property
    def side_columns(self) -> list[str]:
        """The columns of the log, or of the file of items, with values of items."""
        named = (self.side, self.market, self.item_type)
        return [column for given in named for column in (given or "").split(",") if column]

    @contextlib.contextmanager
    def open_log(self, source: Any, tells: Tells, **more: Any) -> Iterator[Log]:
        """Give the log: read it as the settings say, unless it is read already."""
        if isinstance(source, Log):
            self.check_read(source)
            yield source
            return
        with self.read(source, tells, **more) as log:
            yield log

    def check_read(self, log: Log) -> None:
        """Raise a `ConfigError` if a log was read with other settings: they cannot be changed any more."""
        for field in dataclasses.fields(self):
            name, mine = field.name, getattr(self, field.name)
            read = log.how.settings.get(name, mine)
            if mine not in (field.default, read):
                raise ConfigError(
                    f"{name}={mine!r}: this log is read already, with {name}={read!r}; give {name} to "
                    "read_log, or leave it out here"
                )

    def read(self, source: Any, tells: Tells, **more: Any) -> Log:
        """Read a log as the settings say, and tell what was read; `more`: further arguments of `read_log`."""
        how = {name: getattr(self, name) for name in (*READING, *SHAPING)}
        how["side"] = tuple(dict.fromkeys(self.side_columns))
        log = read_log(source, progress=tells.reading, **how | more)
        if log.how.columns:
            tells.say(log.how.columns)
        for line in log.facts["report"]:
            tells.warn(line)
        tells.say(
            f"{log.words:,} events of {len(log.users):,} users with {len(log.items):,} items in "
            f"{log.sentences:,} lines"
        )
        return log

    @contextlib.contextmanager
    def open_input(self, reads: Reads, tells: Tells) -> Iterator[Log]:
        """Read the log and give the part to learn from."""
        if any(given is not None for given in (reads.counts, reads.column, reads.phrases)):
            raise ConfigError(
                f"counts, column or phrases: {self.name} learns from a log, not from text; leave these out"
            )
        with self.open_log(reads.source, tells, force=reads.force, directory=reads.directory) as log:
            check_order(log, self.split, in_order=self.in_order)
            split = split_log(log, self.split, self.share)
            self.log_facts = {
                "paths": None if isinstance(reads.source, Log) else names_of(reads.source),
                "checksum": _checksum(log),
                "events": log.words,
                "lines": log.sentences,
                "users": len(log.users),
                "sessions": log.how.sessions,
                "learned_from": "all" if self.split == "none" else "train",
            }
            for name in ("validation", "test") if self.split != "none" else ():
                if not split.cases(name).ends.size:
                    tells.say(f"split={self.split}: the log is too short to hold out a {name} part")
            self.kept_cases = {} if self.with_users else keep_cases(split)
            self.before_learning(split, tells)
            if self.refit:
                self.log_facts["learned_from"] = "train + validation"
            part = log if self.split == "none" else log.part(split.validation if self.refit else split.train)
            with part if part is not log else contextlib.nullcontext(part):
                self.kept = keep_of(log, part.names, side_values(part), users=self.with_users)
                if self.split != "none":
                    self.held_out = None if self.refit else split.cases("validation")
                yield part
            self.held_out = None

    def text_words(self) -> Vocabulary | None:
        """Return None: when a training is resumed, the items of the log are counted again."""
        return None

    def before_learning(self, split: Split, tells: Tells) -> None:
        """Choose what is chosen on validation before the model learns."""

    def cases_again(self, part: str) -> Cases:
        """Return the questions of validation or test: those that the model keeps, or those of its log."""
        if self.kept_cases:
            return kept_part(self.kept_cases, part)
        return split_log(self.log_again(), self.split, self.share).cases(part)

    def log_again(self) -> Log:
        """Return the log that the model learned from: the one it keeps, or the files that `fit` was given.

        A saved model does not know where its log was.
        """
        if self.kept.log is not None:
            return make_log(self.kept.log)
        paths = self.log_facts.get("paths")
        if not paths:
            raise DataError(
                "this model keeps neither its log nor the questions of its split: give the log that it "
                "learned from (unhot recommend evaluate MODEL LOG), or train with with_users (--with-users)"
            )
        log = self.read(
            paths[0] if len(paths) == 1 else paths, Tells(note=nobody), force=True, **EVENTS_ALONE
        )
        if not self.learned_from_log(log):
            raise DataError(
                f"{', '.join(paths)}: has changed since the model was trained: give the log that it learned "
                "from, or train again"
            )
        return log

    def learned_from_log(self, log: Log) -> bool:
        """Return whether a log is the one that the model learned from."""
        return _checksum(log) == self.log_facts.get("checksum")

    @functools.cached_property
    def _histories(self) -> dict[str, list[int]]:
        """The items of all users, by their names, in the ids of the model."""
        log, index = self.kept.log, self.catalogue.index
        if log is None:
            raise DataError(
                "this model holds no users: give a history, or the log (--log), or train with with_users "
                "(--with-users)"
            )
        return histories_by_user(log.ids, log.starts, log.user_of, log.user_words, log.item_words, index)

    def user_history(self, user: str) -> Sequence[int]:
        """Return the items of a user; raise a `DataError` if the model does not hold them."""
        found = self._histories.get(user)
        if found is None:
            raise UnknownWord(f"{user!r} is not among the {len(self._histories):,} users of the model")
        return found

    def learn_users(self, log: Log) -> None:
        """Take the histories of users from a log, to answer for them; they are not saved."""
        words = (log.users.words, log.items.words)
        self._histories = histories_by_user(
            log.ids_of_lines, log.starts, log.user_of, *words, self.catalogue.index
        )

    def facts(self) -> dict[str, Any]:
        """Return which part of the log was learned from, and what is kept of it; paths are not saved."""
        log = {name: value for name, value in self.log_facts.items() if name != "paths"}
        names = {} if self.items is None or not self.complete else {"items": Path(self.items).name}
        return {**super().facts(), **names, "log": {**log, "holds_users": self.kept.log is not None}}

    def tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return what was learned, and what is kept of the log."""
        return {**self.learned_tensors(complete=complete), **self.kept.tensors(), **self.kept_cases}

    def learned_tensors(self, *, complete: bool) -> dict[str, Any]:
        """Return the tensors of what was learned."""
        return super().tensors(complete=complete)  # type: ignore[safe-super]

    def take(self, saved: SavedModel) -> None:
        """Take over what is kept of the log; the model's own class takes the rest."""
        super().take(saved)  # type: ignore[safe-super]
        facts = saved.config.get("log")
        paths = facts.get("paths") if isinstance(facts, dict) else 0
        if not isinstance(facts, dict) or not (paths is None or are_texts(paths)):
            raise FormatError("a recommender without facts about its log: config.json is damaged")
        self.log_facts = {name: value for name, value in facts.items() if name != "paths"}
        self.kept_cases = saved_cases(saved.tensors)
        self.kept = KeptLog.of_tensors(saved.tensors, len(self.catalogue))


def histories_by_user(
    ids: Any, starts: Any, user_of: Any, users: Sequence[str], items: Sequence[str], index: dict[str, int]
) -> dict[str, list[int]]:
    """Return the items that each user had, oldest first, in other ids; unknown items are left out."""
    known = np.array([index.get(item, -1) for item in items], np.int32)
    found: dict[str, list[int]] = {user: [] for user in users}
    for line in np.flatnonzero(user_of >= 0).tolist():
        line_ids = known[ids[starts[line] : starts[line + 1]]]
        found[users[user_of[line]]] += line_ids[line_ids >= 0].tolist()
    return found


def _checksum(log: Log) -> str:
    """Return a checksum of a log: its lines, and its times, by which it may be split."""
    checks = [zlib.crc32(numbers.tobytes()) for numbers in (log.times, log.marks)]
    return f"{fingerprint(log)}-{checks[0]:08x}-{checks[1]:08x}"
