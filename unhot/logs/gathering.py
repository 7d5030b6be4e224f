"""Gather the rows of one source after another: number words, read times and weights, leave bad rows out.

All words of a column are in one table, whatever their source is. Only words of rows that are kept are
numbered, so their numbers are those of their first appearance.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import add_words
from unhot.corpus.reading.scanner import WordTable, new_table
from unhot.corpus.reading.separators import PADDING
from unhot.errors import DataError
from unhot.logs.features import Feature, feature_of
from unhot.logs.log_reading import EDGES, FEATURES, MARKS, ROLES, SESSIONS, LogReading, choose_columns
from unhot.rows.arrow import is_list, pa, pc
from unhot.rows.batches import EXAMPLES, OpenedRows, RowBatch, RowReport
from unhot.rows.numbers import BAD, BLANKS, PLAIN_NUMBER, in_other_units, in_seconds, numbers_of, times_of
from unhot.rows.values import as_bytes, spelled, strings, value_lists
from unhot.types import Bytes, Doubles, Floats, Ids, Starts
from unhot.vocab.vocabulary import decode_words

LONGEST_ID = 4096  # bytes of an id
ROOM = 1 << 12  # words of a new table
SPACE = 32  # it and the bytes below it are blank
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
NEEDED = {"user": NO_USER, "item": NO_ITEM, "session": NO_SESSION}
KINDS: dict[str, Any] = {"time": np.float64, "weight": np.float32}  # of what is no word


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
    features: dict[str, Feature]  # of each event: marks by their roles, others as "features device"
    sides: dict[str, dict[str, list[str]]]  # column -> item -> values
    report: "LogReport"
    columns: dict[str, str]  # role -> name of the columns that were taken
    # the names of all columns; empty if lines are sessions, which have an order by themselves
    seen: list[str]


@dataclass
class LogReport(RowReport):
    """Numbers of rows: rows = kept + bad + low."""

    kept: int = 0
    low: int = 0  # below min_rating
    strange: int = 0  # times that seem to be in another unit than most
    comments: int = 0  # lines of such files that are comments
    lone: set[bytes] = field(default_factory=set)  # users in whose lines of sessions is nothing else

    def lines(self) -> list[str]:
        """Return lines about rows that were left out, for people; an empty list if there are none."""
        low = f"{self.low:,} of {self.rows:,} rows are below min_rating and were left out"
        strange = f"{self.strange:,} times seem to be in another unit than most (seconds, milliseconds, ...)"
        return [low] * (self.low > 0) + [strange] * (self.strange > 0) + super().lines()

    def said(self) -> list[str]:
        """Return lines about what files are read as, and about the comments of edge lists, for people."""
        comments = f"comments, lines that start with # or %: {self.comments:,}"
        return self.recognized + [comments] * (self.comments > 0)


class Gathered:
    """The events of all sources so far."""

    def __init__(self, how: LogReading) -> None:
        """Start without events."""
        self.how = how
        self.report = LogReport(how.strict)
        self.sessions = 0  # lines of sessions
        self._columns: dict[str, str] = {}
        self._seen: dict[str, None] = {}  # the names of all columns
        self._tables = dict[str, WordTable]()
        self._arrays = defaultdict[str, bytearray](bytearray)  # numbers of words, times: they grow in place
        self._time_kind = BAD  # what the first time was
        self._sides: dict[str, dict[int, list[str]]] = {name: {} for name in how.side}  # by numbers of items

    def choose(self, opened: OpenedRows) -> dict[str, str]:
        """Choose the columns of a source, and return their names; other sources must have the same."""
        lines = opened.kind in SESSIONS
        how = replace(self.how, session=self.how.session or "session") if lines else self.how
        chosen = choose_columns(opened.names, how, opened.where) if opened.names else {}
        columns = self._columns = self._columns or chosen
        if chosen.keys() != columns.keys():
            raise DataError(
                f"{opened.where}: has the columns {', '.join(chosen)}, but the file before has "
                f"{', '.join(columns)}: read files apart that have other columns"
            )
        self._seen |= {} if lines else dict.fromkeys(map(str, opened.names))
        if opened.kind not in (EDGES, *SESSIONS):  # whose openers have said what they are
            ends = {how.titles.get(role, role): name for role, name in chosen.items()} if how.edges else {}
            self.report.recognize(opened, **ends)
        return chosen

    def take(self, batch: RowBatch, columns: Mapping[str, str]) -> None:
        """Take the rows of a batch that are fine, and count the others."""
        cells = {key: batch.cells[name] for key, name in columns.items()}
        wrong: Bytes = np.zeros(batch.size, np.uint8)
        wrong[[*batch.faults]] = NO_ROW
        words = {key: self._words_of(key, cells[key], wrong) for key in cells if key not in KINDS}
        numbers = {role: self._numbers_of(role, cells[role], wrong) for role in cells if role in KINDS}
        self._count(batch, cells, wrong)
        kept = pa.array(wrong == FINE) if wrong.any() else None
        ids = {key: self._number(key, _kept(found, kept)) for key, found in words.items()}
        for key, values in (ids | {role: values[wrong == FINE] for role, values in numbers.items()}).items():
            self._arrays[key] += values.astype(KINDS.get(key, np.int32), copy=False).tobytes()
        for name, known in self._sides.items() if columns else ():
            self._take_side(_kept(batch.cells[name], kept), ids["item"], known, name)

    def _words_of(self, key: str, cells: Any, wrong: Bytes) -> Any:
        """Return the words of a column, null if they are blank; bad rows get a code."""
        words = as_bytes(cells)
        text, starts = _bytes_of(words)
        filled = words.is_valid().to_numpy(zero_copy_only=False) & (np.diff(starts) > 0)
        if (text <= SPACE).any():
            seen = np.append(0, np.cumsum(text > SPACE, dtype=np.int32))
            filled &= np.diff(seen[starts]) > 0
        # a row of a session needs no user
        needed = FINE if key == "user" and self.how.session else NEEDED.get(key, FINE)
        wrong[(wrong == FINE) & ~filled] = needed
        if key in NEEDED:
            wrong[(wrong == FINE) & filled & (np.diff(starts) > LONGEST_ID)] = LONG
        if needed or filled.all():
            return words
        return pc.if_else(pa.array(filled), words, None)

    def _number(self, key: str, words: Any) -> Ids:
        """Return the numbers of words in their table; -1: null."""
        ids = np.full(len(words), -1, np.int32)
        text, starts = _bytes_of(words.drop_null())
        there, ones = words.is_valid().to_numpy(zero_copy_only=False), np.ones(starts.size - 1, np.int64)
        padded = np.append(text, np.zeros(PADDING, np.uint8))
        table = self._tables.get(key) or new_table(ROOM, 16 * ROOM)
        self._tables[key], ids[there] = add_words(table, padded, starts, ones)
        return ids

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
        if self.how.edges or least is not None:
            wrong[fine & (kinds == BAD)] = WEIGHT
        wrong[fine & (values < (-np.inf if least is None else least))] = LOW
        wrong[fine & self.how.edges & (values.astype(np.float32) <= 0)] = LIGHT
        return values

    def _count(self, batch: RowBatch, cells: Mapping[str, Any], wrong: Bytes) -> None:
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
        fine, low, unusable = (int(np.isin(wrong, codes).sum()) for codes in (FINE, LOW, UNUSABLE))
        self.report.kept += fine
        self.report.low += low
        self.report.missing += unusable
        self.report.take(batch, faults, len(bad))

    def _take_side(self, cells: Any, items: Ids, known: dict[int, list[str]], name: str) -> None:
        """Take the values of items: the first cell of an item that is not empty decides."""
        sizes = pc.list_value_length(cells) if is_list(cells.type) else pc.binary_length(as_bytes(cells))
        filled = np.flatnonzero(pc.fill_null(sizes, 0))
        numbers, first = np.unique(items[filled], return_index=True)
        new = [number not in known for number in numbers.tolist()]
        values = value_lists(cells.take(pa.array(filled[first[new]])), name)
        known |= zip(numbers[new].tolist(), map(values_of, values), strict=True)

    def events(self, where: str) -> Events:
        """Return all events; raise a `DataError` if there are none, or more bad rows than good ones."""
        told = [*self.report.lines(), *self.report.said()] or ["there are no rows"]
        if not self.report.kept:
            raise DataError(
                f"{where}: no row is left: {'; '.join(map(str.strip, told))}; check the format "
                f"({self.how.format or 'not given'}), the columns, and min_rating ({self.how.min_rating})"
            )
        self.report.check(where)
        pa.default_memory_pool().release_unused()  # sorting needs as much again
        (users, items, sessions), words = zip(*map(self._coded, NEEDED), strict=True)
        user_words, item_words, session_words = (decode_words(each.to_pylist()) for each in words)
        times, weights = (np.frombuffer(self._arrays.pop(role, b""), kind) for role, kind in KINDS.items())
        if self._time_kind == PLAIN_NUMBER and times.size:
            self.report.strange = in_other_units(times)
            times = in_seconds(times)
        return Events(
            users=users if users.size else np.full(items.size, -1, np.int32),
            items=items,
            times=times,
            weights=weights,
            sessions=sessions,
            user_words=user_words,
            item_words=item_words,
            session_words=session_words,
            features={
                key: feature_of(*self._coded(key), key in MARKS or name in self.how.categories)
                for key, name in self._columns.items()
                if key in MARKS or key.startswith(FEATURES)
            },
            sides={
                name: {item_words[number]: values for number, values in known.items() if values}
                for name, known in self._sides.items()
            },
            report=self.report,
            columns={role: name for role, name in self._columns.items() if role in ROLES},
            seen=[*self._seen],
        )

    def _coded(self, key: str) -> tuple[Ids, Any]:
        """Return the number of the word of each event, and the words as a column; forget them here."""
        ids = np.frombuffer(self._arrays.pop(key, b""), np.int32)
        table = self._tables.pop(key, None) or new_table(0, 0)
        words, used, _ = table.state.tolist()
        buffers = [None, *map(pa.py_buffer, (table.offsets[: words + 1], table.arena[:used]))]
        return ids, pa.Array.from_buffers(pa.large_binary(), words, buffers)


def _kept(cells: Any, rows: Any) -> Any:
    """Return some rows of a column; None: all of them."""
    return cells if rows is None else cells.filter(rows)


def _bytes_of(words: Any) -> tuple[Bytes, Starts]:
    """Return the bytes of a column of words, one after another, and where each begins."""
    _, starts, text = words.buffers() if len(words) else (None, bytes(8), b"")
    starts = np.frombuffer(starts, np.int64)[words.offset :][: len(words) + 1]
    return np.frombuffer(text or b"", np.uint8)[starts[0] : starts[-1]], starts - starts[0]


def values_of(texts: Iterable[str]) -> list[str]:
    """Return the values in texts, which have | between them, each once."""
    parts = (part.strip(BLANKS) for text in texts for part in text.split("|"))
    return [*dict.fromkeys(filter(None, parts))]
