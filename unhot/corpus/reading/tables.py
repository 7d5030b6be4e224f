"""Read Python objects with columns: Arrow tables, data frames, Hugging Face datasets, rows that are dicts.

A single column (a series of pandas or polars, a chunked array of Arrow) is read as a table of one column.

Objects are recognised by their attributes, so that their libraries need not be imported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Protocol

from unhot.corpus.reading.arrow import (
    USUAL_NAME,
    ChosenColumn,
    batch_chunks,
    choose_column,
    column_of,
    pyarrow,
)
from unhot.errors import DataError, MissingExtra
from unhot.vocab.vocabulary import decode_word

DATASET_ROWS = 1000  # rows read from a dataset at a time


class ArrowStream(Protocol):
    """The Arrow PyCapsule interface, which tables, data frames and record batch readers have."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream of record batches."""


def table_chunks(source: Any, asked: str | None, nulls: bool) -> tuple[ChosenColumn, Iterator[bytes]] | None:
    """Return the text column of a table, and its sentences as bytes; None if the source is not a table.

    `nulls`: a null cell counts as an empty sentence instead of being skipped.
    """
    batches = table_batches(source)
    if batches is None and asked is None:
        batches = _column_batches(source)
    if batches is None:
        return None
    first = next(batches, None)
    if first is None:
        return ChosenColumn("", False), iter(())
    column = column_of(first.schema, asked, f"a {type(source).__name__}")
    return column, batch_chunks(chain([first], batches), column, nulls)


def table_batches(source: Any) -> Iterator[Any] | None:
    """Return the record batches of a table; None if the source is not a table."""
    if isinstance(source, Mapping):
        keys, first_key = ", ".join(map(repr, list(source)[:10])), next(iter(source), "")
        raise DataError(
            f"the source is a {type(source).__name__} with the keys {keys}: give one of its values, for "
            f"example source[{first_key!r}]"
        )
    # Dataset, IterableDataset
    if hasattr(source, "column_names") and hasattr(source, "with_format") and hasattr(source, "iter"):
        pyarrow()
        tables = source.with_format("arrow").iter(batch_size=DATASET_ROWS)
        return (batch for table in tables for batch in table.to_batches())
    if hasattr(type(source), "collect_schema") and hasattr(type(source), "collect"):
        raise DataError(
            f"a {type(source).__name__} is a query that has not run: give its result (source.collect()), or "
            "write that to a parquet file (source.sink_parquet) if it does not fit into memory"
        )
    if not any(hasattr(source, name) for name in ("column_names", "columns", "schema")):
        return None
    if hasattr(source, "__arrow_c_stream__"):  # tables, readers of record batches, data frames
        batches: Iterator[Any] = iter(_converted(pyarrow().RecordBatchReader.from_stream, source))
        return batches
    if hasattr(source, "__dataframe__"):
        raise DataError(
            f"a {type(source).__name__} without an Arrow stream cannot be read: give the column that holds "
            "the text"
        )
    return None


def _column_batches(source: Any) -> Iterator[Any] | None:
    """Return a single column as record batches; None if the source is not a column, or without pyarrow.

    Without pyarrow a series is iterated over like any other iterable.
    """
    if not hasattr(source, "__arrow_c_stream__"):
        return None
    try:
        arrow = pyarrow()
    except MissingExtra:
        return None
    cells = _converted(arrow.chunked_array, source)
    batches: Iterator[Any] = iter(arrow.table({USUAL_NAME: cells}).to_batches())
    return batches


def _converted(convert: Callable[[Any], Any], source: Any) -> Any:
    """Convert a data frame or a column to Arrow; raise a `DataError` if it cannot be converted."""
    try:
        return convert(source)
    except (pyarrow().ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"a {type(source).__name__} cannot be read through Arrow ({' '.join(str(error).split())}): give "
            "the column that holds the text, and make all its cells strings or all lists of strings"
        ) from error


def table_lines(chunks: Iterator[bytes]) -> Iterator[str]:
    """Yield the sentences of a table's text as strings."""
    for chunk in chunks:
        yield from decode_word(chunk).split("\n")[:-1]


def row_cells(rows: Iterable[object], asked: str | None, nulls: bool) -> Iterator[object]:
    """Yield the text column of rows that are dicts; the first row decides it; `nulls`: see `table_chunks`."""
    column: ChosenColumn | None = None
    before = 0  # rows without a value, which do not show whether the column holds strings or tokens
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"row {number} is of type {type(row).__name__}, the first one was a dict: give dicts, "
                "strings or token lists"
            )
        if column is None and row.get(asked or USUAL_NAME, "") is None:
            before += 1
            continue
        if column is None:
            holds = {name: _holds_tokens(cell) for name, cell in row.items()}
            column = choose_column(holds, asked, f"row {number}")
            empty: object = [] if column.tokens else ""
            yield from [empty] * (before if nulls else 0)
        if column.name not in row:
            raise DataError(
                f"row {number} has no column {column.name!r}: its columns are {', '.join(map(str, row))}"
            )
        if row[column.name] is not None:
            yield row[column.name]
        elif nulls:
            yield empty


def _holds_tokens(cell: object) -> bool | None:
    if isinstance(cell, str):
        return False
    return True if isinstance(cell, (list, tuple)) and all(isinstance(token, str) for token in cell) else None
