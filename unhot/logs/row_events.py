"""Rows in plain Python as parts of a log: dicts, tuples, JSON lines, sessions."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice
from typing import Any

import numpy as np

from unhot.corpus.reading.text_blocks import Block
from unhot.errors import DataError
from unhot.logs.cell_values import number_cells, read_cells
from unhot.logs.gathering import EventPart, SideValues, SourceWords
from unhot.logs.log_reading import USUAL, LogColumns, LogReading, check_weights, choose_columns
from unhot.logs.log_report import FINE, LOW, NO_ITEM, NO_OBJECT, NO_SESSION, NO_USER, TIME, WEIGHT
from unhot.types import Bytes, Doubles, Ids, Starts
from unhot.vocab.vocabulary import decode_word, decode_words

CHUNK = 1 << 13  # rows of an iterable that are read at a time
LISTS = (list, tuple)
NO_ROW: Mapping[str, Any] = {}  # stands for what is not a row
CODES = {"user": NO_USER, "item": NO_ITEM, "session": NO_SESSION}


class RowLog:
    """Rows whose cells are values of Python; subclasses say how a column is read."""

    def __init__(self, columns: LogColumns, how: LogReading, where: str) -> None:
        """Take the columns of the rows."""
        check_weights(columns.weight is not None, how, where)
        self.columns, self.where = columns, where
        self.how = how
        self._index: dict[str, dict[str, int]] = {role: {} for role in CODES}
        self._sides = {name: SideValues() for name in columns.side}

    def values(self, cells: Any) -> list[Any]:
        """Return the cells of a column as values of Python."""
        return cells  # type: ignore[no-any-return]

    def ids(self, cells: Any, role: str, wrong: Bytes) -> Ids:
        """Return the numbers of the ids of a column."""
        return number_cells(cells, self._index[role], wrong, CODES[role])

    def numbers(self, cells: Any, code: int, wrong: Bytes, shown: dict[int, str]) -> Doubles:
        """Return the times or the weights of a column."""
        return read_cells(cells, code, wrong, shown)

    def part(self, cells: Callable[[Any], Any], numbers: Starts, wrong: Bytes) -> EventPart:
        """Return rows as a part; `cells` returns the cells of a column."""
        shown: dict[int, str] = {}
        user, item, time, weight, session, side = self.columns
        users = None if user is None else self.ids(cells(user), "user", wrong)
        items = self.ids(cells(item), "item", wrong)
        sessions = None if session is None else self.ids(cells(session), "session", wrong)
        times = None if time is None else self.numbers(cells(time), TIME, wrong, shown)
        weights = None if weight is None else self.numbers(cells(weight), WEIGHT, wrong, shown)
        if weights is not None and self.how.min_rating is not None:
            wrong[(wrong == FINE) & (weights < self.how.min_rating)] = LOW
        for name in side:
            self._sides[name].add(items, np.flatnonzero(wrong == FINE), self.values(cells(name)).__getitem__)
        return EventPart(numbers, wrong, users, items, times, weights, sessions, shown)

    def words(self) -> SourceWords:
        """Return what the numbers stand for."""
        sides = {name: side.values for name, side in self._sides.items()}
        users, items, sessions = ([*self._index[role]] for role in CODES)
        return SourceWords(users, items, sessions, sides)


class DictLog(RowLog):
    """Rows that are dicts; those of the first part decide the columns."""

    def __init__(self, first: Sequence[Any], how: LogReading, where: str) -> None:
        """Find the columns in some rows."""
        names = dict.fromkeys(name for row in first if isinstance(row, Mapping) for name in row)
        if not names:
            raise DataError(f"{where}: its first rows have no columns: give objects with a user and an item")
        super().__init__(choose_columns([*names], how, where), how, where)

    def rows(self, rows: Sequence[Any], numbers: Starts) -> EventPart:
        """Return rows as a part."""
        dicts = [row if type(row) is dict or isinstance(row, Mapping) else NO_ROW for row in rows]
        wrong = np.array([NO_OBJECT if row is NO_ROW else FINE for row in dicts], np.uint8)
        return self.part(lambda name: [row.get(name) for row in dicts], numbers, wrong)


class SessionLog(RowLog):
    """Lines of items, maybe behind a user; a line is a session, and its number is that of the line."""

    def __init__(self, how: LogReading, users: bool, where: str, before: int) -> None:
        """Take whether lines begin with a user, and how many lines there are before."""
        how.refuse_columns(f"{where}, of sessions,")
        self.before, self._first = before, before
        self._users = users
        super().__init__(LogColumns(0 if users else None, 1, None, None, None), how, where)

    def parts(self, block: Block) -> list[EventPart]:
        """Return the lines of a block of text, cut at white space."""
        data = block.text[: block.size].tobytes()
        counts = [len(line.split()) for line in data.split(b"\n")[:-1]]
        return [self.lines(decode_words(data.split()), counts)]

    def lines(self, cells: list[Any], counts: list[int]) -> EventPart:
        """Return lines as a part: all their cells, and how many each line has."""
        sizes = np.array(counts, np.int64)
        starts = np.array([*accumulate(counts, initial=0)][:-1], np.int64)
        is_item, of_line = np.ones(len(cells), np.bool_), np.repeat(np.arange(len(counts)), sizes)
        users: list[Any] = [None] * len(counts)
        if self._users:
            is_item[starts[sizes > 0]] = False
            users = [cells[at] if size else None for at, size in zip(starts.tolist(), counts, strict=True)]
        rows = np.flatnonzero(is_item)
        of_row = of_line[rows]
        columns = ([users[line] for line in of_row.tolist()], [cells[row] for row in rows.tolist()])
        sessions = (of_row + self.before).astype(np.int32)
        numbers = of_row + self.before - self._first + 1
        self.before += len(counts)
        part = self.part(columns.__getitem__, numbers, np.zeros(len(rows), np.uint8))
        return part._replace(sessions=sessions)


class JsonLines:
    """JSON lines, read block after block; those of the first block that has some decide the columns."""

    def __init__(self, how: LogReading, where: str) -> None:
        """Begin in the first line."""
        self._how, self._where = how, where
        self._before = 0  # lines
        self._log: DictLog | None = None

    def parts(self, block: Block) -> list[EventPart]:
        """Return the rows of a block."""
        lines = decode_word(block.text[: block.size].tobytes()).split("\n")[:-1]
        numbers = [number for number, line in enumerate(lines) if line and not line.isspace()]
        rows = [_json(lines[number]) for number in numbers]
        before = self._before
        self._before += len(lines)
        if not rows:
            return []
        self._log = self._log or DictLog(rows, self._how, self._where)
        return [self._log.rows(rows, np.array(numbers, np.int64) + before + 1)]

    def words(self) -> SourceWords:
        """Return what the numbers stand for."""
        return self._log.words() if self._log else SourceWords([], [], [], {})


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def iterable_parts(source: Iterable[Any], how: LogReading, where: str) -> Iterator[EventPart | SourceWords]:
    """Yield the parts of an iterable of dicts, tuples or sessions, then the words."""
    rows = iter(source)
    first = [*islice(rows, 1)]
    rows = chain(first, rows)
    if not first:
        return
    if how.format is None and not isinstance(first[0], Mapping):
        rows = _tuples_as_dicts(rows, first[0], how, where)
    log = None if how.format is None else SessionLog(how, how.format == "user-sessions", where, 0)
    number, dicts = 1, None
    while chunk := [*islice(rows, CHUNK)]:
        if log is not None:
            yield log.lines(*_session_cells(chunk, where, number))
        else:
            dicts = dicts or DictLog(chunk, how, where)
            yield dicts.rows(chunk, np.arange(number, number + len(chunk)))
        number += len(chunk)
    yield (log or dicts).words()  # type: ignore[union-attr]


def _tuples_as_dicts(rows: Iterator[Any], first: Any, how: LogReading, where: str) -> Iterator[Any]:
    """Return tuples (user, item[, time[, weight]]) as dicts; None for one that is not like the first."""
    how.refuse_columns(where)
    size = len(first) if isinstance(first, LISTS) else 0
    if not 2 <= size <= len(USUAL):
        raise DataError(
            f"{where}: the first row is {first!r:.80}: give dicts, tuples (user, item[, time[, weight]]) or "
            'a table; lists of items need format="sessions"'
        )
    names = [*USUAL][:size]
    return (
        dict(zip(names, row, strict=True)) if isinstance(row, LISTS) and len(row) == size else None
        for row in rows
    )


def _session_cells(chunk: list[Any], where: str, number: int) -> tuple[list[Any], list[int]]:
    for place, session in enumerate(chunk, number):
        if not isinstance(session, LISTS):
            raise DataError(
                f"{where}: row {place} is {session!r:.80} of type {type(session).__name__}: each session "
                "must be a list of items"
            )
    return [*chain.from_iterable(chunk)], [*map(len, chunk)]
