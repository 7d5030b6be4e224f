"""Anything to the events of a log: who took which item, when, how much, in which session."""

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from unhot.corpus.encoding import PROGRESS_SECONDS, Progress
from unhot.corpus.reading.arrow import is_parquet
from unhot.corpus.reading.files import find_files
from unhot.corpus.reading.sources import paths_of
from unhot.corpus.reading.tables import table_batches
from unhot.corpus.reading.text_blocks import BLOCK, Block, Pool
from unhot.errors import ConfigError, DataError, at_least
from unhot.logs.arrow_events import ParquetLog, table_chunks
from unhot.logs.delimited_events import RATINGS, SEPARATORS, DelimitedLog, first_line
from unhot.logs.edge_forms import EdgeForm, edge_form
from unhot.logs.gathering import Events, Gathered, LogChunk
from unhot.logs.log_reading import AS_USUAL, LogReading, usual_column
from unhot.logs.log_report import LogReport
from unhot.logs.row_events import RowLog
from unhot.tables.files import ending_kind, open_lines
from unhot.threads import in_order
from unhot.vocab.vocabulary import decode_word

__all__ = ["Events", "LogReport", "read_events"]

SESSIONS = ("sessions", "user-sessions")


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
    if paths is None:
        where = f"a {type(source).__name__}"
        for chunk in _object_chunks(source, gathered, where):
            gathered.take(chunk, where)
        return gathered.events(where)
    files = [file for path in paths for file in find_files(path)]
    sizes = [file.stat().st_size for file in files if file is not None and file.is_file()]
    total = sum(sizes) if len(sizes) == len(files) else None
    gathered.several = len(files) > 1
    last, done = time.monotonic(), 0
    with contextlib.closing(_take_files(files, gathered, threads)) as steps:
        for done in steps:
            if progress is not None and time.monotonic() - last >= PROGRESS_SECONDS:
                progress(done, total)
                last = time.monotonic()
    if progress is not None:
        progress(done if total is None else total, total)
    return gathered.events(", ".join(map(str, paths[:3])))


def _object_chunks(source: Any, gathered: Gathered, where: str) -> Iterator[LogChunk]:
    """Return the rows of a value of Python."""
    table, kind = None if isinstance(source, (list, tuple)) else table_batches(source), gathered.how.format
    if kind is not None and (table is not None or kind not in SESSIONS):
        raise ConfigError(f"format={kind!r}: is for files, but the log is {where}; leave it out")
    if table is not None:
        return table_chunks(table, gathered.how, where)
    if isinstance(source, (bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        raise DataError(f"the log is {where}: give a path, a table, or an iterable of dicts or tuples")
    return RowLog(gathered, where, "row", kind).values(source)


def _take_files(files: list[Path | None], gathered: Gathered, threads: int) -> Generator[int, None, None]:
    """Take the rows of files, one after another; yield the bytes that are read so far."""
    done = 0
    for file in files:
        where = "standard input" if file is None else str(file)
        table = file if is_parquet(file) else None
        if gathered.how.format is not None and (gathered.how.format == "parquet") != (table is not None):
            raise DataError(
                f"{where}: it is {'' if table else 'not '}a parquet file, but the format is "
                f"{gathered.how.format}: leave it out"
            )
        taken = _take_parquet(table, gathered) if table else _take_text(file, where, gathered, threads)
        before = done
        for position in taken:
            done = before + position
            yield done


def _take_parquet(file: Path, gathered: Gathered) -> Iterator[int]:
    log = ParquetLog(file)
    for chunk in log.chunks(gathered.how):
        gathered.take(chunk, log.name)
        yield log.position()


def _take_text(file: Path | None, where: str, gathered: Gathered, threads: int) -> Iterator[int]:
    """Take the rows of a file of text; with several threads, its next block is read meanwhile."""
    reader, pool = open_lines(file, gathered.how.force), Pool()
    with contextlib.closing(reader.blocks(pool, BLOCK)) as blocks:
        first = next(blocks, None)
        if first is None:
            return
        form = _edge_form(file, first, where, gathered) if gathered.how.edges else None
        chunks = _chunks_of(file, first, where, gathered, form)

        def take(block: Block) -> Block:
            rows = _clean(block, block is first, form, gathered) if form else block
            for chunk in chunks(rows):
                gathered.take(chunk, where)
            return block

        tasks = chain([first], blocks, [Block()])  # an empty block ends the text
        done = in_order(tasks, take, 1) if threads > 1 else (take(task) for task in tasks)
        with contextlib.closing(done):
            for block in done:
                pool.give(block)
                yield reader.progress()[0]


def _edge_form(file: Path | None, first: Block, where: str, gathered: Gathered) -> EdgeForm | None:
    """Return how a text lists edges, and report it; None: JSON lines."""
    kind = gathered.how.format or (ending_kind(file) if file else None)
    if kind == "jsonl" or (kind is None and first_line(first).startswith(b"{")):
        return None
    form = edge_form(first, gathered.how, kind, where)
    if not any(line.endswith(form.said) for line in gathered.report.forms):  # thousands of files may be alike
        gathered.report.forms.append(f"{where}: {form.said}")
    return form


def _clean(block: Block, first: bool, form: EdgeForm, gathered: Gathered) -> Block:
    """Return a block without what is no edge, and report what that is."""
    cleaned, comments = form.clean(block, first)
    gathered.report.comments += comments
    if form.kind == "user-sessions":
        gathered.report.lone |= form.lone_nodes(cleaned)
    return cleaned


def _chunks_of(
    file: Path | None, first: Block, where: str, gathered: Gathered, form: EdgeForm | None
) -> Callable[[Block], Iterator[LogChunk]]:
    """Return what finds the rows of a block, for a file with this first block."""
    if form is not None:
        kind = form.kind
    else:
        kind = "jsonl" if gathered.how.edges else gathered.how.format or _format(file, first, gathered.how)
    rows = RowLog(gathered, where, "line", kind, form)
    if kind in (*SESSIONS, "jsonl", "edges"):
        named = {"jsonl": rows.json_lines, "edges": rows.edge_lines}
        return named.get(kind, rows.session_lines)
    return DelimitedLog(first, kind, gathered.how, where, form).chunks


def _format(file: Path | None, first: Block, how: LogReading) -> str:
    """Return the format of a text: what its first line looks like, or what its name says."""
    line, ending = first_line(first), ending_kind(file) if file else None
    if RATINGS.fullmatch(line):
        return "movielens"
    headed = (  # formats in which the line is a header
        kind
        for kind, separator in SEPARATORS.items()
        if all(usual_column(how.usual[role], decode_word(line).split(separator)) for role in ("user", "item"))
    )
    return ending or ("jsonl" if line.startswith(b"{") else next(headed, None)) or "sessions"
