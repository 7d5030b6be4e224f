"""Gather the rows of one source after another, leave bad ones out, and number users and items.

A source numbers its own words in any order. In the end, words are numbered by their first appearance in the
rows that are left; words of other rows vanish.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unhot.errors import DataError
from unhot.kernels.jit import kernel
from unhot.logs.cell_values import side_values
from unhot.logs.log_reading import LogReading
from unhot.logs.log_report import EXAMPLES, FINE, LOW, REASONS, WEIGHT, LogReport
from unhot.types import Bytes, Doubles, Floats, Ids, Starts

UNITS = (1e11, 1e14, 1e17)  # medians of times above these are in milli-, micro-, nanoseconds
LARGEST = float(np.finfo(np.float32).max)
WORDED = ("user", "item", "session")


class EventPart(NamedTuple):
    """Some rows of a log; None: there is no such column."""

    numbers: Starts  # of lines or rows, for people
    wrong: Bytes  # codes of log_report.py
    users: Ids | None
    items: Ids
    times: Doubles | None
    weights: Doubles | None
    sessions: Ids | None
    shown: dict[int, str]  # row -> the cell that makes it bad


class SideValues:
    """The values of items in one column: the first row of an item that has any decides."""

    def __init__(self) -> None:
        """Start without values."""
        self.values: dict[int, list[str]] = {}
        self._known: NDArray[np.bool_] = np.zeros(1024, np.bool_)  # by item

    def add(self, items: Ids, rows: Starts, cell: Callable[[int], Any]) -> None:
        """Add the values of fine rows; `cell` returns the cell of a row."""
        most = int(items.max(initial=0)) + 1
        if most > len(self._known):
            self._known = np.append(self._known, np.zeros(most, np.bool_))
        for row in rows[~self._known[items[rows]]].tolist():
            item = int(items[row])
            found = [] if self._known[item] else side_values(cell(row))
            if found:
                self.values[item] = found
                self._known[item] = True


class SourceWords(NamedTuple):
    """What the numbers of a source stand for."""

    user: list[str]
    item: list[str]
    session: list[str]
    sides: dict[str, dict[int, list[str]]]  # column -> item -> values


class Gathered:
    """The events of all sources so far."""

    def __init__(self, how: LogReading) -> None:
        """Start without events."""
        self.how = how
        self.report = LogReport()
        self.lists: dict[str, list[Any]] = {}  # column -> arrays
        self._index: dict[str, dict[str, int]] = {role: {} for role in WORDED}
        self._sides: dict[str, dict[int, list[str]]] = {name: {} for name in how.side}
        self.several = False  # files
        self.lines = 0  # of files of sessions
        self._mapped = 0  # arrays whose numbers are those of the index

    def take(self, part: EventPart, where: str, kind: str) -> None:
        """Take the fine rows of a part; `kind` is what its numbers count: a line or a row."""
        if part.weights is not None:  # weights are kept in single precision
            part.wrong[(part.wrong == FINE) & (np.abs(part.weights) > LARGEST)] = WEIGHT
        kept, low = np.flatnonzero(part.wrong == FINE), int((part.wrong == LOW).sum())
        bad = np.flatnonzero(part.wrong > LOW)
        self.report.rows += len(part.wrong)
        self.report.kept += len(kept)
        self.report.bad += len(bad)
        self.report.low += low
        for row in bad[: EXAMPLES - len(self.report.examples)].tolist():
            cell = f" ({part.shown[row]})" if row in part.shown else ""
            text = f"{kind} {part.numbers[row]}: {REASONS[int(part.wrong[row])]}{cell}"
            if self.how.strict:
                raise DataError(f"{where}: {text}; mend it, or leave strict out to skip bad rows")
            self.report.examples.append(f"{where}: {text}" if self.several else text)
        columns: dict[str, Any] = {"user": part.users, "item": part.items, "session": part.sessions}
        columns |= {"time": part.times, "weight": part.weights}
        there = {name: values for name, values in columns.items() if values is not None}
        self.lists = self.lists or {name: [] for name in there}
        if there.keys() != self.lists.keys():
            raise DataError(
                f"{where}: has the columns {', '.join(there)}, but the file before has "
                f"{', '.join(self.lists)}: read files apart that have other columns"
            )
        all_fine = len(kept) == len(part.wrong)
        for name, values in there.items():
            rows = values if all_fine else values[kept]
            self.lists[name].append(rows.astype(np.float32) if name == "weight" else rows)

    def end_source(self, words: SourceWords) -> None:
        """Replace the numbers of the source that ended by those of all sources."""
        items: Ids = np.empty(0, np.int32)
        for role in WORDED:
            index, own = self._index[role], getattr(words, role)
            new = np.array([index.setdefault(word, len(index)) for word in own], np.int32)
            items = new if role == "item" else items
            if own and self._mapped:
                for ids in self.lists.get(role, ())[self._mapped :]:
                    ids[:] = new[ids]
        for name, values in words.sides.items():
            known = self._sides[name]
            known |= {
                number: found for item, found in values.items() if (number := int(items[item])) not in known
            }
        self._mapped = len(self.lists.get("item", ()))

    def joined(self, name: str, kind: type) -> NDArray[Any]:
        """Return a column of all rows, and forget its parts; empty if there is none."""
        return np.concatenate([np.empty(0, kind), *self.lists.pop(name, ())], dtype=kind)

    def times(self) -> Doubles:
        """Return the times in seconds."""
        times: Doubles = self.joined("time", np.float64)
        if times.size:
            middle = np.median(times[:: 1 + times.size // 100_000])
            times /= 1000.0 ** sum(middle > unit for unit in UNITS)
        return times

    def numbered(self, role: str) -> tuple[Ids, list[str], Ids]:
        """Return the numbers of a column, their words, and the new number of each old one (-1: none)."""
        ids: Ids = self.joined(role, np.int32)
        words = [*self._index[role]]
        new, old = np.full(len(words), -1, np.int32), np.empty(len(words), np.int32)
        if not words:  # lines, which have numbers only
            return ids, [], new
        count = renumber(ids, new, old)
        return ids, [words[each] for each in old[:count].tolist()], new

    def sides(self, new: Ids) -> dict[str, dict[int, list[str]]]:
        """Return the side columns; `new` holds the new numbers of the items."""
        return {
            name: {number: found for item, found in values.items() if (number := int(new[item])) >= 0}
            for name, values in self._sides.items()
        }

    def weights(self) -> Floats:
        """Return the weights."""
        return self.joined("weight", np.float32)


@kernel
def renumber(ids: Ids, new: Ids, old: Ids) -> int:
    """Number ids, in place, by their first appearance; return how many different ones there are.

    `new` must be -1; it gets the new number of each old one, `old` the reverse.
    """
    count = 0
    for i in range(len(ids)):
        if new[ids[i]] < 0:
            new[ids[i]] = count
            old[count] = ids[i]
            count += 1
        ids[i] = new[ids[i]]
    return count
