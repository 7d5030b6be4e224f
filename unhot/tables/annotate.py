"""Copy a file of rows, with columns that a function computes from the texts.

The file is read and written in batches of about a megabyte of text, so it may be larger than memory.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unhot.atomic import replacing
from unhot.corpus.reading.files import PathLike, find_files
from unhot.corpus.reading.streams import packed_file
from unhot.errors import ConfigError, DataError
from unhot.tables.batches import OpenedTable, RowBatch, chosen_text
from unhot.tables.delimited import DELIMITERS
from unhot.tables.files import PACKED, WRITERS, ending_kind, kind_of, open_table
from unhot.tables.label_cells import text_of

NewColumns = Callable[[list[str]], Sequence[Sequence[Any]]]


def annotate(
    source: PathLike,
    out: PathLike | BinaryIO,
    columns_of: NewColumns,
    *,
    column: str | None = None,
    rename: Mapping[str, str] | None = None,
    names: Sequence[str] = ("label", "score"),
    kind: str | None = None,
    force: bool = False,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> int:
    """Copy the rows of a file with new columns behind the others; return how many rows have no text.

    source       a file, compressed or not, or `-` for standard input
    out          a path, where the file appears when it is complete; or an open file of bytes. The ending of
                 the path says its format and compression; otherwise it has the format of the source.
    columns_of   texts -> the new columns; values are strings, numbers, None, or lists of these
    column       the column of the text; otherwise `text`, or the only one that holds strings
    rename       new column -> the name it gets, for example because the source has a column of that name
    names        the new columns
    kind         text, csv, tsv, jsonl or parquet, instead of what the ending of the source says
    force        read also a file that does not look like text
    on_progress  called after each batch with the bytes read so far, and their total if it is known

    The result of a text has a line for each line: the new values, with tabs between them. Where the text of
    a row is null, its new values are null; `columns_of` does not get to see it. An empty cell of CSV or TSV
    is null, because these have no other way to write it.
    """
    path, new = the_file(source), _new_names(names, rename or {})
    kind = kind_of(path, kind)
    to = (ending_kind(Path(out)) if isinstance(out, (str, os.PathLike)) else None) or kind
    refuse_same(path, out)
    table = open_table(path, kind, force)
    nulls = 0

    def annotated() -> Iterator[tuple[RowBatch, list[list[Any]]]]:
        nonlocal nulls
        for batch, texts in _texts(table, column, new, on_progress):
            nulls += texts.count(None)
            yield batch, _columns(columns_of, texts, new)

    with opened_result(out) as file:
        for data in WRITERS[to](annotated(), new):
            file.write(data)
    return nulls


def _texts(
    table: OpenedTable,
    column: str | None,
    new: list[str],
    on_progress: Callable[[int, int | None], None] | None,
) -> Iterator[tuple[RowBatch, list[str | None]]]:
    """Yield batches with their texts."""
    number, chosen = 0, ""
    for batch in table.batches:
        chosen = chosen or chosen_text(batch, column)
        _check_names(batch, new)
        cells = batch.cells(chosen)
        if batch.kind in DELIMITERS:
            cells = [cell or None for cell in cells]  # these files have no other way to write null
        texts = [text_of(cell, batch.where, number) for number, cell in enumerate(cells, number + 1)]
        number += len(cells)
        yield batch, texts
        if on_progress is not None:
            on_progress(*table.progress())


def _columns(columns_of: NewColumns, texts: list[str | None], new: list[str]) -> list[list[Any]]:
    """Return the new columns of texts, with None where a text is None."""
    there = [text for text in texts if text is not None]
    columns = columns_of(there) if there else [[] for _ in new]
    if [len(values) for values in columns] != [len(there)] * len(new):
        raise ConfigError(
            f"columns_of returned columns of {[len(values) for values in columns]} values: it must "
            f"return the {len(new)} columns {', '.join(new)}, with {len(there)} values for as many texts"
        )
    places = np.cumsum([text is not None for text in texts]) - 1
    return [
        [None if text is None else values[place] for text, place in zip(texts, places, strict=True)]
        for values in columns
    ]


def _check_names(batch: RowBatch, new: list[str]) -> None:
    """Raise a `DataError` if a new column is there already."""
    rows = [batch.columns] if batch.rows is None else batch.rows
    taken = next((name for name in new if any(name in row for row in rows)), None)
    if taken is not None:
        raise DataError(
            f"{batch.where}: has a column {taken!r} already: give the new one another name, for example "
            f"rename={{{taken!r}: 'predicted'}} (--rename {taken}=predicted)"
        )


def _new_names(names: Sequence[str], rename: Mapping[str, str]) -> list[str]:
    new = [rename.get(name, name) for name in names]
    if not rename.keys() <= set(names) or len(set(new)) < len(new):
        raise ConfigError(
            f"rename={dict(rename)}: the new columns are {', '.join(names)}: rename only these, each to "
            "a name of its own"
        )
    return new


def the_file(source: PathLike) -> Path | None:
    """Return the one file that a source names; None: standard input."""
    files = find_files(source)
    if len(files) > 1 or (files[0] is not None and files[0] != Path(source)):
        raise DataError(f"{os.fspath(source)}: is a folder or a pattern: give one file")
    return files[0]


def refuse_same(source: Path | None, out: PathLike | BinaryIO) -> None:
    """Raise a `ConfigError` if a result would replace its source, also through links or a redirection."""
    try:
        status = Path(out).stat() if isinstance(out, (str, os.PathLike)) else os.fstat(out.fileno())
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
    packing = PACKED.get(Path(out).suffix.lower())
    with replacing(Path(out)) as file:
        if packing is None:
            yield file
        else:
            with packed_file(packing, file, "wb") as packed:
                yield packed
