"""Lines of words as rows of a log: sessions, and edges cut at white space."""

from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from unhot.rows.arrow import pyarrow
from unhot.rows.batches import VALUE, RowBatch
from unhot.rows.objects import value_column
from unhot.rows.records import FEED, Record, RowBlock
from unhot.rows.word_numbers import SPACE
from unhot.types import Starts

RETURN = 13


class LineWords(NamedTuple):
    """The words of lines."""

    words: Any  # a column of Arrow
    places: Starts  # [words] the line of each
    many: int  # lines, also those without words


def words_of(data: bytes, separator: str = "") -> LineWords:
    """Return the words of lines; no separator: white space is between them."""
    arrow, text = pyarrow(), np.frombuffer(data, np.uint8)
    gaps = np.isin(text, [FEED, RETURN, ord(separator)]) if separator else text <= SPACE
    spans = np.flatnonzero(np.diff(gaps, prepend=True)).reshape(-1, 2)
    offsets = np.append(0, np.cumsum(spans[:, 1] - spans[:, 0]))
    buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(text[~gaps])]
    words = arrow.Array.from_buffers(arrow.large_binary(), len(spans), buffers)
    feeds = np.flatnonzero(text == FEED)
    return LineWords(words, np.searchsorted(feeds, spans[:, 0]), feeds.size)


def words_of_lists(rows: list[Any], least: int) -> LineWords:
    """Return the same for lists of values; what is no list has as many words as a line needs, all missing."""
    lists = [row if isinstance(row, (list, tuple)) else [None] * least for row in rows]
    words = value_column("item", [*chain.from_iterable(lists)], VALUE, {})
    return LineWords(words, np.repeat(np.arange(len(lists)), [*map(len, lists)]), len(lists))


def session_rows(lines: LineWords, users: bool, first: int, session: int, where: str, unit: str) -> RowBatch:
    """Return a row for each word of lines; each line is a session, maybe behind a user.

    first     the number of the first line, for people
    session   the number of its session
    """
    arrow, (words, places, _) = pyarrow(), lines
    begins = np.diff(places, prepend=-1) > 0
    rows = np.flatnonzero(~(begins & users))
    columns = {"item": words.take(arrow.array(rows)), "session": arrow.array(places[rows] + session)}
    if users:
        owners = np.flatnonzero(begins)[np.cumsum(begins) - 1]
        columns["user"] = words.take(arrow.array(owners[rows]))
    cells = arrow.RecordBatch.from_pydict(columns)
    return RowBatch(where, cells, unit, records=_at(places[rows] + first))


def edge_rows(block: RowBlock, names: tuple[str, ...], where: str) -> RowBatch:
    """Return a row for each line that holds words; it must have as many as there are names."""
    arrow = pyarrow()
    words, places, _ = words_of(block.data)
    first = np.flatnonzero(np.diff(places, prepend=-1) > 0)
    sizes = np.diff(np.append(first, places.size))
    columns = {
        name: words.take(arrow.array(first + np.minimum(k, sizes - 1))) for k, name in enumerate(names)
    }
    faults = {
        place: f"has {sizes[place]} fields, not {len(names)}"
        for place in np.flatnonzero(sizes != len(names)).tolist()
    }
    cells = arrow.RecordBatch.from_pydict(columns)
    return RowBatch(where, cells, "line", faults=faults, records=_at(places[first] + block.line))


def _at(lines: Starts) -> Callable[[], list[Record]]:
    """Return what gives rows on these lines."""
    return lambda: [Record(line, b"") for line in lines.tolist()]
