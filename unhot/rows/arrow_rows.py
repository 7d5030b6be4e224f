"""Rows that are in Arrow already: its files, tables, data frames, data sets, single columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import decoded_slices, holds_tokens, is_list, pyarrow, record_batch
from unhot.rows.batches import LIST, TEXT, OpenedRows, RowBatch
from unhot.rows.remote import RemoteBytes, RemotePath

CHUNK = 1 << 20  # about how many bytes of cells are read at a time
MOST = 1 << 16  # rows of a batch
DATASET_ROWS = 1000  # rows read from a dataset at a time
USUAL_NAME = "text"


class ArrowStream(Protocol):
    """The Arrow PyCapsule interface, which tables, data frames and record batch readers have."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream of record batches."""


def arrow_batch(batch: Any, wanted: Mapping[str, str], where: str, before: int) -> RowBatch:
    """Return a record batch as rows; `before`: the rows before them."""
    faults, arrays = dict[int, str](), []
    for name, how in wanted.items():
        cells = batch.column(name)
        kind = cells.type
        if how != LIST and pyarrow().types.is_nested(kind):
            faults |= {place: f"{name} is nested" for place in np.flatnonzero(cells.is_valid()).tolist()}
        elif how == TEXT and holds_tokens(kind) is not False and not pyarrow().types.is_null(kind):
            raise DataError(f"{where}: column {name!r} holds {kind}, not strings")
        try:
            arrays.append(_usable(cells))
        except (pyarrow().ArrowException, IndexError) as error:
            raise DataError(f"{where}: column {name!r} cannot be read ({error}): leave it out") from error
    cells = record_batch(arrays, wanted, len(batch))
    return RowBatch(where, cells, (before + 1).__add__, "row", faults, batch, batch.to_pylist)


def _usable(cells: Any) -> Any:
    """Return a column that Arrow can take rows of, and whose dictionary has all its words."""
    arrow, compute = pyarrow(), pyarrow("pyarrow.compute")
    kind = cells.type
    if arrow.types.is_dictionary(kind):
        ends = compute.min_max(cells.indices).as_py()
        if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(cells.dictionary):
            raise IndexError("it points behind its dictionary")  # which Arrow itself does not notice
        return arrow.DictionaryArray.from_arrays(cells.indices, _usable(cells.dictionary))
    if arrow.types.is_string_view(kind):
        return cells.cast(arrow.binary_view()).cast(arrow.large_binary())
    if is_list(kind) and arrow.types.is_string_view(kind.value_type):
        return cells.cast(arrow.large_list(arrow.large_string()))
    return cells


def open_batches(
    batches_of: Callable[[list[str] | None], Iterable[Any]], schema: Any, where: str, kind: str = ""
) -> OpenedRows:
    """Open record batches, which a function gives of some columns or of all, and cut them into small ones."""

    def cut(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        before = 0
        try:
            for batch in decoded_slices(batches_of(None if every else [*wanted]), CHUNK):
                for at in range(0, len(batch), MOST):
                    yield arrow_batch(batch.slice(at, MOST), wanted, where, before + at)
                before += len(batch)
            if not before:
                yield arrow_batch(pyarrow().RecordBatch.from_pylist([], schema), wanted, where, 0)
        except DataError:
            raise
        except (pyarrow().ArrowException, OSError, ValueError) as error:
            raise unreadable(where, kind, error) from error

    holds = {field.name: holds_tokens(field.type) for field in schema}
    return OpenedRows(where, kind, schema.names, holds, cut)


def unreadable(where: str, kind: str, error: Exception) -> DataError:
    """Return the error for a table that Arrow cannot read."""
    if not kind:
        return DataError(f"{where}: cannot be read: {error}")
    return DataError(f"{where}: the {kind} file cannot be read: {error}; make or download the file again")


def _select(batches: Iterable[Any], columns: list[str] | None) -> Iterator[Any]:
    return (batch if columns is None else batch.select(columns) for batch in batches)


def open_arrow_file(path: Path) -> OpenedRows:
    """Open a file of Arrow's, in either of its two formats."""
    ipc = pyarrow("pyarrow.ipc")
    try:
        source = RemoteBytes(path) if isinstance(path, RemotePath) else pyarrow().memory_map(str(path))
        try:
            file = ipc.open_file(source)
            batches = (file.get_batch(number) for number in range(file.num_record_batches))
        except pyarrow().ArrowInvalid:
            source.seek(0)
            batches = file = ipc.open_stream(source)
    except (pyarrow().ArrowException, OSError) as error:
        raise unreadable(str(path), "arrow", error) from error
    return open_batches(partial(_select, map(_whole, batches)), file.schema, str(path), "arrow")


def _whole(batch: Any) -> Any:
    """Return a batch of a file if its buffers are what it says; Arrow itself reads beyond them otherwise."""
    batch.validate(full=True)
    return batch


def open_table(source: Any, column: bool = False) -> OpenedRows | None:
    """Open a table, a data frame or a data set; None if the source is none of these.

    column   a single column, such as a series of pandas or polars, is a table with the column `text`
    """
    where = f"a {type(source).__name__}"
    batches = table_batches(source)
    if batches is None and column and hasattr(source, "__arrow_c_stream__"):
        cells = converted(pyarrow().chunked_array, source)
        batches = iter(pyarrow().table({USUAL_NAME: cells}).to_batches())
    if batches is None:
        return None
    first = next(batches, None)
    schema = getattr(source if first is None else first, "schema", None)
    schema = schema if isinstance(schema, pyarrow().Schema) else pyarrow().schema([])
    batches = chain([] if first is None else [first], batches)
    return open_batches(partial(_select, batches), schema, where)


def table_batches(source: Any) -> Iterator[Any] | None:
    """Return the record batches of a table; None if the source is not a table.

    Objects are recognised by their attributes, so that their libraries need not be imported.
    """
    if isinstance(source, Mapping):
        keys, first_key = ", ".join(map(repr, list(source)[:10])), next(iter(source), "")
        raise DataError(
            f"the source is a {type(source).__name__} with the keys {keys}: give one of its values, for "
            f"example source[{first_key!r}]"
        )
    # Dataset, IterableDataset
    if hasattr(source, "column_names") and hasattr(source, "with_format") and hasattr(source, "iter"):
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
        batches: Iterator[Any] = iter(converted(pyarrow().RecordBatchReader.from_stream, source))
        return batches
    if hasattr(source, "__dataframe__"):
        raise DataError(
            f"a {type(source).__name__} without an Arrow stream cannot be read: give the column that holds "
            "the text"
        )
    return None


def converted(convert: Callable[[Any], Any], source: Any) -> Any:
    """Convert a data frame or a column to Arrow; raise a `DataError` if it cannot be converted."""
    try:
        return convert(source)
    except (pyarrow().ArrowException, TypeError, ValueError) as error:
        raise DataError(
            f"a {type(source).__name__} cannot be read through Arrow ({' '.join(str(error).split())}): give "
            "the column that holds the text, and make all its cells strings or all lists of strings"
        ) from error
