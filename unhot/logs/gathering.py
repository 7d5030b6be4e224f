"""Gather the rows of one source after another: number words, read times and weights, leave bad rows out.

All words of a column are in one table, whatever their source is. Only words of rows that are kept are
numbered, so their numbers are those of their first appearance.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.logs.log_reading import MARKS, LogReading
from unhot.logs.log_report import (
    FINE,
    LIGHT,
    LONGEST_ID,
    LOW,
    MIXED,
    NO_ITEM,
    NO_ROW,
    NO_SESSION,
    NO_USER,
    REASONS,
    TIME,
    WEIGHT,
    LogReport,
)
from unhot.logs.log_report import LONG as TOO_LONG
from unhot.rows.arrow import is_list, pyarrow
from unhot.rows.batches import EXAMPLES, RowBatch
from unhot.rows.numbers import BAD, BLANKS, PLAIN_NUMBER, in_seconds, numbers_of, times_of
from unhot.rows.values import as_bytes, spelled, value_lists
from unhot.rows.word_numbers import BLANK, LONG, WordNumbers, encoded
from unhot.types import Bytes, Doubles, Floats, Ids, Starts
from unhot.vocab.vocabulary import decode_words

WORDED = {"user": NO_USER, "item": NO_ITEM, "session": NO_SESSION, **dict.fromkeys(MARKS, FINE)}
BOOKED, REJECTED = 1, 2
NO = ("0", "0.0", "f", "false", "n", "no", "nan", "none", "null", "-")  # words that say that nothing was
NUMBERED = {"time": np.float64, "weight": np.float32}
CELLS = {TIME: "time", MIXED: "time", WEIGHT: "weight", LIGHT: "weight"}  # what to show of a bad row


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
    sides: dict[str, dict[str, list[str]]]  # column -> item -> values
    report: LogReport
    marks: Bytes  # [events] BOOKED and REJECTED, added up; empty if there are none
    types: Ids  # [events] types of users, -1: none; empty if there are none
    type_words: list[str]
    columns: dict[str, str]  # role -> name of the columns that were taken
    # the names of all columns; empty if lines are sessions, which have an order by themselves
    seen: list[str]


class Gathered:
    """The events of all sources so far."""

    def __init__(self, how: LogReading) -> None:
        """Start without events."""
        self.how = how
        self.report = LogReport(how.strict)
        self.sessions = 0  # lines of sessions
        self._columns: dict[str, str] = {}  # role -> name
        self._seen: dict[str, None] = {}  # the names of all columns
        self._words: dict[str, WordNumbers] = {}
        self._numbers: dict[str, list[Any]] = {}  # role -> arrays
        self._time_kind = BAD  # what the first time was
        self._sides: dict[str, dict[str, list[str]]] = {name: {} for name in how.side}

    def take(self, batch: RowBatch, columns: Mapping[str, str], seen: list[str]) -> None:
        """Take the rows of a batch that are fine, and count the others; `seen`: the names of all columns."""
        self._columns = self._columns or dict(columns)
        if columns.keys() != self._columns.keys():
            raise DataError(
                f"{batch.where}: has the columns {', '.join(columns)}, but the file before has "
                f"{', '.join(self._columns)}: read files apart that have other columns"
            )
        self._seen |= dict.fromkeys(map(str, seen))
        cells = {role: batch.cells.column(name) for role, name in columns.items()}
        wrong: Bytes = np.zeros(len(batch.cells), np.uint8)
        wrong[[*batch.faults]] = NO_ROW
        words = {role: self._check_words(role, cells[role], wrong) for role in cells if role in WORDED}
        numbers = {role: self._check_numbers(role, cells[role], wrong) for role in cells if role in NUMBERED}
        if self.how.min_rating is not None:
            wrong[(wrong == FINE) & (numbers["weight"] < self.how.min_rating)] = LOW
        if self.how.edges and "weight" in numbers:
            wrong[(wrong == FINE) & (numbers["weight"].astype(np.float32) <= 0)] = LIGHT
        kept = np.flatnonzero(wrong == FINE)
        self._count(batch, cells, wrong, len(kept))
        for role, (ids, known) in words.items():
            self._words.setdefault(role, WordNumbers()).add(ids, known, kept)
        for role, found in numbers.items():
            self._numbers.setdefault(role, []).append(found[kept].astype(NUMBERED[role], copy=False))
        for name in self.how.side:
            self._take_side(name, batch.cells.column(name), *words["item"], kept)

    def _check_words(self, role: str, cells: Any, wrong: Bytes) -> tuple[Ids, Any]:
        """Return the numbers of the words of a column and these words; bad rows get a code."""
        ids, words, kinds = encoded(cells, LONGEST_ID)
        # a row of a session needs no user
        blank = FINE if role == "user" and self.how.session else WORDED[role]
        for kind, code in ((BLANK, blank), (LONG, TOO_LONG)):
            wrong[(wrong == FINE) & (kinds == kind)] = code
        return ids, words

    def _check_numbers(self, role: str, cells: Any, wrong: Bytes) -> Doubles:
        """Return the times or weights of a column; bad rows get a code."""
        if role == "weight":
            values, kinds = numbers_of(cells)
            # without min_rating nothing depends on the weights of a log, and a row may have none: NaN
            if self.how.weighted or self.how.min_rating is not None:
                wrong[(wrong == FINE) & (kinds == BAD)] = WEIGHT
            values[kinds == BAD] = np.nan
            return values
        values, kinds = times_of(cells, self.how.time_format)
        wrong[(wrong == FINE) & (kinds == BAD)] = TIME
        good = kinds[wrong == FINE]
        self._time_kind = self._time_kind or (int(good[0]) if good.size else BAD)
        wrong[(wrong == FINE) & (kinds != self._time_kind)] = MIXED
        return values

    def _count(self, batch: RowBatch, cells: dict[str, Any], wrong: Bytes, kept: int) -> None:
        """Report how many rows there are, and examples of bad ones."""
        bad = np.flatnonzero(wrong > LOW)
        faults = {}
        for row in bad[:EXAMPLES].tolist():
            role = CELLS.get(code := int(wrong[row]))
            cell = f" ({spelled(cells[role][row]) or ''!r:.60})" if role else ""
            faults[row] = batch.faults.get(row) or REASONS[code] + cell
        self.report.kept += kept
        self.report.low += len(wrong) - kept - len(bad)
        self.report.missing += int(np.isin(wrong, [NO_USER, NO_ITEM, NO_SESSION, TOO_LONG, LIGHT]).sum())
        self.report.take(batch, faults, len(bad))

    def _take_side(self, name: str, cells: Any, ids: Ids, words: Any, kept: Starts) -> None:
        """Take the values of items: the first cell of an item that is not empty decides."""
        known = self._sides[name]
        rows = kept[_filled(cells)[kept]]
        items, first = np.unique(ids[rows], return_index=True)
        names = decode_words(words.take(pyarrow().array(items)).to_pylist())
        new = [place for place, item in enumerate(names) if item not in known]
        values = value_lists(cells.take(pyarrow().array(rows[first[new]])), name)
        known |= {names[place]: values_of(each) for place, each in zip(new, values, strict=True)}

    def events(self, where: str) -> Events:
        """Return all events; raise a `DataError` if there are none, or more bad rows than good ones."""
        told = [*self.report.lines(), *self.report.recognized()] or ["there are no rows"]
        least = "" if self.how.min_rating is None else " and min_rating"
        check = f"check the format ({self.how.format or 'not given'}) and the columns{least}"
        if not self.report.kept:
            raise DataError(f"{where}: no row is left: {'; '.join(map(str.strip, told))}; {check}")
        self.report.check(where, "; ".join(self.report.forms))
        words = {role: self._words.pop(role, WordNumbers()).finish() for role in WORDED}
        times, weights = (
            np.concatenate([np.empty(0, kind), *self._numbers.pop(role, ())])
            for role, kind in NUMBERED.items()
        )
        users = words["user"][0]
        marks = np.zeros(max(words["booked"][0].size, words["rejected"][0].size), np.uint8)
        for role, mark in (("booked", BOOKED), ("rejected", REJECTED)):
            ids, known = words[role]
            said = np.array([*(word.strip().lower() not in NO for word in known), False])
            if ids.size:
                marks[said[ids]] |= mark
        return Events(
            users=users if users.size else np.full(self.report.kept, -1, np.int32),
            items=words["item"][0],
            times=in_seconds(times) if times.size and self._time_kind == PLAIN_NUMBER else times,
            weights=weights,
            sessions=words["session"][0],
            user_words=words["user"][1],
            item_words=words["item"][1],
            session_words=words["session"][1],
            sides={
                name: {item: values for item, values in known.items() if values}
                for name, known in self._sides.items()
            },
            report=self.report,
            marks=marks,
            types=words["user_type"][0],
            type_words=words["user_type"][1],
            columns=self._columns,
            seen=[*self._seen],
        )


def _filled(cells: Any) -> Any:
    """Return which cells are not empty."""
    compute = pyarrow("pyarrow.compute")
    lists = is_list(cells.type)
    sizes = compute.list_value_length(cells) if lists else compute.binary_length(as_bytes(cells))
    return compute.greater(sizes, 0).fill_null(False).to_numpy(zero_copy_only=False)


def values_of(texts: Iterable[str]) -> list[str]:
    """Return the values in texts, which have | between them, each once."""
    parts = (part.strip(BLANKS) for text in texts for part in text.split("|"))
    return [*dict.fromkeys(filter(None, parts))]
