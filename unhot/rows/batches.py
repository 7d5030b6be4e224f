"""Batches of rows, which every reader gives, and the one rule about bad rows.

A bad row is skipped and counted, and the first few are shown; or it is an error, if the caller is strict. If
most rows are bad for other reasons than missing values, the file is not what it was taken for: an error.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from unhot.errors import DataError

EXAMPLES = 5
LEFT_OUT = "were left out"
TEXT_NAME = "text"  # usual names of columns
LABEL_NAMES = ("label", "labels")
SAID = {
    **{"csv-unquoted": "CSV without quotes", "tsv-unquoted": "TSV without quotes"},
    **{"text": "text", "csv": "CSV", "tsv": "TSV", "jsonl": "JSON lines", "list": "a JSON list"},
}
# what a column is read as: a string, one value, or several
TEXT, VALUE = "text", "value"
LIST = "list"


class Record(NamedTuple):
    """A record of a text that is not blank."""

    line: int  # the number of its first line
    raw: bytes  # with its line break
    row: dict[str, Any] = {}  # what it says, if it was read by itself; nothing if it is bad
    fault: str = ""  # what is wrong with it, likewise


class RowBatch(NamedTuple):
    """Some rows of a table, bad ones included."""

    where: str  # the file or the object, for errors
    size: int
    cells: Mapping[str, Any]  # columns that were asked for, as arrays of Arrow; in bad rows cells are null
    unit: str = "row"  # what is numbered: line or row
    first: int = 1  # the number of the first row
    faults: Mapping[int, str] = {}  # place of a bad row -> what is wrong
    # of text: each row as it is written, and the number of its line
    records: Callable[[], Sequence[Record]] | None = None
    table: Any = None  # of a file of Arrow's: the rows with all their columns
    # the rows with all their columns; that of a bad row is empty
    dicts: Callable[[], list[dict[str, Any]]] = list

    def number(self, place: int) -> int:
        """Return the number of a row, for people."""
        return self.records()[place].line if self.records else self.first + place


class OpenedRows(NamedTuple):
    """A table that is being read."""

    where: str
    kind: str  # text, csv, tsv, jsonl, parquet, arrow; empty: values of Python
    names: list[str]  # of its columns
    holds: dict[str, bool | None]  # column -> False: strings, True: lists of tokens, None: neither
    # columns, and what each is read as -> the rows; to be called once. every=True: also all other columns
    batches: Callable[..., Iterator[RowBatch]]
    progress: Callable[[], tuple[int, int | None]] = lambda: (0, None)  # bytes read, and in all
    close: Callable[[], None] = lambda: None
    # how rows are written: of CSV and TSV the separator; of parquet, when rows were read, compression, and
    # ends, rows up to the end of each group
    packing: Mapping[str, Any] = {}

    def said(self, **columns: str) -> str:
        """Return what this was recognized as, and which columns were taken, for people."""
        taken = "".join(f", {role} = {name}" for role, name in columns.items())
        return f"{self.where}: read as {SAID.get(self.kind, self.kind)}{taken}"

    def text_column(self, asked: str | None, apart: str | None = None, lists: bool = False) -> str:
        """Choose the column asked for, else `text`, else the only one, except `apart`, that can be text.

        lists  whether it may hold lists of tokens
        """
        where, columns = self.where, {name: held for name, held in self.holds.items() if name != apart}
        able = [name for name, tokens in columns.items() if tokens is not None]
        kinds = {False: "text", True: "tokens", None: "no text"}
        listed = ", ".join(f"{name} ({kinds[kind]})" for name, kind in columns.items()) or "none"
        if asked is not None and asked not in able:
            neither = "it holds neither strings nor lists of strings"
            trouble = neither if asked in columns else "there is no such column"
            raise DataError(f"{where}: column {asked!r}: {trouble}; the columns are {listed}")
        if asked is None and TEXT_NAME not in able and len(able) != 1:
            raise DataError(
                f"{where}: {len(able)} columns can be text, and none is named text; choose one "
                f"(column=, or --column): the columns are {listed}"
            )
        name = asked or (TEXT_NAME if TEXT_NAME in able else able[0])
        if self.names.count(name) > 1:
            raise DataError(f"{where}: several columns are called {name!r}: rename all but one of them")
        if columns[name] and not lists:
            raise DataError(f"{where}: column {name!r} holds lists of tokens: give a column of strings")
        return name

    def label_column(self, asked: str | None) -> str:
        """Choose the column of the labels: the one asked for, else `label`, else `labels`."""
        wanted = LABEL_NAMES if asked is None else (asked,)
        for name in wanted:
            if name in self.holds:
                return name
        raise DataError(
            f"{self.where}: there is no column {' or '.join(wanted)}: name the one of the labels "
            f"(label_column=, or --label-column); the columns are {', '.join(self.names) or 'none'}"
        )


@dataclass
class RowReport:
    """What became of the rows that were read."""

    strict: bool = False
    several: bool = False  # files: then examples name theirs
    rows: int = 0
    bad: int = 0
    missing: int = 0  # of the bad ones: rows of the right form without a usable value
    fate: str = LEFT_OUT  # what becomes of bad rows
    examples: list[str] = field(default_factory=list)  # of bad rows, such as "line 17: has no item"
    recognized: list[str] = field(default_factory=list)  # what files are read as, with their columns

    def say(self, where: str, line: str) -> None:
        """Keep a line about what a file is read as; thousands of files may be alike."""
        if not any(each.endswith(line.removeprefix(where)) for each in self.recognized):
            self.recognized.append(line)

    def recognize(self, opened: OpenedRows, **columns: str) -> None:
        """Keep what a file is read as; what a table of Python is need not be said."""
        if opened.kind:
            self.say(opened.where, opened.said(**columns))

    def take(self, batch: RowBatch, faults: Mapping[int, str] | None = None, bad: int = 0) -> None:
        """Count the rows of a batch; `faults`: examples of its `bad` rows, if the caller found more."""
        found = batch.faults if faults is None else faults
        self.rows += batch.size
        self.bad += max(bad, len(found))
        for place in sorted(found)[: EXAMPLES - len(self.examples)]:
            text = f"{batch.unit} {batch.number(place)}: {found[place]}"
            if self.strict:
                raise DataError(f"{batch.where}: {text}; fix it, or leave strict out to skip bad rows")
            self.examples.append(f"{batch.where}: {text}" if self.several else text)

    def lines(self) -> list[str]:
        """Return lines about bad rows, for people; an empty list if there are none."""
        bad = f"{self.bad:,} of {self.rows:,} rows are bad and {self.fate}, for example:"
        return [bad] * (self.bad > 0) + [f"  {each}" for each in self.examples]

    def check(self, where: str) -> None:
        """Raise a `DataError` if most rows are bad."""
        wrong, looks = self.bad - self.missing, "; ".join(self.recognized)
        if 2 * wrong > self.rows:
            raise DataError(
                f"{where}: {wrong:,} of {self.rows:,} rows are bad ({'; '.join(self.examples)}): check "
                f"the format and the columns{looks and f' ({looks})'}"
            )


@dataclass
class TextReport(RowReport):
    """What became of rows of texts; those that are not bad and not left out were read."""

    empty: str = LEFT_OUT  # what becomes of rows without a text
    without_text: int = 0
    without_label: int = 0  # of rows that need one: these are left out
    several_labels: int = 0

    def take_texts(self, batch: RowBatch, nulls: int) -> None:
        """Count the rows of a batch, of which some have no text: the cells of bad rows are null, too."""
        self.take(batch)
        self.without_text += nulls - len(batch.faults)

    def lines(self) -> list[str]:
        """Return lines about rows that are odd or bad, for people; an empty list if there are none."""
        left = self.bad + self.without_label + self.without_text * (self.empty == LEFT_OUT)
        told = {
            "were read": self.rows - left if left else 0,
            f"have no label and {LEFT_OUT}": self.without_label,
            f"have no text and {self.empty}": self.without_text,
        }
        odd = [f"{rows:,} of {self.rows:,} rows {what}" for what, rows in told.items() if rows]
        return odd + super().lines()
