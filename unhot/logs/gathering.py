"""Gather the rows of one source after another: number words, read times and weights, leave bad rows out.

All words of a column are in one table, whatever their source is. Only words of rows that are kept are
numbered, so their numbers are those of their first appearance.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.logs.features import Feature, feature_of
from unhot.logs.log_reading import MARKS, LogReading
from unhot.rows.arrow import is_list, pyarrow
from unhot.rows.batches import EXAMPLES, RowBatch, RowReport
from unhot.rows.numbers import BAD, BLANKS, PLAIN_NUMBER, in_other_units, in_seconds, numbers_of, times_of
from unhot.rows.values import as_bytes, spelled, strings, value_lists
from unhot.types import Bytes, Doubles, Floats, Ids
from unhot.vocab.vocabulary import decode_words

LONGEST_ID = 4096  # bytes of an id
FEWEST = 1 << 18  # cells that wait before they are numbered
SPACE = 32  # it and the bytes below it are blank
FILLED = "[^\\x00-\\x20]"  # what a cell holds that is not blank
# codes of rows: one byte a row; 0 is a fine one
FINE, LOW, NO_ROW, NO_USER, NO_ITEM, NO_SESSION, LONG, TIME, MIXED, WEIGHT, LIGHT = range(11)
REASONS = {
    NO_USER: "has no user",
    NO_ITEM: "has no item",
    NO_SESSION: "has no session",
    LONG: f"has an id of more than {LONGEST_ID:,} bytes",
    TIME: "has a time that is neither a number nor an ISO date",
    MIXED: "has a number where the first rows have dates, or a date where they have numbers",
    WEIGHT: "has a weight that is not a number",
    LIGHT: "has a weight that is not above zero",
}
CELLS = {TIME: "time", MIXED: "time", WEIGHT: "weight", LIGHT: "weight"}  # what to show of a bad row
UNUSABLE = (NO_USER, NO_ITEM, NO_SESSION, LONG, LIGHT)  # of rows of the right form
WORDED = {"user": NO_USER, "item": NO_ITEM, "session": NO_SESSION, **dict.fromkeys(MARKS, FINE)}
BOOKED, REJECTED = 1, 2
NO = ("0", "0.0", "f", "false", "n", "no", "nan", "none", "null", "-")  # words that say that nothing was
NUMBERED = {"time": np.float64, "weight": np.float32}


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
    report: "LogReport"
    marks: Bytes  # [events] BOOKED and REJECTED, added up; empty if there are none
    types: Ids  # [events] types of users, -1: none; empty if there are none
    type_words: list[str]
    columns: dict[str, str]  # role -> name of the columns that were taken
    # the names of all columns; empty if lines are sessions, which have an order by themselves
    seen: list[str]
    features: dict[tuple[str, str], Feature]  # of each event; see `LogReading.features`


@dataclass
class LogReport(RowReport):
    """Numbers of rows: rows = kept + bad + low."""

    kept: int = 0
    low: int = 0  # below min_rating
    strange: int = 0  # times that seem to be in another unit than most
    comments: int = 0  # lines of such files that are comments
    lone: set[str] = field(default_factory=set)  # nodes of adjacency lists in whose lines are no neighbors

    def lines(self) -> list[str]:
        """Return lines about rows that were left out, for people; an empty list if there are none."""
        low = f"{self.low:,} of {self.rows:,} rows are below min_rating and were left out"
        strange = f"{self.strange:,} times seem to be in another unit than most (seconds, milliseconds, ...)"
        return [low] * (self.low > 0) + [strange] * (self.strange > 0) + super().lines()

    def said(self) -> list[str]:
        """Return lines about what files are read as, and about the comments of edge lists, for people."""
        comments = f"comments, lines that start with # or %: {self.comments:,}"
        return self.recognized + [comments] * (self.comments > 0)


class WordNumbers:
    """The words of a column, and their numbers, in the order in which they first appear."""

    def __init__(self) -> None:
        """Start without words."""
        self._words = pyarrow().array([], pyarrow().large_binary())
        self._ids, self._waiting = list[Ids](), list[Any]()

    def add(self, cells: Any) -> None:
        """Add cells; a null has the number -1."""
        self._waiting.append(cells)
        if sum(map(len, self._waiting)) > max(FEWEST, len(self._words)):  # known words are looked at again
            self._number()

    def _number(self) -> None:
        found = pyarrow().chunked_array([self._words, *self._waiting]).dictionary_encode().combine_chunks()
        ids = found.indices[len(self._words) :].fill_null(-1)
        self._ids.append(ids.to_numpy(zero_copy_only=False))
        self._words, self._waiting = found.dictionary, []

    def finish(self) -> tuple[Ids, Any]:
        """Return the numbers of all cells, and the words as a column of Arrow."""
        self._number()
        return np.concatenate([np.empty(0, np.int32), *self._ids]), self._words


class Gathered:
    """The events of all sources so far."""

    def __init__(self, how: LogReading) -> None:
        """Start without events."""
        self.how = how
        self.report = LogReport(how.strict)
        self.sessions = 0  # lines of sessions
        self._columns: dict[str, str] = {}  # role -> name
        self._seen: dict[str, None] = {}  # the names of all columns
        self._words: dict[Any, WordNumbers] = {}  # role, or feature ->
        self._numbers: dict[str, list[Any]] = {role: [] for role in NUMBERED}
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
        cells: dict[Any, Any] = {role: batch.cells[name] for role, name in columns.items()}
        cells |= {feature: batch.cells[feature[1]] for feature in self.how.features}
        wrong: Bytes = np.zeros(batch.size, np.uint8)
        wrong[[*batch.faults]] = NO_ROW
        words = {role: self._words_of(role, cells[role], wrong) for role in cells if role not in NUMBERED}
        numbers = {role: self._numbers_of(role, cells[role], wrong) for role in cells if role in NUMBERED}
        kept = pyarrow().array(np.flatnonzero(wrong == FINE))
        self._count(batch, cells, wrong, len(kept))
        for role, found in words.items():
            self._words.setdefault(role, WordNumbers()).add(found.take(kept) if wrong.any() else found)
        for role, values in numbers.items():
            self._numbers[role].append(values[wrong == FINE].astype(NUMBERED[role], copy=False))
        for name in self.how.side:
            self._take_side(name, batch.cells[name].take(kept), words["item"].take(kept))

    def _words_of(self, role: Any, cells: Any, wrong: Bytes) -> Any:
        """Return the words of a column, null if they are blank; bad rows get a code."""
        compute, words = pyarrow("pyarrow.compute"), as_bytes(cells)
        sizes = compute.binary_length(words).fill_null(0)
        filled = compute.greater(sizes, 0)
        if (np.frombuffer(words.buffers()[2] or b"", np.uint8) <= SPACE).any():
            filled = compute.match_substring_regex(words, FILLED).fill_null(False)
        blank = ~filled.to_numpy(zero_copy_only=False)
        # a row of a session needs no user
        needed = FINE if role == "user" and self.how.session else WORDED.get(role, FINE)
        wrong[(wrong == FINE) & blank] = needed
        wrong[(wrong == FINE) & (sizes.to_numpy() > LONGEST_ID)] = LONG
        return words if needed or not blank.any() else compute.if_else(filled, words, None)

    def _numbers_of(self, role: str, cells: Any, wrong: Bytes) -> Doubles:
        """Return the times or weights of a column; bad rows get a code."""
        if role == "time":
            values, kinds = times_of(cells, self.how.time_format)
            wrong[(wrong == FINE) & (kinds == BAD)] = TIME
            self._time_kind = self._time_kind or int(next(iter(kinds[wrong == FINE]), BAD))
            wrong[(wrong == FINE) & (kinds != self._time_kind)] = MIXED
            return values
        values, kinds = numbers_of(cells)
        values[kinds == BAD] = np.nan
        least, fine = self.how.min_rating, wrong == FINE
        # without min_rating nothing depends on the weights of a log, and a row may have none: NaN
        if self.how.weighted or least is not None:
            wrong[fine & (kinds == BAD)] = WEIGHT
        wrong[fine & (values < (-np.inf if least is None else least))] = LOW
        wrong[fine & self.how.edges & (values.astype(np.float32) <= 0)] = LIGHT
        return values

    def _count(self, batch: RowBatch, cells: dict[Any, Any], wrong: Bytes, kept: int) -> None:
        """Report how many rows there are, and examples of bad ones."""
        bad = np.flatnonzero(wrong > LOW)
        faults = {}
        for row in bad[:EXAMPLES].tolist():
            role = CELLS.get(code := int(wrong[row]))
            value = spelled(strings(cells[role].slice(row, 1), batch.where)[0]) if role else ""
            cell = f" ({value or ''!r:.60})" if role else ""
            given = f"has a time that is not as {self.how.time_format}" if self.how.time_format else ""
            reason = given if given and code == TIME else REASONS.get(code, "")
            faults[row] = batch.faults.get(row) or reason + cell
        self.report.kept += kept
        self.report.low += len(wrong) - kept - len(bad)
        self.report.missing += int(np.isin(wrong, UNUSABLE).sum())
        self.report.take(batch, faults, len(bad))

    def _take_side(self, name: str, cells: Any, items: Any) -> None:
        """Take the values of items: the first cell of an item that is not empty decides."""
        compute, known = pyarrow("pyarrow.compute"), self._sides[name]
        sizes = compute.list_value_length if is_list(cells.type) else compute.binary_length
        filled = compute.greater(sizes(cells if is_list(cells.type) else as_bytes(cells)), 0).fill_null(False)
        found = items.filter(filled).dictionary_encode()
        _, first = np.unique(found.indices.to_numpy(zero_copy_only=False), return_index=True)
        values = value_lists(cells.filter(filled).take(pyarrow().array(first)), name)
        for item, each in zip(decode_words(found.dictionary.to_pylist()), values, strict=True):
            known.setdefault(item, values_of(each))

    def events(self, where: str) -> Events:
        """Return all events; raise a `DataError` if there are none, or more bad rows than good ones."""
        told = [*self.report.lines(), *self.report.said()] or ["there are no rows"]
        if not self.report.kept:
            raise DataError(
                f"{where}: no row is left: {'; '.join(map(str.strip, told))}; check the format "
                f"({self.how.format or 'not given'}), the columns, and min_rating ({self.how.min_rating})"
            )
        self.report.check(where)
        found = {
            role: self._words.pop(role, WordNumbers()).finish() for role in (*WORDED, *self.how.features)
        }
        words = {role: (found[role][0], decode_words(found[role][1].to_pylist())) for role in WORDED}
        pyarrow().default_memory_pool().release_unused()  # sorting needs as much again
        numbers = {
            role: np.concatenate([np.empty(0, kind), *self._numbers.pop(role)])
            for role, kind in NUMBERED.items()
        }
        (users, user_words), (items, item_words) = words["user"], words["item"]
        plain = self._time_kind == PLAIN_NUMBER and numbers["time"].size
        self.report.strange = in_other_units(numbers["time"]) if plain else 0
        times, marked = numbers["time"], max(words[role][0].size for role in ("booked", "rejected"))
        return Events(
            users=users if users.size else np.full(items.size, -1, np.int32),
            items=items,
            times=in_seconds(times) if plain else times,
            weights=numbers["weight"],
            sessions=words["session"][0],
            user_words=user_words,
            item_words=item_words,
            session_words=words["session"][1],
            sides={
                name: {item: values for item, values in known.items() if values}
                for name, known in self._sides.items()
            },
            report=self.report,
            marks=_marked(*words["booked"], BOOKED, marked) | _marked(*words["rejected"], REJECTED, marked),
            types=words["user_type"][0],
            type_words=words["user_type"][1],
            columns=self._columns,
            seen=[*self._seen],
            features={
                (of, name): feature_of(*found.pop((of, name)), name in self.how.categories)
                for of, name in self.how.features
            },
        )


def _marked(ids: Ids, words: list[str], mark: int, rows: int) -> Any:
    """Return the mark of each row whose word says yes; there may be no words."""
    said = np.array([*(word.strip().lower() not in NO for word in words), False])
    return (said[ids] if ids.size else np.zeros(rows, bool)) * np.uint8(mark)


def values_of(texts: Iterable[str]) -> list[str]:
    """Return the values in texts, which have | between them, each once."""
    parts = (part.strip(BLANKS) for text in texts for part in text.split("|"))
    return [*dict.fromkeys(filter(None, parts))]
