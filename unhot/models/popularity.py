"""Recommend what many had: the items with the most events, of all time or of late.

popularity           score_j = events of item j
recent-popularity    score_j = events of item j among the last n days, or among the last n events
"""

import contextlib
import dataclasses
import functools
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError
from unhot.items.histories import Histories
from unhot.items.ranking import mean_ndcg
from unhot.items.recommender import Recommender
from unhot.logs.log import Log
from unhot.models.fitting import Begins, Tells, Training
from unhot.models.log_data import LogData
from unhot.models.model import model
from unhot.models.recommender_model import RecommenderModel
from unhot.models.settings import Range
from unhot.types import Floats
from unhot.vectors.formats.directory import typed_arrays

DAY = 86_400.0
DAYS = (1.0, 3.0, 7.0, 14.0, 30.0, 90.0, 365.0)  # tried on validation
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of all events, tried on validation if there are no times
USUAL_DAYS, USUAL_SHARE = 30.0, 0.1  # without validation
CASES = 2_000  # questions that a setting is tried on


class EventCounts(NamedTuple):
    """The number of events of each item."""

    events: Floats


def counts_from(self: Any, tensors: Mapping[str, Any], items: int) -> EventCounts:
    """Check the counts of a saved model."""
    damaged = f"a {self.name} model without a number for each item: it is damaged"
    return EventCounts(*typed_arrays(tensors, {"events": (np.float32, (items,))}, damaged))


def score_all(self: Any, counted: EventCounts, histories: Histories) -> Floats:
    """Return the counts for each history."""
    return np.tile(counted.events, (len(histories), 1))


@model("popularity", family="recommend")
@dataclasses.dataclass(kw_only=True)
class Popularity(RecommenderModel):
    """Recommend the items with the most events to everybody."""

    counted_from = counts_from
    score = score_all

    def count(self, log: Log, tells: Tells) -> EventCounts:
        """Count the events of each item."""
        return EventCounts(log.items.counts.astype(np.float32))


@model("recent-popularity", family="recommend")
@dataclasses.dataclass(kw_only=True)
class RecentPopularity(RecommenderModel):
    """Recommend the items with the most events of late to everybody."""

    # count the events of so many days before the last one; by default the number is chosen on validation
    days: Annotated[float | None, Range(0)] = None
    # instead of days, count so many of the last events
    events: Annotated[int | None, Range(1)] = None

    counted_from = counts_from
    score = score_all

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other."""
        super().check()
        if self.days is not None and self.events is not None:
            raise ConfigError("days with events: give one of them")

    def count(self, log: Log, tells: Tells) -> EventCounts:
        """Count the last events of each item."""
        if self.events is not None:
            late = log.by_time[-self.events :]
        elif self.days is not None and log.times.size:
            late = np.flatnonzero(log.times > log.times.max() - self.days * DAY)
        else:
            raise ConfigError("days: the log has no times; give events instead, or name the column of times")
        counts = np.bincount(log.ids_of_lines[late], minlength=len(log.items))
        return EventCounts(counts.astype(np.float32))

    def training(self, data: LogData, begins: Begins, tells: Tells) -> Training[Any]:
        """Return a training that counts; choose the number of days or events first, unless it is given."""
        if self.days is not None or self.events is not None:
            return super().training(data, begins, tells)
        chosen = self.choose(data, tells)
        training = dataclasses.replace(self, **chosen).training(data, begins, tells)
        return dataclasses.replace(training, chosen=chosen)

    def choose(self, data: LogData, tells: Tells) -> dict[str, Any]:
        """Return the days or events that are best on validation; without validation the usual number."""
        split, cut = data.split, self.split != "none"
        setting = "days" if split.log.times.size else "events"
        cases = split.cases("validation").sample(CASES)
        with split.log.part(split.train) if cut else contextlib.nullcontext(split.log) as log:
            shares = SHARES if cases.ends.size else (USUAL_SHARE,)
            choices: list[Any] = [max(1, int(share * log.words)) for share in shares]
            if setting == "days":
                choices = [*DAYS] if cases.ends.size else [USUAL_DAYS]
            if not cases.ends.size:
                tells.say(f"{setting}={choices[0]:g}")
                return {setting: choices[0]}
            seen, found = self.leaves_out_seen(data.record), dict[float, float]()
            for choice in choices:
                counted = dataclasses.replace(self, **{setting: choice}).count(log, tells)
                score = functools.partial(self.score, counted)
                answers = Recommender(log.items, data.record, score, leaves_out_seen=seen)
                found[choice] = mean_ndcg(answers, cases, exclude_seen=seen)
        best = max(found, key=found.__getitem__)
        tells.say(f"{setting}={best:g}: chosen on validation")
        return {setting: best}
