"""Rows of CSV, TSV and MovieLens' files as chunks of a log, by compiled code, in blocks of a megabyte."""

import csv
import re
from collections.abc import Iterator, Sequence

import numpy as np

from unhot.corpus.reading.text_blocks import Block
from unhot.errors import DataError
from unhot.logs.cell_texts import TextColumn
from unhot.logs.edge_forms import EdgeForm
from unhot.logs.fields import BROKEN, FULL, LINE, OPEN, POSITION, ROWS, find_rows
from unhot.logs.gathering import LogChunk
from unhot.logs.log_reading import LogReading, choose_columns
from unhot.types import Ids, Starts
from unhot.vocab.vocabulary import decode_word

MOST = 1 << 16  # rows of a chunk
LONGEST_ROW = 1 << 24  # bytes of a row with quotes; a quote that is not closed must not take all memory
SEPARATORS = {"csv": ",", "tsv": "\t"}
# MovieLens' files have no header
RATINGS = re.compile(rb"[0-9]+(\t|::)[0-9]+\1[0-9.]+\1[0-9]+\r?")
NAMES: Sequence[str] = ["user", "item", "rating", "time"]


def first_line(block: Block) -> bytes:
    """Return the first line of a block that is not empty."""
    return block.text[: block.size].tobytes().lstrip(b"\r\n").partition(b"\n")[0]


class DelimitedLog:
    """A file of rows; blocks are to be read one after another."""

    def __init__(
        self, first: Block, kind: str, how: LogReading, where: str, form: EdgeForm | None = None
    ) -> None:
        """Find the columns in the first block; `kind`: csv, tsv or movielens; `form`: of edges."""
        self._where, self._place = where, np.array([0, 1, 0], np.int64)
        line = first_line(first)
        ratings = RATINGS.fullmatch(line) if kind == "movielens" else None
        self._colons = ratings is not None and ratings[1] == b"::"
        self._separator = "\t" if ratings else SEPARATORS.get(kind, ",")
        if form is None:
            self._names = NAMES if ratings else self._header(first, line)
            self._columns = choose_columns(self._names, how, where)
        else:
            self._separator, self._names = form.separator, form.names
            self._columns = form.columns
        self._at = {name: k for k, name in enumerate({*self._columns.values(), *how.side})}
        self._slots: Ids = np.array([self._at.get(name, -1) for name in self._names], np.int32)
        self._rest = b""  # of a row that the next block ends

    def _header(self, block: Block, line: bytes) -> list[str]:
        """Return the names of the columns, and go on behind them."""
        try:
            names = [*csv.reader([decode_word(line)], delimiter=self._separator, strict=True)]
        except csv.Error as error:
            raise DataError(
                f"{self._where}: its first line is no header ({error}): give a file whose first line holds "
                "the names of its columns"
            ) from None
        found = [name.strip() for row in names for name in row]
        text = block.text[: block.size].tobytes()
        self._place[POSITION] = text.index(line) + len(line) + 1
        self._place[LINE] += text.count(b"\n", 0, self._place[POSITION])
        return found

    def chunks(self, block: Block) -> Iterator[LogChunk]:
        """Yield the rows that end in a block; an empty block ends the file."""
        ended = not block.size
        if self._rest or self._colons:
            data = self._rest + block.text[: block.size].tobytes()
            block = Block()
            block.append(data.replace(b"::", b"\t") if self._colons else data)
        answer = FULL
        while answer == FULL:
            most = min(MOST, block.size // 2 + 1)  # a row has at least two bytes
            lines, wrong = np.empty(most, np.int64), np.empty(most, np.uint8)
            spans: Starts = np.zeros((most, len(self._at), 2), np.int64)
            self._place[ROWS] = 0
            answer = find_rows(
                *(block.text, block.size, ord(self._separator), self._slots),
                *(spans, wrong, lines, self._place),
            )
            rows = slice(int(self._place[ROWS]))
            cells = {name: TextColumn(block.text, spans[rows], k) for name, k in self._at.items()}
            yield LogChunk(self._columns, cells.__getitem__, lines[rows], wrong[rows], "line", self._names)
        self._rest = block.text[self._place[POSITION] : block.size].tobytes() if answer == OPEN else b""
        if answer == BROKEN or len(self._rest) > LONGEST_ROW or (ended and self._rest):
            raise DataError(
                f"{self._where}: line {self._place[LINE]}: a quote opens a field and is not closed: close "
                "it, or double each quote inside a field in quotes"
            )
        self._place[POSITION] = 0
