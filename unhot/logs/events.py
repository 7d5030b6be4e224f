"""Anything to the events of a log: who took which item, when, how much, in which session."""

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice, repeat, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from unhot.errors import ConfigError, DataError, at_least
from unhot.logs.gathering import Events, Gathered, LogReport
from unhot.logs.log_reading import AS_USUAL, SESSIONS, LogReading, usual_column
from unhot.rows.arrow import pa
from unhot.rows.batches import LIST, VALUE, OpenedRows, Record, RowBatch
from unhot.rows.delimited import SEPARATORS, open_delimited
from unhot.rows.opening import MARKED, TextFile, check_delimited, marked_kind
from unhot.rows.paths import find_files, paths_of
from unhot.rows.records import FEED, RowBlock
from unhot.rows.tables import is_table, open_marked, open_table, values_of
from unhot.rows.values import open_objects, value_column
from unhot.threads import in_order
from unhot.types import Starts
from unhot.vocab.vocabulary import decode_word

__all__ = ["Events", "LogReport", "read_events"]

LineWords = tuple[Any, Starts]  # the words of lines as a column, and the line of each, from 0 on
Opener = Callable[[Path | None, TextFile, Gathered], OpenedRows]

CHUNK = 1 << 13  # rows of an iterable that are read at a time
BLOCK = 1 << 20  # bytes of a block of text: of words of one letter, its arrays take a hundred times as many
# MovieLens' files have no header
RATINGS = re.compile(rb"[0-9]+(\t|::)[0-9]+\1[0-9.]+\1[0-9]+\r?")
NAMES = ("user", "item", "rating", "time")
SPACE, RETURN = 32, 13  # the first byte above white space is 33


def read_events(
    source: Any,
    how: LogReading = AS_USUAL,
    *,
    threads: int = 2,
    progress: Callable[[int, int | None], None] | None = None,
    opener: Opener | None = None,
) -> Events:
    """Read the events of a log.

    source      a path (a file, compressed or not, a folder, a pattern, or "-" for standard input), or a list
                of them; a table (a data frame, an Arrow table, a reader of record batches); an iterable of
                dicts, or of tuples (user, item[, time[, weight]]); with format="sessions" an iterable of
                lists of items, with "user-sessions" of lists of a user and items
    how         the columns, the format, what happens to bad rows
    threads     with more than one, rows are read while others are numbered
    progress    called every few megabytes with the bytes of files read so far and in total (None if unknown)
    opener      what opens the rows of a text; None: `open_text`
    """
    at_least("threads", threads, 1)
    gathered, paths = Gathered(how), paths_of(source)
    if paths is None:
        where = f"a {type(source).__name__}"
        for _ in take_rows(_of_object(source, gathered, where), gathered):
            pass
        return gathered.events(where)
    files = [file for path in paths for file in find_files(path)]
    sizes = [file.stat().st_size for file in files if file is not None and file.is_file()]
    total = sum(sizes) if len(sizes) == len(files) else None
    gathered.report.several = len(files) > 1
    tell = progress or (lambda done, total: None)
    done = position = 0
    for file in files:
        with _of_file(file, gathered, opener or open_text) as rows:
            for position in take_rows(rows, gathered, threads):
                tell(done + position, total)
        done += position
    tell(done if total is None else total, total)
    return gathered.events(", ".join(map(str, paths[:3])))


def take_rows(opened: OpenedRows, gathered: Gathered, threads: int = 1) -> Iterator[int]:
    """Take the rows of a source; yield the bytes that are read so far."""
    columns = gathered.choose(opened)
    wanted = dict.fromkeys(columns.values(), VALUE) | dict.fromkeys(gathered.how.side, LIST)
    batches: Any = opened.batches(wanted)
    if threads > 1:  # a batch is read while the one before it is taken
        batches = in_order(repeat(batches), lambda rest: next(rest, None), 1)
    with contextlib.closing(batches):
        for batch in takewhile(bool, batches):
            gathered.take(batch, columns)
            yield opened.progress()[0]


def _of_object(source: Any, gathered: Gathered, where: str) -> OpenedRows:
    """Open the rows of a value of Python."""
    kind = gathered.how.format
    opened = None if isinstance(source, (list, tuple)) else open_table(source)
    if kind is not None and (opened is not None or kind not in SESSIONS):
        raise ConfigError(f"format={kind!r}: is for files, but the log is {where}; leave it out")
    listed = isinstance(source, Iterable) or is_table(source)
    if isinstance(source, (bytes, bytearray, memoryview)) or not listed:
        raise DataError(f"the log is {where}: give a path, a table, or an iterable of dicts or tuples")
    rows = map(_listed, () if opened else values_of(source))
    if kind is None:
        return opened or open_objects(rows, where, [*gathered.how.usual])
    some = enumerate(iter(lambda: [*islice(rows, CHUNK)], []))
    lines = (_words_of_lists(each, number * CHUNK, kind) for number, each in some)
    return open_lines(lines, kind, gathered, where, "row")


def _listed(row: Any) -> Any:
    """Return a row that is an array of NumPy, or a series of pandas or polars, as a list."""
    return [*row] if hasattr(row, "__array__") and getattr(row, "ndim", 1) == 1 and len(row) else row


@contextlib.contextmanager
def _of_file(file: Path | None, gathered: Gathered, opener: Opener) -> Iterator[OpenedRows]:
    """Open the rows of a file, or of standard input (None)."""
    asked, marked = gathered.how.format, marked_kind(file)
    if asked is not None and asked != marked and (marked or asked in MARKED):
        raise DataError(
            f"{file or 'standard input'}: it is {'' if marked else 'not '}a {marked or asked} file, but the "
            f"format is {asked}: leave it out"
        )
    if file is not None and marked:
        check_delimited(str(file), marked, gathered.how.form)
        yield open_marked(file, marked)
        return
    text = TextFile(file, gathered.how.form)
    with contextlib.closing(text):
        yield opener(file, text, gathered)._replace(progress=text.progress)


def open_text(file: Path | None, text: TextFile, gathered: Gathered) -> OpenedRows:
    """Open the rows of a text: JSON, CSV and TSV, files of MovieLens, lines of sessions."""
    how, line = gathered.how, text.head.lstrip(b"\r\n").partition(b"\n")[0]
    kind = how.format or text.kind
    rated = kind != "csv" and not how.header and RATINGS.fullmatch(line)
    if how.format in (None, "movielens") and rated:
        blocks = (RowBlock(each.data.replace(b"::", b"\t"), each.line) for each in text.blocks(BLOCK))
        return open_delimited(blocks, text.where, "tsv", names=NAMES)
    for each, separator in SEPARATORS.items():
        names = decode_word(line).split(separator)
        if kind == "text" and all(usual_column(how.usual[role], names) for role in ("user", "item")):
            kind = each  # the line is a header
    if kind not in ("text", *SESSIONS):
        return text.rows("csv" if kind == "movielens" else kind, size=BLOCK)
    kind = kind if kind in SESSIONS else SESSIONS[0]
    gathered.report.say(text.where, f"{text.where}: read as lines of {kind}")
    return open_lines(map(words_of, text.blocks(BLOCK)), kind, gathered, text.where, "line")


def open_lines(
    lines: Iterable[LineWords], kind: str, gathered: Gathered, where: str, unit: str
) -> OpenedRows:
    """Open the words of lines as rows; each line is a session, maybe behind a user."""
    users = kind == "user-sessions"

    def batches(wanted: Mapping[str, str]) -> Iterator[RowBatch]:
        first = gathered.sessions
        for words, places in lines:
            begins = np.diff(places, prepend=-1) > 0
            rows = np.flatnonzero(~(begins & users))
            owners = np.flatnonzero(begins)[np.cumsum(begins) - 1]
            lone = np.flatnonzero(begins & np.append(begins[1:], True) & users)
            gathered.report.lone |= {*words.take(pa.array(lone)).drop_null().to_pylist()}
            columns = {
                "item": words.take(pa.array(rows)),
                "session": pa.array(places[rows] + first),
                "user": words.take(pa.array(owners[rows])),
            }
            gathered.sessions = first + int(places.max(initial=-1)) + 1
            yield RowBatch(where, len(rows), columns, unit, records=_on_lines(places[rows] + 1))

    return OpenedRows(where, kind, ["item", "session", *["user"] * users], {}, batches)


def words_of(block: RowBlock, separator: str = "") -> LineWords:
    """Return the words of lines; no separator: white space is between them."""
    text = np.frombuffer(block.data, np.uint8)
    gaps = np.isin(text, [FEED, RETURN, ord(separator)]) if separator else text <= SPACE
    spans = np.flatnonzero(np.diff(gaps, prepend=True)).reshape(-1, 2)
    offsets = np.append(0, np.cumsum(spans[:, 1] - spans[:, 0]))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text[~gaps])]
    words = pa.Array.from_buffers(pa.large_binary(), len(spans), buffers)
    feeds = np.flatnonzero(text == FEED)
    return words, np.searchsorted(feeds, spans[:, 0]) + block.line - 1


def _words_of_lists(rows: list[Any], first: int, kind: str) -> LineWords:
    """Return the same for lists of values; what is no list has as many words as a line needs, all missing."""
    least = 1 + (kind == "user-sessions")
    lists = [row if isinstance(row, (list, tuple)) else [None] * least for row in rows]
    words = value_column("item", [*chain.from_iterable(lists)], VALUE, {})
    return words, np.repeat(np.arange(first, first + len(lists)), [*map(len, lists)])


def _on_lines(lines: Starts) -> Callable[[], list[Record]]:
    """Return what gives the records of rows on these lines."""
    return lambda: [Record(line, b"") for line in lines.tolist()]
