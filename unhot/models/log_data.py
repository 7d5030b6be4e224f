"""From a log to what recommenders learn from: the log read as the settings say, its split, what is kept."""

import contextlib
import dataclasses
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from unhot.errors import ConfigError, DataError, a_text
from unhot.items.kept_log import LogRecord, keep_cases, keep_of, kept_part, side_values
from unhot.logs.encoding import read_log
from unhot.logs.log import Log, make_log
from unhot.logs.log_reading import MARKS
from unhot.logs.splitting import Cases, Split, check_order, split_log
from unhot.models.fitting import Reads, Tells, names_of, nobody
from unhot.models.settings import FeatureFields, LogFields, MarkFields, check_settings
from unhot.train.checkpoint import fingerprint

READING = (
    *("user", "item", "time", "weight", "session", "format", "header", "separator", "time_format"),
    *("min_rating", "strict"),
)
SHAPING = ("repeats", "core", "gap", "in_order", "items", "threads")
# columns that are read -> the settings that name them, with commas between them
COLUMNS = {"side": ("side", "market", "item_type"), "features": ("features",), "categories": ("categories",)}
EVENTS_ALONE: dict[str, Any] = {"items": None, "side": ()}  # how a log is read to ask a trained model


class Watched(NamedTuple):
    """Questions that a training is watched on."""

    cases: Cases
    exclude_seen: bool | None = None  # None: as the model usually does


@dataclasses.dataclass(kw_only=True)
class LogSettings(LogFields, MarkFields, FeatureFields):
    """How a log is read, without a model that learns from it."""

    def __post_init__(self) -> None:
        """Check the settings."""
        check_settings(self)


class LogData(NamedTuple):
    """What a recommender learns from."""

    text: Log  # the part of the log to learn from
    split: Split
    record: LogRecord
    watched: Watched | None
    epochs_found: int | None = None  # on validation, before the model learns from all but the test


def read_as(model: Any, source: Any, tells: Tells, **more: Any) -> Log:
    """Read a log as the settings say, and tell what was read; `more`: further arguments of `read_log`."""
    how: dict[str, Any] = {name: getattr(model, name, None) for name in (*READING, *MARKS, *SHAPING)}
    for reading, settings in COLUMNS.items():
        named = ",".join(a_text(name, getattr(model, name, None) or "") for name in settings)
        how[reading] = tuple(dict.fromkeys(column for column in named.split(",") if column))
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
def opened_log(model: Any, source: Any, tells: Tells, **more: Any) -> Iterator[Log]:
    """Give the log: read it as the settings say, unless it is read already."""
    if isinstance(source, Log):
        _check_read(model, source)
        yield source
        return
    with read_as(model, source, tells, **more) as log:
        yield log


def _check_read(model: Any, log: Log) -> None:
    """Raise a `ConfigError` if a log was read with other settings: they cannot be changed any more."""
    for field in dataclasses.fields(model):
        name, mine = field.name, getattr(model, field.name)
        read = log.how.settings.get(name, mine)
        if mine not in (field.default, read):
            raise ConfigError(
                f"{name}={mine!r}: this log is read already, with {name}={read!r}; give {name} to "
                "read_log, or leave it out here"
            )


@contextlib.contextmanager
def log_data(model: Any, reads: Reads, tells: Tells) -> Iterator[LogData]:
    """Read the log, split it, and give the part to learn from."""
    with opened_log(model, reads.source, tells, force=reads.force, directory=reads.directory) as log:
        check_order(log, model.split, in_order=model.in_order)
        split, cut = split_log(log, model.split, model.share), model.split != "none"
        for name in ("validation", "test") if cut else ():
            if not split.cases(name).ends.size:
                tells.say(f"split={model.split}: the log is too short to hold out a {name} part")
        facts = {
            "paths": None if isinstance(reads.source, Log) else names_of(reads.source),
            "checksum": _checksum(log),
            "events": log.words,
            "lines": log.sentences,
            "users": len(log.users),
            "sessions": log.how.sessions,
            "learned_from": ("train + validation" if model.refit else "train") if cut else "all",
        }
        cases = {} if model.with_users else keep_cases(split, columns=model.uses_columns)
        part = log.part(split.validation if model.refit else split.train) if cut else log
        with part if cut else contextlib.nullcontext():
            kept = keep_of(log, part.names, side_values(part), users=model.with_users)
            watched = reads.validation
            if cut:
                watched = None if model.refit else Watched(split.cases("validation"))
            yield LogData(part, split, LogRecord(kept, cases, facts), watched)


def cases_again(model: Any, part: str) -> Cases:
    """Return the questions of validation or test: those that a model keeps, or those of its log."""
    record = model.learned.record
    if record.cases:
        return kept_part(record.cases, part)
    return split_log(log_again(model), model.split, model.share).cases(part)


def log_again(model: Any) -> Log:
    """Return the log that a model learned from: the one it keeps, or the files that `fit` was given.

    A saved model does not know where its log was.
    """
    record = model.learned.record
    if record.kept.log is not None:
        return make_log(record.kept.log)
    paths = record.facts.get("paths")
    if not paths:
        raise DataError(
            "this model keeps neither its log nor the questions of its split: give the log that it "
            "learned from (unhot recommend evaluate MODEL LOG), or train with with_users (--with-users)"
        )
    log = read_as(
        model, paths[0] if len(paths) == 1 else paths, Tells(note=nobody), force=True, **EVENTS_ALONE
    )
    if not learned_from_log(model, log):
        raise DataError(
            f"{', '.join(paths)}: has changed since the model was trained: give the log that it learned "
            "from, or train again"
        )
    return log


def learned_from_log(model: Any, log: Log) -> bool:
    """Return whether a log is the one that a model learned from."""
    return bool(_checksum(log) == model.learned.record.facts.get("checksum"))


def _checksum(log: Log) -> str:
    """Return a checksum of a log: its lines, and its times, by which it may be split."""
    checks = [zlib.crc32(numbers.data) for numbers in (log.times, log.marks)]
    return f"{fingerprint(log)}-{checks[0]:08x}-{checks[1]:08x}"
