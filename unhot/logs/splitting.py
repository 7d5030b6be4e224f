"""Splits of a log: what is learned from, what settings are chosen on, and what is tested.

A split cuts each line at two places: what is before the first is train, what is between them is validation,
what comes after the second is test. So nothing that is learned from comes after what is asked, in any line.

    leave-last-out   the last event of a user's last line is test, the one before it validation; all else is
                     train, and so are lines of fewer than three events
    time             the last events of the log, by time, are test, those before them validation
    session          the last lines are test, those before them validation
    none             everything is train

A case is a question: after the items before a place of a line, which item comes next? Each event of
validation or test is a case, unless nothing comes before it in its line.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import ConfigError, DataError, one_of
from unhot.logs.features import EventColumns
from unhot.logs.log import Log
from unhot.types import Ids, Starts

SPLITS = ("none", "leave-last-out", "time", "session")


class Cases(NamedTuple):
    """Questions to a recommender: after ids[begins[i] : ends[i]] comes targets[i]."""

    ids: Ids
    begins: Starts
    ends: Starts
    targets: Ids
    lines: Starts  # the line of each case; cases of one line belong to one user or session
    users: Ids  # the user of each case, -1: none
    item_words: Sequence[str]
    user_words: Sequence[str]
    columns: EventColumns  # of all ids

    def sample(self, most: int, seed: int = 1) -> "Cases":
        """Return at most so many of the cases, drawn at random."""
        if self.ends.size <= most:
            return self
        chosen = np.sort(np.random.default_rng(seed).choice(self.ends.size, most, replace=False))
        of_cases = ("begins", "ends", "targets", "lines", "users")
        return self._replace(**{name: getattr(self, name)[chosen] for name in of_cases})


class Split(NamedTuple):
    """The two places at which each line of a log is cut."""

    log: Log
    train: Starts  # [lines] behind the last event of train
    validation: Starts  # [lines] behind the last event of validation

    def cases(self, part: str) -> Cases:
        """Return the questions of a part: validation or test."""
        one_of("part", part, ("validation", "test"))
        log, stops = self.log, self.log.starts[1:]
        first, last = (self.train, self.validation) if part == "validation" else (self.validation, stops)
        sizes = last - first
        lines = np.repeat(np.arange(sizes.size), sizes)
        places = np.arange(lines.size) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[lines]
        asked = places > log.starts[lines]
        return _asked(log, lines[asked], places[asked])


def last_cases(log: Log) -> Cases:
    """Return the questions of a log of prefixes: which item comes last in each line."""
    lines = np.flatnonzero(np.diff(log.starts) > 1)
    if not lines.size:
        raise DataError(
            "no line has two items: give prefixes, one a line, each with its target as the last item"
        )
    return _asked(log, lines, log.starts[1:][lines] - 1)


def _asked(log: Log, lines: Starts, places: Starts) -> Cases:
    """Return the questions for the items at some places of lines."""
    ids, words = log.ids_of_lines, (log.items.words, log.users.words)
    return Cases(ids, log.starts[lines], places, ids[places], lines, log.user_of[lines], *words, log.columns)


def split_log(log: Log, how: str, share: float = 0.05, *, test: bool = True) -> Split:
    """Cut a log; `share`: of its time or lines for each of validation and test; test=False: no test."""
    one_of("split", how, SPLITS)
    if not 0 < share < 0.5:
        raise ConfigError(f"share={share}: must be between 0 and 0.5")
    starts, stops = log.starts[:-1], log.starts[1:]
    sizes, parts = stops - starts, (1 + test, int(test))  # how many parts come after each cut
    if how == "none":
        return Split(log, stops, stops)
    if how == "leave-last-out":
        cut = ((sizes >= 1 + parts[0]) & _last_lines(log)).astype(np.int64)
        return Split(log, *(stops - cut * after for after in parts))
    if how == "session":
        lines = np.arange(sizes.size)
        return Split(
            log, *(np.where(lines < sizes.size * (1 - after * share), stops, starts) for after in parts)
        )
    if not log.times.size:
        raise DataError(
            "split=time: the log has no times; name their column (time=, or --time), or use another split"
        )
    return Split(log, *(starts + _early(log, 1 - after * share) for after in parts))


def check_order(log: Log, how: str, *, in_order: bool = False) -> None:
    """Raise a `DataError` if the last events are to be held out, and nothing says which ones are the last.

    Lines of sessions have an order by themselves. Rows have one by their times, or if `in_order` says so.
    """
    if how != "none" and not (log.times.size or log.how.ordered or in_order):
        columns = ", ".join(name[:80] for name in log.how.seen[:50]) or "not known"
        raise DataError(
            f"split={how}: the log has no times, so nothing says which events are the last: name the column "
            f"of times (time=, or --time); the columns are {columns}. If the rows are in order of time, say "
            "so (in_order=True, or --in-order)"
        )


def _last_lines(log: Log) -> NDArray[np.bool_]:
    """Return which lines are the last of their user; lines without a user are."""
    named = np.flatnonzero(log.user_of >= 0)
    last = np.full(len(log.users), -1)
    last[log.user_of[named]] = named  # of several lines the last one stays
    found = np.ones(log.sentences, np.bool_)
    found[named] = last[log.user_of[named]] == named
    return found


def _early(log: Log, share: float) -> Starts:
    """Return how many events of each line are among the earliest of the log, up to a share of them all."""
    edge = np.quantile(log.times, share, method="higher") if share < 1 else np.inf
    return np.add.reduceat((log.times < edge).astype(np.int64), log.starts[:-1])
