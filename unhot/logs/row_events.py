"""Rows in plain Python as chunks of a log: dicts, tuples, JSON lines, sessions."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np

from unhot.corpus.reading.text_blocks import Block
from unhot.logs.cell_texts import TextColumn, value_column
from unhot.logs.edge_forms import EdgeForm
from unhot.logs.fields import BLANK, CR, LF
from unhot.logs.gathering import Gathered, LogChunk
from unhot.logs.log_reading import choose_columns
from unhot.logs.log_report import FIELDS, FINE, NO_OBJECT
from unhot.types import Starts
from unhot.vocab.vocabulary import decode_word

CHUNK = 1 << 13  # rows of an iterable that are read at a time
LISTS = (list, tuple)
NO_ROW: Mapping[str, Any] = {}  # stands for what is not a row


class RowLog:
    """Rows whose cells are values of Python; those of the first chunk decide the columns."""

    def __init__(
        self, gathered: Gathered, where: str, kind: str, format: str | None, form: EdgeForm | None = None
    ) -> None:
        """Take what is counted, lines or rows, the format, and how a text lists edges."""
        self._how, self._sessions = gathered.how, gathered.sessions
        self._where, self._kind = where, kind
        self._least = 1 + (format == "user-sessions")  # words of a line that has an item
        self._columns: dict[str, str] = {}
        self._form = EdgeForm(kind="") if form is None else form
        self._names: list[str] = []  # of all columns
        self._next = 1  # the number of the next line or row

    def values(self, source: Iterable[Any]) -> Iterator[LogChunk]:
        """Yield the rows of an iterable: dicts, or tuples (user, item[, time[, weight]]), or sessions."""
        rows, usual = iter(source), self._how.usual
        size = 0
        while chunk := [*map(_listed, islice(rows, CHUNK))]:
            if self._how.format is not None:
                lists = [row if isinstance(row, LISTS) else [None] * self._least for row in chunk]
                places = np.repeat(np.arange(len(lists)), [*map(len, lists)])
                yield self._session_chunk(value_column(chain(*lists), False), places, len(lists))
            else:
                size = size or (len(chunk[0]) if isinstance(chunk[0], LISTS) else -1)
                alike = (isinstance(row, LISTS) and len(row) == size <= len(usual) for row in chunk)
                dicts = [
                    dict(zip(usual, row, strict=False)) if named else row
                    for row, named in zip(chunk, alike, strict=True)
                ]
                yield self._dict_chunk(dicts, np.arange(len(chunk)))
            self._next += len(chunk)

    def json_lines(self, block: Block) -> Iterator[LogChunk]:
        """Yield the rows of a block of JSON lines."""
        lines = decode_word(block.text[: block.size].tobytes()).split("\n")[:-1]
        filled = [place for place, line in enumerate(lines) if line and not line.isspace()]
        if filled:
            yield self._dict_chunk([_json(lines[place]) for place in filled], np.array(filled))
        self._next += len(lines)

    def session_lines(self, block: Block) -> Iterator[LogChunk]:
        """Yield the lines of a block, cut at white space."""
        words, places, lines = _words_of_lines(block, self._form.separator)
        yield self._session_chunk(words, places, lines)
        self._next += lines

    def edge_lines(self, block: Block) -> Iterator[LogChunk]:
        """Yield the lines of a block of edges, cut at white space."""
        words, places, lines = _words_of_lines(block, "")
        first = np.flatnonzero(np.diff(places, prepend=-1) > 0)
        sizes = np.diff(np.append(first, places.size))
        names = self._form.names
        cells = {name: words.of_rows(first + np.minimum(k, sizes - 1)) for k, name in enumerate(names)}
        wrong = np.where(sizes == len(names), FINE, FIELDS).astype(np.uint8)
        yield LogChunk(self._form.columns, cells.__getitem__, places[first] + self._next, wrong, self._kind)
        self._next += lines

    def _dict_chunk(self, rows: list[Any], places: Starts) -> LogChunk:
        dicts = [row if type(row) is dict or isinstance(row, Mapping) else NO_ROW for row in rows]
        if not self._columns:
            self._names = [*dict.fromkeys(chain.from_iterable(dicts))]
            self._columns = choose_columns(self._names, self._how, self._where)
        return LogChunk(
            self._columns,
            lambda name: value_column([row.get(name) for row in dicts], name in self._how.side),
            places + self._next,
            np.array([NO_OBJECT * (row is NO_ROW) for row in dicts], np.uint8),
            self._kind,
            self._names,
        )

    def _session_chunk(self, words: TextColumn, places: Starts, lines: int) -> LogChunk:
        """Return the words of lines, maybe behind a user; each line is a session."""
        begins, users = np.diff(places, prepend=-1) > 0, self._least > 1
        rows = np.flatnonzero(~(begins & users))
        sessions = value_column(islice(self._sessions, lines), False).of_rows(places)
        columns = {"item": words, "session": sessions}
        if users:
            columns["user"] = words.of_rows(np.flatnonzero(begins)[np.cumsum(begins) - 1])
        how = replace(self._how, session=self._how.session or "session")
        return LogChunk(
            choose_columns([*columns], how, self._where),
            lambda name: columns[name].of_rows(rows),
            *(places[rows] + self._next, np.zeros(len(rows), np.uint8), self._kind),
        )


def _listed(row: Any) -> Any:
    """Return a row that is an array of NumPy, or a series of pandas or polars, as a list."""
    return [*row] if hasattr(row, "__array__") and np.ndim(row) == 1 else row


def _words_of_lines(block: Block, separator: str) -> tuple[TextColumn, Starts, int]:
    """Return the words of a block, the number of the line of each, and the number of lines."""
    text = block.text[: block.size]
    gaps = np.isin(text, [LF, CR, ord(separator)]) if separator else text <= BLANK
    spans = np.flatnonzero(np.diff(gaps, prepend=True)).reshape(-1, 1, 2)
    ends = np.flatnonzero(text == LF)
    return TextColumn(block.text, spans, 0), np.searchsorted(ends, spans[:, 0, 0]), len(ends)


def _json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
