"""Anything to the events of a log: who took which item, when, how much, in which session."""

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.encoding import PROGRESS_SECONDS, Progress
from unhot.corpus.reading.arrow import is_parquet
from unhot.corpus.reading.files import find_files
from unhot.corpus.reading.sources import paths_of
from unhot.corpus.reading.tables import table_batches
from unhot.corpus.reading.text_blocks import BLOCK, Block, Pool
from unhot.errors import ConfigError, DataError, at_least
from unhot.logs.arrow_events import ParquetLog, table_parts
from unhot.logs.delimited_events import DIALECTS, RATINGS, DelimitedLog, first_line
from unhot.logs.gathering import EventPart, Gathered, SourceWords
from unhot.logs.log_reading import AS_USUAL, USUAL, LogReading, usual_name
from unhot.logs.log_report import LogReport
from unhot.logs.row_events import JsonLines, SessionLog, iterable_parts
from unhot.tables.files import PACKED, ending_kind, open_lines
from unhot.threads import in_order
from unhot.types import Doubles, Floats, Ids
from unhot.vocab.vocabulary import decode_word

__all__ = ["Events", "LogReport", "read_events"]

SESSIONS = ("sessions", "user-sessions")
RATING_FILES = ("u.data", "ratings.dat")


class Events(NamedTuple):
    """Events in the order of the source; users, items and sessions are numbered by first appearance."""

    users: Ids  # [events], -1: no user
    items: Ids  # [events]
    times: Doubles  # [events] seconds; empty if there is no time
    weights: Floats  # [events]; empty if there are none
    sessions: Ids  # [events]; empty if there are none; for lines of sessions: the numbers of the lines
    user_words: list[str]
    item_words: list[str]
    session_words: list[str]  # empty for lines of sessions
    sides: dict[str, dict[int, list[str]]]  # column -> item -> values
    report: LogReport


def read_events(
    source: Any, how: LogReading = AS_USUAL, *, threads: int = 2, progress: Progress | None = None
) -> Events:
    """Read the events of a log.

    source      a path (a file, compressed or not, a folder, a pattern, or "-" for standard input), or a list
                of them; a table (a data frame, an Arrow table, a reader of record batches); an iterable of
                dicts, or of tuples (user, item[, time[, weight]]); with format="sessions" an iterable of
                lists of items, with "user-sessions" of lists of a user and items
    how         the columns, the format, what happens to bad rows
    threads     with more than one, files are read while rows are found
    progress    called now and then with the bytes of files read so far and in total (None if unknown)
    """
    at_least("threads", threads, 1)
    gathered = Gathered(how)
    paths = paths_of(source)
    if paths is not None:
        where = ", ".join(map(str, paths[:3]))
        _take_files([file for path in paths for file in find_files(path)], gathered, threads, progress)
    else:
        where = f"a {type(source).__name__}"
        _take(_object_parts(source, how, where), gathered, where, "row")
    return _events(gathered, where)


def _object_parts(source: Any, how: LogReading, where: str) -> Iterator[EventPart | SourceWords]:
    """Yield the parts of a value of Python."""
    table = None if isinstance(source, (list, tuple)) else table_batches(source)
    if how.format is not None and (table is not None or how.format not in SESSIONS):
        raise ConfigError(f"format={how.format!r}: is for files, but the log is {where}; leave it out")
    if table is not None:
        return table_parts(table, how, where)
    if isinstance(source, (str, bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        raise DataError(f"the log is {where}: give a path, a table, or an iterable of dicts or tuples")
    return iterable_parts(source, how, where)


def _take(parts: Iterator[EventPart | SourceWords], gathered: Gathered, where: str, kind: str) -> None:
    """Take all parts of a source, and its words."""
    for part in parts:
        if isinstance(part, SourceWords):
            gathered.end_source(part)
        else:
            gathered.take(part, where, kind)


def _take_files(
    files: list[Path | None], gathered: Gathered, threads: int, progress: Progress | None
) -> None:
    """Take the events of files, one after another."""
    sizes = [file.stat().st_size if file is not None and file.is_file() else None for file in files]
    total = None if None in sizes else sum(filter(None, sizes))
    before, last = 0, time.monotonic()
    gathered.several = len(files) > 1

    def tell(done: int, end: bool = False) -> None:
        nonlocal last
        if progress is not None and (end or time.monotonic() - last >= PROGRESS_SECONDS):
            progress(before + done, total)
            last = time.monotonic()

    for file, size in zip(files, sizes, strict=True):
        where = "standard input" if file is None else str(file)
        table = file if _is_table(file, gathered.how, where) else None
        parts = (
            _parquet_parts(table, gathered, tell)
            if table
            else _text_parts(file, where, gathered, threads, tell)
        )
        with contextlib.closing(parts):
            _take(parts, gathered, where, "row" if table else "line")
        before += size or 0
    tell(0, end=True)


def _is_table(file: Path | None, how: LogReading, where: str) -> bool:
    """Return whether a file is parquet; raise a `DataError` if it is and should not be."""
    found = is_parquet(file)
    if found and how.format not in (None, "parquet"):
        raise DataError(f"{where}: is a parquet file, not {how.format}: leave the format out")
    if how.format == "parquet" and (file is None or not file.is_file()):
        raise DataError(f"{where}: parquet is read from its end, so it cannot come from a pipe: give a file")
    return found or how.format == "parquet"


def _parquet_parts(
    file: Path, gathered: Gathered, tell: Callable[[int], None]
) -> Generator[EventPart | SourceWords, None, None]:
    """Yield the parts of a parquet file."""
    opened = ParquetLog(file, gathered.how)
    for part in opened.parts():
        yield part
        tell(opened.position())


def _text_parts(
    file: Path | None, where: str, gathered: Gathered, threads: int, tell: Callable[[int], None]
) -> Generator[EventPart | SourceWords, None, None]:
    """Yield the parts of a file of text; with several threads, its next block is read meanwhile."""
    reader, pool = open_lines(file, gathered.how.force), Pool()
    with contextlib.closing(reader.blocks(pool, BLOCK)) as blocks:
        first = next(blocks, None)
        if first is None:
            return
        log = _text_log(_format(file, first, gathered.how), first, where, gathered)

        def read(block: Block) -> tuple[Block, list[EventPart]]:
            return block, log.parts(block)

        tasks = chain([first], blocks)
        with contextlib.closing(
            in_order(tasks, read, 1) if threads > 1 else (read(task) for task in tasks)
        ) as found:
            for block, parts in found:
                pool.give(block)
                yield from parts
                tell(reader.progress()[0])
        if isinstance(log, SessionLog):
            gathered.lines = log.before
        yield log.words()


def _text_log(
    kind: str, first: Block, where: str, gathered: Gathered
) -> DelimitedLog | JsonLines | SessionLog:
    """Return what reads the blocks of a file."""
    if kind in SESSIONS:
        return SessionLog(gathered.how, kind == "user-sessions", where, gathered.lines)
    if kind == "jsonl":
        return JsonLines(gathered.how, where)
    return DelimitedLog(first, kind, gathered.how, where)


def _format(file: Path | None, first: Block, how: LogReading) -> str:
    """Return the format of a text: what was asked for, what its name says, what its first line looks like."""
    if how.format is not None:
        return how.format
    ending = ending_kind(file) if file else None
    name = "" if file is None else file.stem if file.suffix.lower() in PACKED else file.name
    line = first_line(first)
    if name.lower() in RATING_FILES or (ending in (None, *DIALECTS) and RATINGS.fullmatch(line)):
        return "movielens"
    if ending is None and line.startswith(b"{"):
        return "jsonl"
    for kind, dialect in DIALECTS.items() if ending is None else ():
        names = {usual_name(name) for name in decode_word(line).split(chr(dialect.separator))}
        if names & {*USUAL["user"]} and names & {*USUAL["item"]}:
            return kind
    return ending or "sessions"


def _events(gathered: Gathered, where: str) -> Events:
    """Return all events; raise a `DataError` if there are none."""
    report = gathered.report
    if not report.kept:
        trouble = "; ".join(line.strip() for line in report.lines()) or "there are no rows"
        raise DataError(
            f"{where}: no row is left: {trouble}; check the format ({gathered.how.format or 'not given'}), "
            "the columns and min_rating"
        )
    items, item_words, new = gathered.numbered("item")
    users, user_words, _ = gathered.numbered("user")
    sessions, session_words, _ = gathered.numbered("session")
    if not user_words:
        users = np.full(len(items), -1, np.int32)
    sides, times = gathered.sides(new), gathered.times()
    return Events(
        *(users, items, times, gathered.weights(), sessions),
        *(user_words, item_words, session_words, sides, report),
    )
