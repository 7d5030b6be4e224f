"""Rows of CSV, TSV and MovieLens' files as parts of a log, by compiled code, in blocks of a megabyte."""

import csv
import io
import re
from functools import partial

import numpy as np

from unhot.corpus.reading.lexicon import lexicon
from unhot.corpus.reading.scanner import WordTable, grown, new_table
from unhot.corpus.reading.text_blocks import Block
from unhot.errors import DataError
from unhot.logs.cell_values import read_cells
from unhot.logs.fields import (
    BROKEN,
    FULL,
    LINE,
    NO_QUOTE,
    OPEN,
    POSITION,
    ROWS,
    TENS,
    Dialect,
    find_rows,
    number_fields,
    read_numbers,
)
from unhot.logs.gathering import EventPart, SideValues, SourceWords
from unhot.logs.log_reading import LogColumns, LogReading, check_weights, choose_columns
from unhot.logs.log_report import FINE, LONG, LOW, NO_ITEM, NO_SESSION, NO_USER, TIME, WEIGHT
from unhot.types import Bytes, Doubles, Ids, Starts
from unhot.vocab.vocabulary import decode_word, decode_words

MOST = 1 << 16  # rows of a part
LONGEST_ROW = 1 << 24  # bytes of a row with quotes; a quote that is not closed must not take all memory
WORDS, ARENA = 1 << 12, 1 << 16  # of a new table
QUOTE = ord('"')
DIALECTS = {"csv": Dialect(ord(","), 1, QUOTE), "tsv": Dialect(ord("\t"), 1, QUOTE)}
# MovieLens' files have no header: user, item, rating, seconds
RATINGS = re.compile(rb"[0-9]+(\t|::)[0-9]+\1[0-9.]+\1[0-9]+\r?")
MOVIELENS = {b"\t": Dialect(ord("\t"), 1, NO_QUOTE), b"::": Dialect(ord(":"), 2, NO_QUOTE)}


def first_line(block: Block) -> bytes:
    """Return the first line of a block that is not blank."""
    text = block.text[: block.size].tobytes().lstrip()
    return text[: (text + b"\n").index(b"\n")]


class DelimitedLog:
    """A file of rows; blocks are to be read one after another."""

    def __init__(self, first: Block, kind: str, how: LogReading, where: str) -> None:
        """Find the columns in the first block; `kind`: csv, tsv or movielens."""
        self.where, self.how = where, how
        self._place: Starts = np.zeros(3, np.int64)
        self._place[LINE] = 1
        line = first_line(first)
        separator = next((each for each in MOVIELENS if kind == "movielens" and each in line), b"")
        if separator:
            self._dialect, self.columns = MOVIELENS[separator], LogColumns(0, 1, 3, 2)
            how.refuse_columns(f"{where}, a file of MovieLens,")
            names: list[str | int] = [*range(4)]
        else:
            kind = kind if kind in DIALECTS else "csv"
            self._dialect = DIALECTS[kind]
            names = [*self._header(first, kind)]
            self.columns = choose_columns([*map(str, names)], how, where)
        check_weights(self.columns.weight is not None, how, where)
        wanted = self.columns.wanted()
        self._at = {name: k for k, name in enumerate(wanted)}
        self._slots: Ids = np.array([self._at.get(name, -1) for name in names], np.int32)
        self._rest = b""  # of a row that the next block ends
        self._tables: dict[int, WordTable] = {}  # by code
        self._sides = {name: SideValues() for name in self.columns.side}

    def _header(self, block: Block, kind: str) -> list[str]:
        """Return the names of the columns, and go on behind them."""
        text = block.text[: block.size].tobytes()
        rows = csv.reader(
            io.StringIO(decode_word(text), newline="\n"), delimiter=chr(self._dialect.separator), strict=True
        )
        try:
            names = next(filter(None, rows), [])
        except csv.Error as error:
            raise DataError(
                f"{self.where}: line {rows.line_num}: the header is not valid {kind.upper()} ({error}): give "
                "a file whose first line holds the names of its columns"
            ) from None
        for _ in range(rows.line_num):
            self._place[POSITION] = text.index(b"\n", self._place[POSITION]) + 1
        self._place[LINE] += rows.line_num
        return [name.strip() for name in names]

    def parts(self, block: Block) -> list[EventPart]:
        """Return the rows that end in a block."""
        if self._rest:
            longer = Block()
            longer.append(self._rest)
            longer.append(memoryview(block.text[: block.size]))  # type: ignore[arg-type]
            block = longer
        parts, answer = [], FULL
        while answer == FULL:
            most = min(MOST, block.size // 2 + 1)  # a row has at least two bytes
            lines, wrong = np.empty(most, np.int64), np.empty(most, np.uint8)
            spans = np.zeros((most, len(self._at), 2), np.int32)
            self._place[ROWS] = 0
            answer = find_rows(
                block.text, block.size, self._dialect, self._slots, spans, wrong, lines, self._place
            )
            rows = int(self._place[ROWS])
            parts.append(self._part(block.text, spans[:rows], wrong[:rows], lines[:rows]))
        self._rest = block.text[self._place[POSITION] : block.size].tobytes() if answer == OPEN else b""
        if answer == BROKEN or len(self._rest) > LONGEST_ROW:
            raise self._unclosed(self._place[LINE])
        self._place[POSITION] = 0
        return parts

    def _unclosed(self, line: int) -> DataError:
        return DataError(
            f"{self.where}: line {line}: a quote opens a field and is not closed: close it, or "
            "double each quote inside a field in quotes"
        )

    def _part(self, text: Bytes, spans: Ids, wrong: Bytes, lines: Starts) -> EventPart:
        shown: dict[int, str] = {}
        ids = partial(self._ids, text, spans, wrong)
        numbers = partial(self._numbers, text, spans, wrong, shown)
        user, item, time, weight, session, _ = self.columns
        users, items = ids(user, NO_USER), ids(item, NO_ITEM)
        sessions = ids(session, NO_SESSION)
        for row in np.flatnonzero(wrong == LONG).tolist():
            if any("\n" in self._cell(text, spans, k, row) for k in self._at.values()):
                raise self._unclosed(lines[row])
        times, weights = numbers(time, TIME), numbers(weight, WEIGHT)
        if weights is not None and self.how.min_rating is not None:
            wrong[(wrong == FINE) & (weights < self.how.min_rating)] = LOW
        for name, side in self._sides.items():
            k = self._at[name]
            filled = np.flatnonzero((wrong == FINE) & (spans[:, k, 1] > spans[:, k, 0]))
            assert items is not None
            side.add(items, filled, partial(self._cell, text, spans, k))
        assert items is not None
        return EventPart(lines, wrong, users, items, times, weights, sessions, shown)

    @staticmethod
    def _cell(text: Bytes, spans: Ids, k: int, row: int) -> str:
        return decode_word(text[spans[row, k, 0] : spans[row, k, 1]].tobytes())

    def _ids(self, text: Bytes, spans: Ids, wrong: Bytes, name: str | int | None, code: int) -> Ids | None:
        """Return the numbers of a column's words in the table of a code."""
        if name is None:
            return None
        table = self._tables.get(code) or new_table(WORDS, ARENA)
        ids, done = np.empty(len(wrong), np.int32), 0
        with np.errstate(over="ignore"):  # hashes overflow on purpose; NumPy warns only in plain Python
            while True:
                done = number_fields(text, spans, self._at[name], wrong, code, table, ids, done)
                if done == len(ids):
                    break
                table = grown(table, len(text))
        self._tables[code] = table
        return ids

    def _numbers(
        self, text: Bytes, spans: Ids, wrong: Bytes, shown: dict[int, str], name: str | int | None, code: int
    ) -> Doubles | None:
        """Return the numbers of a column; what is not simple is read in plain Python."""
        if name is None:
            return None
        values, k = np.empty(len(wrong), np.float64), self._at[name]
        read_numbers(text, spans, k, wrong, code, code == TIME, TENS, values)
        hard = np.flatnonzero(wrong == code)
        if hard.size:
            again, own = np.zeros(hard.size, np.uint8), dict[int, str]()
            raw = text.tobytes()
            cells = [decode_word(raw[begin:end]) for begin, end in spans[hard, k].tolist()]
            values[hard] = read_cells(cells, code, again, own)
            wrong[hard] = again
            shown |= {int(hard[row]): cell for row, cell in own.items()}
        return values

    def words(self) -> SourceWords:
        """Return the words of the tables, when all blocks were read."""
        if self._rest:
            raise self._unclosed(self._place[LINE])
        found = {code: _words(table) for code, table in self._tables.items()}
        users, items, sessions = (found.get(code, []) for code in (NO_USER, NO_ITEM, NO_SESSION))
        return SourceWords(users, items, sessions, {name: side.values for name, side in self._sides.items()})


def _words(table: WordTable) -> list[str]:
    words = lexicon(table, escapes=False)
    return decode_words(words.raws(np.arange(len(words.counts))))
