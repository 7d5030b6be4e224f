"""Copy a table with new columns, which a function computes from its texts.

The table is read and written in batches of about a megabyte of text, so it may be larger than memory. Rows
keep their order, and fields that were there keep their bytes where the format of the copy is that of the
source. A bad row is copied as it is, and counted.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from unhot.atomic import replacing
from unhot.errors import ConfigError, DataError, one_of
from unhot.rows.arrow import pa
from unhot.rows.batches import TEXT, OpenedRows, RowBatch, TextReport
from unhot.rows.opening import PACKED, TextFile, ending_kind, format_of, open_file
from unhot.rows.paths import PathLike, find_files
from unhot.rows.remote import as_path, uploaded
from unhot.rows.streams import packed_file
from unhot.rows.values import strings
from unhot.rows.writers import WRITERS, NewRows
from unhot.vocab.vocabulary import encode_word

UNSCORED = "were copied without a score"
NewColumns = Callable[[list[str]], Sequence[Sequence[Any]]]


def copy_rows(
    source: PathLike,
    out: PathLike | BinaryIO,
    columns_of: NewColumns,
    *,
    lines_of: Callable[[Iterable[bytes]], Iterable[bytes]] | None = None,
    column: str | None = None,
    rename: Mapping[str, str] | None = None,
    names: Sequence[str] = ("label", "score"),
    kind: str | None = None,
    header: str | Sequence[str] | None = None,
    separator: str | None = None,
    force: bool = False,
    strict: bool = False,
    on_progress: Callable[[int, int | None], None] = lambda done, total: None,
    tell: Callable[[str], None] = lambda line: None,
) -> TextReport:
    """Copy the rows of a file with new columns behind the others.

    source       a file, compressed or not, or `-` for standard input
    out          a path, where the file appears when it is complete; or an open file of bytes. The ending of
                 the path says its format and compression; otherwise it has the format of the source.
    columns_of   texts -> the new columns; values are strings, numbers, None, or lists of these
    lines_of     lines of plain text, many at a time -> the lines of its copy: a quicker way for plain text
    column       the column of the text; otherwise `text`, or the only one that holds strings
    rename       new column -> the name it gets, for example because the source has a column of that name
    names        the new columns
    kind, header, separator, force   see `format_of`
    strict       raise a `DataError` at the first bad row
    on_progress  called after each batch with the bytes read so far, and their total if it is known
    tell         called with a line about what the source is

    The result of a text has a line for each line: the new values, with tabs between them. Where the text of
    a row is null, or the row is bad, its new values are null; `columns_of` does not get to see it.
    """
    path, new = the_file(source), new_names(names, rename or {})
    to = ending_kind(as_path(out)) if isinstance(out, (str, os.PathLike)) else None
    refuse_same(path, out)
    report = TextReport(strict, fate=UNSCORED, empty=UNSCORED)
    with contextlib.closing(open_file(path, format_of(kind, force, header, separator))) as opened:
        if isinstance(opened, TextFile) and lines_of and column is None and not rename and to is None:
            with opened_result(out) as file:
                for data in lines_of(block.data for block in opened.blocks()):
                    file.write(data)
                    on_progress(*opened.progress())
            return report
        table = text_rows(opened) if isinstance(opened, TextFile) else opened
        to = table.kind if to is None or table.kind.startswith(to) else to
        one_of("format of the copy", to, tuple(WRITERS))
        if to != table.kind:
            report.fate = "are empty in the copy, which has another format"
            if twice := [name for name in table.names if table.names.count(name) > 1]:
                raise DataError(
                    f"{table.where}: several columns are called {twice[0]!r}: rename all but one of them, or "
                    f"write the format of the source ({table.kind})"
                )
        text = table.text_column(column) if table.names else ""
        _check_names(table.where, table.names, new)
        if text and table.kind != "text":
            report.recognize(table, text=text)
            tell(*report.recognized)

        def rows() -> Iterator[NewRows]:
            for batch in table.batches({text: TEXT} if text else {}, every=True):
                _check_names(batch.where, _later_names(batch, table, new), new)
                texts = strings(batch.cells[text], batch.where) if text else [None] * batch.size
                report.take_texts(batch, texts.count(None))
                yield batch, _columns(columns_of, texts, new)
                on_progress(*table.progress())

        with opened_result(out) as file:
            for data in WRITERS[to](rows(), table, new):
                file.write(data)
            report.check(table.where)
    return report


def text_rows(file: TextFile) -> OpenedRows:
    """Return the lines of a text as rows of one column, which copies lack; CR LF ends a line as LF does."""

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        for block in file.blocks():
            lines = block.data.replace(b"\r\n", b"\n").split(b"\n")[:-1]
            cells = {"text": pa.array(lines, pa.binary())}
            dicts = partial(list[dict[str, Any]], [{}] * len(lines))
            yield RowBatch(file.where, len(lines), cells, "line", block.line, dicts=dicts)

    return OpenedRows(file.where, "text", ["text"], {"text": False}, batches, file.progress)


def _later_names(batch: RowBatch, table: OpenedRows, new: list[str]) -> list[str]:
    """Return the columns of the rows of JSON lines, which may have more than the first ones."""
    written = batch.records() if batch.records and table.kind == "jsonl" else ()
    text = b"".join(record.raw for record in written)
    suspicious = any(encode_word(name) in text for name in new)
    return [*chain.from_iterable(batch.dicts())] if suspicious else []


def _columns(columns_of: NewColumns, texts: list[str | None], new: list[str]) -> Sequence[Sequence[Any]]:
    """Return the new columns of rows, with nulls where there is no text."""
    there = [text for text in texts if text is not None]
    columns = columns_of(there) if there else [[]] * len(new)
    if [len(values) for values in columns] != [len(there)] * len(new):
        raise ConfigError(
            f"columns_of returned columns of {[len(values) for values in columns]} values: it must "
            f"return the {len(new)} columns {', '.join(new)}, with {len(there)} values for as many texts"
        )
    if len(there) == len(texts):
        return columns
    return [[None if text is None else next(rest) for text in texts] for rest in map(iter, columns)]


def _check_names(where: str, names: Sequence[str], new: list[str]) -> None:
    """Raise a `DataError` if a new column is there already."""
    taken = next((name for name in new if name in names), None)
    if taken is not None:
        raise DataError(
            f"{where}: has a column {taken!r} already: give the new one another name, for example "
            f"rename={{{taken!r}: 'predicted'}} (--rename {taken}=predicted)"
        )


def new_names(names: Sequence[str], rename: Mapping[str, str]) -> list[str]:
    """Return the names of new columns; raise a `ConfigError` if they do not differ."""
    new = [rename.get(name, name) for name in names]
    if not rename.keys() <= set(names) or len(set(new)) < len(new):
        raise ConfigError(
            f"rename={dict(rename)}: the new columns are {', '.join(names)}: rename only these, each to "
            "a name of its own"
        )
    return new


def the_file(source: PathLike) -> Path | None:
    """Return the one file that a source names; None: standard input."""
    place = as_path(source)
    files = find_files(place)
    if len(files) > 1 or (files[0] is not None and str(files[0]) != str(place)):
        raise DataError(f"{place}: is a folder or a pattern: give one file")
    return files[0]


def refuse_same(source: Path | None, out: PathLike | BinaryIO) -> None:
    """Raise a `ConfigError` if a result would replace its source, also through links or a redirection."""
    try:
        status = as_path(out).stat() if isinstance(out, (str, os.PathLike)) else os.fstat(out.fileno())
    except OSError:  # there is no such file yet, or the open file is none of the system
        return
    if source is not None and source.is_file() and os.path.samestat(status, source.stat()):
        raise ConfigError(
            f"{source}: is the input, and would be replaced; choose another name for the result"
        )


@contextlib.contextmanager
def opened_result(out: PathLike | BinaryIO) -> Iterator[BinaryIO]:
    """Open a result: a path is packed if its ending says so, and an open file stays open."""
    if not isinstance(out, (str, os.PathLike)):
        yield out
        return
    with uploaded(out) as place, replacing(place) as file:
        packing = PACKED.get(place.suffix.lower())
        if packing is None:
            yield file
        else:
            with packed_file(packing, file, "wb") as packed:
                yield packed
