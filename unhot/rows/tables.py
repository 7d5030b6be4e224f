"""Rows that are in Arrow already: its files, parquet files, tables, data frames, data sets, columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import decoded_slices, holds_tokens, is_list, own_bytes, pyarrow
from unhot.rows.batches import LIST, TEXT, OpenedRows, RowBatch
from unhot.rows.remote import RemoteBytes, RemotePath
from unhot.rows.values import open_objects, strings

CHUNK = 1 << 22  # about how many bytes of cells are read at a time
MOST = 1 << 17  # rows of a batch
FITTING = 1 << 12  # rows of a parquet file that are read at a time, at most
GROWTH = 64  # how many times as many rows the next try to find the size of rows reads
DATASET_ROWS = 1000  # rows read from a dataset at a time
USUAL_NAME = "text"


class ArrowStream(Protocol):
    """The Arrow PyCapsule interface, which tables, data frames and record batch readers have."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream of record batches."""


def open_batches(
    batches_of: Callable[[list[str] | None], Iterable[Any]], schema: Any, where: str, kind: str = ""
) -> OpenedRows:
    """Open record batches, which a function gives of some columns or of all, and cut them into small ones."""

    def cut(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        before = 0
        try:
            for batch in decoded_slices(batches_of(None if every else [*wanted]), CHUNK):
                for at in range(0, len(batch), MOST):
                    yield _row_batch(batch.slice(at, MOST), wanted, where, before + at)
                before += len(batch)
            if not before:
                yield _row_batch(pyarrow().RecordBatch.from_pylist([], schema), wanted, where, 0)
        except (pyarrow().ArrowException, OSError, ValueError) as error:
            raise unreadable(where, kind, error) from error

    holds = {field.name: holds_tokens(field.type) for field in schema}
    return OpenedRows(where, kind, schema.names, holds, cut)


def _row_batch(batch: Any, wanted: Mapping[str, str], where: str, before: int) -> RowBatch:
    """Return a record batch as rows; `before`: the rows before them."""
    faults, arrays = dict[int, str](), dict[str, Any]()
    for name, how in wanted.items():
        cells = batch.column(name)
        kind = cells.type
        if how != LIST and pyarrow().types.is_nested(kind):
            faults |= {place: f"{name} is nested" for place in np.flatnonzero(cells.is_valid()).tolist()}
        elif how == TEXT and holds_tokens(kind) is not False and not pyarrow().types.is_null(kind):
            raise DataError(f"{where}: column {name!r} holds {kind}, not strings")
        try:
            arrays[name] = _usable(cells)
        except (pyarrow().ArrowException, IndexError) as error:
            raise DataError(f"{where}: column {name!r} cannot be read ({error}): leave it out") from error
    rows = RowBatch(where, len(batch), arrays, "row", before + 1, faults)
    return rows._replace(table=batch, dicts=partial(_dicts, batch, where))


def _dicts(batch: Any, where: str) -> list[dict[str, Any]]:
    """Return a record batch as dicts; its strings may not be UTF-8."""
    columns, names = [strings(column, where) for column in batch.columns], batch.schema.names
    rows = zip(*columns, strict=True) if columns else [()] * len(batch)
    return [dict(zip(names, row, strict=True)) for row in rows]


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


def unreadable(where: str, kind: str, error: Exception) -> DataError:
    """Return the error for a table that Arrow cannot read."""
    if isinstance(error, DataError):
        return error
    if not kind:
        return DataError(f"{where}: cannot be read: {error}")
    return DataError(f"{where}: the {kind} file cannot be read: {error}; make or download the file again")


def open_marked(path: Path, kind: str) -> OpenedRows:
    """Open a parquet or an Arrow file."""
    try:
        return _open_parquet(path) if kind == "parquet" else _open_arrow(path)
    except (pyarrow().ArrowException, OSError, ValueError) as error:
        raise unreadable(str(path), kind, error) from error


def _open_arrow(path: Path) -> OpenedRows:
    """Open a file of Arrow's, in either of its two formats."""
    ipc = pyarrow("pyarrow.ipc")
    source = RemoteBytes(path) if isinstance(path, RemotePath) else pyarrow().memory_map(str(path))
    try:
        file = ipc.open_file(source)
        batches = (file.get_batch(number) for number in range(file.num_record_batches))
    except pyarrow().ArrowInvalid:
        source.seek(0)
        batches = file = ipc.open_stream(source)
    return open_batches(_selected(map(_whole, batches)), file.schema, str(path), "arrow")


def _whole(batch: Any) -> Any:
    """Return a batch of a file if its buffers are what it says; Arrow itself reads beyond them otherwise."""
    batch.validate(full=True)
    return batch


def _selected(batches: Iterable[Any]) -> Callable[[list[str] | None], Iterator[Any]]:
    return lambda names: (batch if names is None else batch.select(names) for batch in batches)


def _open_parquet(path: Path) -> OpenedRows:
    """Open a parquet file. With a buffer, the columns of a row group are read in pieces, not all at once."""
    file = pyarrow("pyarrow.parquet").ParquetFile(
        RemoteBytes(path) if isinstance(path, RemotePath) else path,
        buffer_size=1 << 20,
        pre_buffer=False,
        page_checksum_verification=True,
    )
    size, rows = path.stat().st_size, max(1, int(file.metadata.num_rows))
    done, packing = 0, dict[str, Any]()  # rows read so far; known when all columns of the first ones are read

    def batches(columns: list[str] | None) -> Iterator[Any]:
        nonlocal done
        join = pyarrow().concat_batches
        held, held_bytes = list[Any](), 0
        for group in range(file.num_row_groups):
            for batch in _group_batches(file, group, columns, _fitting_rows(file, group, columns)):
                packing.update(_packing(file.metadata) if columns is None and not done else {})
                done += len(batch)
                if held and held_bytes + own_bytes(batch) > CHUNK:
                    yield join(held)
                    held, held_bytes = [], 0
                held.append(batch)
                held_bytes += own_bytes(batch)
            if held and (columns is None or group == file.num_row_groups - 1):  # copies keep the groups
                yield join(held)
                held, held_bytes = [], 0

    opened = open_batches(batches, file.schema_arrow, str(path), "parquet")
    return opened._replace(progress=lambda: (size * done // rows, size), close=file.close, packing=packing)


def _packing(file: Any) -> dict[str, Any]:
    """Return how a file is compressed, a codec or a dict of codecs of columns, and where its groups end."""
    group = file.row_group(0)
    codecs = {
        each.path_in_schema: each.compression.replace("UNCOMPRESSED", "NONE").removesuffix("_RAW")
        for each in map(group.column, range(group.num_columns))
    }
    sizes = [file.row_group(number).num_rows for number in range(file.num_row_groups)]
    one = len({*codecs.values()}) == 1
    return {"compression": next(iter(codecs.values())) if one else codecs, "ends": {*accumulate(sizes)}}


def _fitting_rows(file: Any, group: int, columns: list[str] | None) -> int:
    """Return how many rows of a group have about `CHUNK` bytes, by reading more and more of the first ones.

    The metadata of a column is not asked for its size: pyarrow aborts the process if it is damaged.
    """
    rows = 1
    while rows < FITTING:
        batch = next(_group_batches(file, group, columns, rows), None)
        if batch is None or len(batch) < rows or GROWTH * own_bytes(batch) > CHUNK:
            break
        rows *= GROWTH
    return rows


def _group_batches(file: Any, group: int, columns: list[str] | None, rows: int) -> Iterator[Any]:
    return iter(file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False))


def is_table(source: Any) -> bool:
    """Return whether a value of Python is a table or a column; raise a `DataError` if it only looks like one.

    Objects are recognized by their attributes, so that their libraries need not be imported.
    """
    called = f"a {type(source).__name__}"
    if isinstance(source, Mapping):
        keys, first_key = ", ".join(map(repr, list(source)[:10])), next(iter(source), "")
        raise DataError(
            f"the source is {called} with the keys {keys}: give one of its values, for example "
            f"source[{first_key!r}]"
        )
    if hasattr(type(source), "collect_schema") and hasattr(type(source), "collect"):
        raise DataError(
            f"{called} is a query that has not run: give its result (source.collect()), or write that to a "
            "parquet file (source.sink_parquet) if it does not fit into memory"
        )
    if hasattr(source, "__arrow_c_stream__") or _is_dataset(source):
        return True
    if hasattr(source, "__dataframe__"):
        raise DataError(
            f"{called} without an Arrow stream cannot be read: give the column that holds the text"
        )
    return False


def _is_dataset(source: Any) -> bool:
    """Return whether a source is a Dataset or an IterableDataset of Hugging Face."""
    return all(hasattr(source, name) for name in ("column_names", "with_format", "iter"))


def open_table(source: Any, column: bool = False) -> OpenedRows | None:
    """Open a table, a data frame or a data set; None if the source is none of these.

    column   a single column, such as a series of pandas or polars, is a table with the column `text`
    """
    if not is_table(source):
        return None
    arrow, where = pyarrow(), f"a {type(source).__name__}"
    if _is_dataset(source):
        tables = source.with_format("arrow").iter(batch_size=DATASET_ROWS)
        batches = chain.from_iterable(table.to_batches() for table in tables)
        first = next(batches, arrow.RecordBatch.from_pylist([], arrow.schema([])))
        return open_batches(_selected(chain([first], batches)), first.schema, where)
    try:
        reader = arrow.RecordBatchReader.from_stream(source)
        return open_batches(_selected(reader), reader.schema, where)
    except (arrow.ArrowException, TypeError, ValueError) as error:
        failed = error
    try:
        table = arrow.table({USUAL_NAME: arrow.chunked_array(source)})
        return open_batches(_selected(table.to_batches()), table.schema, where) if column else None
    except (arrow.ArrowException, TypeError, ValueError):  # pandas has columns with values of many types
        names = [*map(str, getattr(source, "columns", (USUAL_NAME,)))]
        if not isinstance(source, Iterable) or len({*names}) < len(names):
            raise DataError(
                f"{where} cannot be read through Arrow ({' '.join(str(failed).split())}): give the columns "
                "different names, or only the columns that are needed"
            ) from failed
    if hasattr(source, "itertuples"):
        rows = source.itertuples(index=False, name=None)
        return open_objects((dict(zip(names, row, strict=True)) for row in rows), where)
    return open_objects(({USUAL_NAME: value} for value in source), where) if column else None


def values_of(source: Any) -> Iterator[Any]:
    """Return the values of a column or of another iterable."""
    if isinstance(source, Iterable):
        return iter(source)
    return iter(strings(pyarrow().chunked_array(source).combine_chunks(), f"a {type(source).__name__}"))
