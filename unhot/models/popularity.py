"""Recommend what many had: the items with the most events, of all time or of late.

popularity           score_j = events of item j
recent-popularity    score_j = events of item j among the last n days, or among the last n events
"""

import dataclasses
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.errors import ConfigError, FormatError
from unhot.items.histories import Histories
from unhot.items.ranking import mean_ndcg
from unhot.logs.log import Log
from unhot.logs.splitting import Split
from unhot.models.counted_model import CountedModel, LearnedItems
from unhot.models.fitting import Tells
from unhot.models.model import model
from unhot.models.settings import Range
from unhot.types import Floats

DAY = 86_400.0
DAYS = (1.0, 3.0, 7.0, 14.0, 30.0, 90.0, 365.0)  # tried on validation
SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of all events, tried on validation if there are no times
USUAL_DAYS, USUAL_SHARE = 30.0, 0.1  # without validation
CASES = 2_000  # questions that a setting is tried on


class EventCounts(NamedTuple):
    """The number of events of each item."""

    events: Floats


@model("popularity", family="recommend")
@dataclasses.dataclass(kw_only=True)
class Popularity(CountedModel):
    """Recommend the items with the most events to everybody."""

    def count(self, log: Log, tells: Tells) -> EventCounts:
        """Count the events of each item."""
        return EventCounts(log.items.counts.astype(np.float32))

    def counted_from(self, tensors: dict[str, Any], items: int) -> EventCounts:
        """Check the counts of a saved model."""
        found = tensors.get("events")
        if found is None or found.shape != (items,) or found.dtype != np.float32:
            raise FormatError(f"a {self.name} model without a number for each item: it is damaged")
        return EventCounts(found)

    def scores(self, histories: Histories) -> Floats:
        """Return the counts for each history."""
        return np.tile(self.counted.events, (len(histories), 1))


@model("recent-popularity", family="recommend")
@dataclasses.dataclass(kw_only=True)
class RecentPopularity(Popularity):
    """Recommend the items with the most events of late to everybody."""

    # count the events of so many days before the last one; by default the number is chosen on validation
    days: Annotated[float | None, Range(0)] = None
    # instead of days, count so many of the last events
    events: Annotated[int | None, Range(1)] = None

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        self._chosen: str | None = None  # the setting that was chosen on validation
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

    def before_learning(self, split: Split, tells: Tells) -> None:
        """Choose the number of days or events, unless it is given."""
        if self._chosen is not None:  # for another log
            setattr(self, self._chosen, None)
        if self.days is not None or self.events is not None:
            return
        setting = "days" if split.log.times.size else "events"
        log = split.log.part(split.train) if self.split != "none" else split.log
        choices = DAYS if setting == "days" else [max(1, int(share * log.words)) for share in SHARES]
        cases = split.cases("validation").sample(CASES)
        if not cases.ends.size:
            best: float = USUAL_DAYS if setting == "days" else max(1, int(USUAL_SHARE * log.words))
        else:
            found = {}
            for choice in choices:
                trial = RecentPopularity(**{setting: choice})  # type: ignore[arg-type]
                trial.keep(LearnedItems(log.items, log.items, trial.count(log, tells)))
                found[choice] = mean_ndcg(trial, cases, exclude_seen=self.leaves_out_seen)
            best = max(found, key=found.__getitem__)
        setattr(self, setting, best)
        self._chosen = setting
        tells.say(f"{setting}={best:g}: chosen on validation" if cases.ends.size else f"{setting}={best:g}")
        if log is not split.log:
            log.close()
