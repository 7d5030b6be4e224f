"""Gather the rows of one source after another: number words, read times and weights, leave bad rows out.

All words of a column are in one table, whatever their source is. Only words of rows that are kept are
numbered, so their numbers are those of their first appearance.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import lexicon
from unhot.corpus.reading.scanner import grown, new_table
from unhot.errors import DataError
from unhot.logs.cell_texts import TextColumn, numbers_of, values_of
from unhot.logs.fields import check_words, number_words
from unhot.logs.log_reading import MARKS, LogReading
from unhot.logs.log_report import (
    EXAMPLES,
    FINE,
    LIGHT,
    LOW,
    NO_ITEM,
    NO_SESSION,
    NO_USER,
    REASONS,
    TIME,
    WEIGHT,
    LogReport,
)
from unhot.types import Bytes, Doubles, Floats, Ids, Starts
from unhot.vocab.vocabulary import decode_words

DATES = (19_000_101, 21_001_231)  # a median of times between these is a date, year, month and day
UNITS = (1e11, 1e14, 1e17)  # medians of times above these are in milli-, micro-, nanoseconds
WORDS, ARENA = 1 << 12, 1 << 16  # of a new table
WORDED = {"user": NO_USER, "item": NO_ITEM, "session": NO_SESSION, **dict.fromkeys(MARKS, FINE)}
BOOKED, REJECTED = 1, 2
NO = ("0", "0.0", "f", "false", "n", "no", "nan", "none", "null", "-")  # words that say that nothing was
CODES = {**WORDED, "time": TIME, "weight": WEIGHT}
KINDS = {**dict.fromkeys(WORDED, np.int32), "time": np.float64, "weight": np.float32}


def _in_seconds(times: Doubles) -> Doubles:
    """Return times in seconds: numbers may be in smaller units, or dates such as 20240115."""
    middle = np.median(times[:: 1 + times.size // 100_000])
    if DATES[0] <= middle <= DATES[1] and (times % 1 == 0).all():
        years, rest = np.divmod(times.astype(np.int64), 10_000)
        months, days = np.divmod(rest, 100)
        if ((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all():
            first = (years - 1970).astype("datetime64[Y]") + (months - 1).astype("timedelta64[M]")
            seconds = (first + (days - 1).astype("timedelta64[D]")).astype("datetime64[s]")
            return np.asarray(seconds.astype(np.int64), np.float64)
    return np.asarray(times / 1000.0 ** sum(middle > unit for unit in UNITS))


class Events(NamedTuple):
    """Events in the order of the source; users, items and sessions are numbered by first appearance."""

    users: Ids  # [events], -1: no user
    items: Ids  # [events]
    times: Doubles  # [events] seconds; empty if there is no time
    weights: Floats  # [events]; empty if there are none
    sessions: Ids  # [events]; empty if there are none
    user_words: list[str]
    item_words: list[str]
    session_words: list[str]  # for lines of sessions: the numbers of the lines, from 0 on
    sides: dict[str, dict[int, list[str]]]  # column -> item -> values
    report: LogReport
    marks: Bytes  # [events] BOOKED and REJECTED, added up; empty if there are none
    types: Ids  # [events] types of users, -1: none; empty if there are none
    type_words: list[str]
    columns: dict[str, str]  # role -> name of the columns that were taken
    # the names of all columns; empty if lines are sessions, which have an order by themselves
    seen: list[str]


class LogChunk(NamedTuple):
    """Some rows of a log."""

    columns: dict[str, str]  # role -> name
    cells: Callable[[str], TextColumn]  # name -> cells
    numbers: Starts  # of the rows, for people
    wrong: Bytes  # codes of log_report.py
    kind: str  # what is numbered: line or row
    seen: Sequence[str] = ()  # the names of all columns; empty if lines are sessions


class Gathered:
    """The events of all sources so far."""

    def __init__(self, how: LogReading) -> None:
        """Start without events."""
        self.how = how
        self.report = LogReport()
        self.several = False  # files
        self.sessions = count()  # numbers for lines of sessions
        self._lists: dict[str, list[Any]] = {}  # role -> arrays
        self._columns: dict[str, str] = {}  # role -> name
        self._seen: dict[str, None] = {}  # the names of all columns
        self._tables = {role: new_table(WORDS, ARENA) for role in WORDED}
        self._sides: dict[str, dict[int, list[str]]] = {name: {} for name in how.side}

    def take(self, chunk: LogChunk, where: str) -> None:
        """Take the rows of a chunk that are fine, and count the others."""
        self._lists = self._lists or {role: [] for role in chunk.columns}
        if chunk.columns.keys() != self._lists.keys():
            raise DataError(
                f"{where}: has the columns {', '.join(chunk.columns)}, but the file before has "
                f"{', '.join(self._lists)}: read files apart that have other columns"
            )
        self._columns = self._columns or chunk.columns
        self._seen |= dict.fromkeys(map(str, chunk.seen))
        columns = {role: chunk.cells(name) for role, name in chunk.columns.items()}
        wrong, found = chunk.wrong, dict[str, Any]()
        for role, column in columns.items():
            if role in WORDED:  # a row of a session needs no user
                check_words(*column, wrong, FINE if role == "user" and self.how.session else CODES[role])
            else:
                # without min_rating nothing depends on the weights of a log, and a row may have none: NaN
                needed = role == "time" or self.how.weighted or self.how.min_rating is not None
                found[role] = numbers_of(column, wrong if needed else wrong.copy(), CODES[role])
        if self.how.min_rating is not None:
            wrong[(wrong == FINE) & (found["weight"] < self.how.min_rating)] = LOW
        if self.how.edges and "weight" in found:
            wrong[(wrong == FINE) & (found["weight"].astype(np.float32) <= 0)] = LIGHT
        kept = np.flatnonzero(wrong == FINE)
        self._count(chunk, columns, len(kept), where)
        for role, column in columns.items():
            new = self._ids(role, column, kept) if role in WORDED else found[role][kept]
            self._lists[role].append(new.astype(KINDS[role], copy=False))
        for name in self.how.side:
            self._take_side(name, chunk.cells(name), kept)

    def _count(self, chunk: LogChunk, columns: dict[str, TextColumn], kept: int, where: str) -> None:
        """Report how many rows there are, and examples of bad ones."""
        report, bad = self.report, np.flatnonzero(chunk.wrong > LOW)
        report.rows += len(chunk.wrong)
        report.kept += kept
        report.bad += len(bad)
        report.low += len(chunk.wrong) - kept - len(bad)
        for row in bad[: EXAMPLES - len(report.examples)].tolist():
            code = int(chunk.wrong[row])
            role = {TIME: "time", WEIGHT: "weight", LIGHT: "weight"}.get(code)
            cell = f" ({columns[role].cells([row])[0]!r:.60})" if role else ""
            text = f"{chunk.kind} {chunk.numbers[row]}: {REASONS[code]}{cell}"
            if self.how.strict:
                raise DataError(f"{where}: {text}; mend it, or leave strict out to skip bad rows")
            report.examples.append(f"{where}: {text}" if self.several else text)

    def _ids(self, role: str, column: TextColumn, kept: Starts) -> Ids:
        """Return the numbers of the words of some rows; -1: there is none."""
        ids, done = np.empty(len(kept), np.int32), 0
        while (done := number_words(*column, kept, self._tables[role], ids, done)) < len(kept):
            self._tables[role] = grown(self._tables[role], len(column.text))
        return ids

    def _take_side(self, name: str, column: TextColumn, kept: Starts) -> None:
        """Take the values of items: the first cell of an item that is not empty decides."""
        spans, known = column.spans[kept, column.k], self._sides[name]
        filled = np.flatnonzero(spans[:, 1] > spans[:, 0])
        items, first = np.unique(self._lists["item"][-1][filled], return_index=True)
        new = [place for place, item in enumerate(items.tolist()) if item not in known]
        values = map(values_of, column.cells(kept[filled[first[new]]]))
        known |= zip(items[new].tolist(), values, strict=True)

    def events(self, where: str) -> Events:
        """Return all events; raise a `DataError` if there are none."""
        if not self.report.kept:
            told = [*self.report.recognized(), *self.report.lines()] or ["there are no rows"]
            least = "" if self.how.min_rating is None else " and min_rating"
            raise DataError(
                f"{where}: no row is left: {'; '.join(map(str.strip, told))}; check the format "
                f"({self.how.format or 'not given'}) and the columns{least}"
            )
        columns = {
            role: np.concatenate([np.empty(0, kind), *self._lists.pop(role, ())])
            for role, kind in KINDS.items()
        }
        users, times = columns["user"], columns["time"]
        if times.size:
            times = _in_seconds(times)
        sides = {
            name: {item: values for item, values in known.items() if values}
            for name, known in self._sides.items()
        }
        tables = {role: lexicon(self._tables[role], escapes=False) for role in WORDED}
        words = {role: decode_words(each.raws(np.arange(len(each.counts)))) for role, each in tables.items()}
        marks = np.zeros(max(columns["booked"].size, columns["rejected"].size), np.uint8)
        for role, mark in (("booked", BOOKED), ("rejected", REJECTED)):
            said = np.array([*(word.strip().lower() not in NO for word in words[role]), False])
            if columns[role].size:
                marks[said[columns[role]]] |= mark
        return Events(
            users=users if users.size else np.full(self.report.kept, -1, np.int32),
            items=columns["item"],
            times=times,
            weights=columns["weight"],
            sessions=columns["session"],
            user_words=words["user"],
            item_words=words["item"],
            session_words=words["session"],
            sides=sides,
            report=self.report,
            marks=marks,
            types=columns["user_type"],
            type_words=words["user_type"],
            columns=self._columns,
            seen=[*self._seen],
        )
