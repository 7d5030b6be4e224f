"""Rows that are in Arrow already: its files, parquet files, tables, data frames, data sets, columns."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import decoded_bytes, holds_tokens, ipc, is_list, pa, parquet, sized
from unhot.rows.batches import LIST, TEXT_NAME, OpenedRows, RowBatch
from unhot.rows.remote import native_file
from unhot.rows.values import open_objects, strings

CHUNK = 1 << 22  # about how many bytes of cells are read at a time
MOST = 1 << 17  # rows of a batch
FITTING = 1 << 12  # rows of a parquet file that are read at a time, at most
GROWTH = 64  # how many times as many rows the next try to find the size of rows reads
DATASET_ROWS = 1000  # rows read from a dataset at a time


class ArrowStream(Protocol):
    """The Arrow PyCapsule interface, which tables, data frames and record batch readers have."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream of record batches."""


def open_batches(
    parts_of: Callable[[list[str] | None], Iterable[Iterable[Any]]], schema: Any, where: str, kind: str = ""
) -> OpenedRows:
    """Open parts of record batches, which a function gives of some columns or all; parts are not joined."""

    def cut(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        before = 0
        with _explained(where, kind):
            parts = parts_of(None if every else [*wanted])
            for batch in chain.from_iterable(sized(part, CHUNK, MOST) for part in parts):
                yield _row_batch(batch, wanted, where, before)
                before += len(batch)
            if not before:
                yield _row_batch(pa.RecordBatch.from_pylist([], schema), wanted, where, 0)

    holds = {field.name: holds_tokens(field.type) for field in schema}
    return OpenedRows(where, kind, schema.names, holds, cut)


def _row_batch(batch: Any, wanted: Mapping[str, str], where: str, before: int) -> RowBatch:
    """Return a record batch as rows; `before`: the rows before them."""
    faults, cells = dict[int, str](), dict[str, Any]()
    for name, how in wanted.items():
        column = batch.column(name)
        if how != LIST and pa.types.is_nested(column.type):
            faults |= {place: f"{name} is nested" for place in np.flatnonzero(column.is_valid()).tolist()}
        try:
            cells[name] = _plain(column)
        except (pa.ArrowException, IndexError) as error:
            raise DataError(f"{where}: column {name!r} cannot be read ({error}): leave it out") from error
    dicts = partial(_dicts, batch, where)
    return RowBatch(where, len(batch), cells, "row", before + 1, faults, table=batch, dicts=dicts)


def _plain(cells: Any) -> Any:
    """Return a column without a dictionary, and as a type that Arrow can take rows of."""
    if pa.types.is_dictionary(cells.type):
        return _plain(cells.dictionary).take(cells.indices)
    if pa.types.is_string_view(cells.type):
        return cells.cast(pa.large_binary())
    if is_list(cells.type) and pa.types.is_string_view(cells.type.value_type):
        return cells.cast(pa.large_list(pa.large_string()))
    return cells


def _dicts(batch: Any, where: str) -> list[dict[str, Any]]:
    """Return a record batch as dicts; its strings may not be UTF-8."""
    columns, names = [strings(column, where) for column in batch.columns], batch.schema.names
    rows = zip(*columns, strict=True) if columns else [()] * len(batch)
    return [dict(zip(names, row, strict=True)) for row in rows]


@contextlib.contextmanager
def _explained(where: str, kind: str) -> Iterator[None]:
    """Raise a `DataError` if Arrow cannot read a table."""
    try:
        yield
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        what = f"the {kind} file cannot be read: {error}; make or download the file again"
        raise DataError(f"{where}: {what if kind else f'cannot be read: {error}'}") from error


def open_marked(path: Path, kind: str) -> OpenedRows:
    """Open a parquet or an Arrow file."""
    with _explained(str(path), kind):
        return _open_parquet(path) if kind == "parquet" else _open_arrow(path)


def _open_arrow(path: Path) -> OpenedRows:
    """Open a file of Arrow's, in either of its two formats."""
    source = native_file(path)
    try:
        file = ipc.open_file(source)
        batches = map(file.get_batch, range(file.num_record_batches))
    except pa.ArrowInvalid:
        source.seek(0)
        batches = file = ipc.open_stream(source)
    return open_batches(_selected(map(_whole, batches)), file.schema, str(path), "arrow")


def _whole(batch: Any) -> Any:
    """Return a batch of a file if its buffers are what it says; Arrow itself reads beyond them otherwise."""
    batch.validate(full=True)
    return batch


def _selected(batches: Iterable[Any]) -> Callable[[list[str] | None], Iterable[Iterable[Any]]]:
    return lambda names: [(batch if names is None else batch.select(names) for batch in batches)]


def _open_parquet(path: Path) -> OpenedRows:
    """Open a parquet file. With a buffer, the columns of a row group are read in pieces, not all at once."""
    file = parquet.ParquetFile(
        native_file(path), buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
    )
    size, rows = path.stat().st_size, max(1, int(file.metadata.num_rows))
    done, packing = 0, dict[str, Any]()  # rows read so far; known when all columns of the first ones are read

    def read(group: int, columns: list[str] | None, rows: int) -> Iterator[Any]:
        return iter(file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False))

    def batches(group: int, columns: list[str] | None) -> Iterator[Any]:
        nonlocal done
        for batch in read(group, columns, _fitting_rows(partial(read, group, columns))):
            packing.update(_packing(file.metadata) if columns is None and not done else {})
            done += len(batch)
            yield batch

    def parts(columns: list[str] | None) -> Iterable[Iterable[Any]]:
        groups = (batches(group, columns) for group in range(file.num_row_groups))
        return groups if columns is None else [chain.from_iterable(groups)]  # copies keep the groups

    opened = open_batches(parts, file.schema_arrow, str(path), "parquet")
    return opened._replace(progress=lambda: (size * done // rows, size), close=file.close, packing=packing)


def _packing(file: Any) -> dict[str, Any]:
    """Return how the columns of a file are compressed, and where its groups end."""
    group = file.row_group(0)
    codecs = {
        each.path_in_schema: each.compression.replace("UNCOMPRESSED", "NONE").removesuffix("_RAW")
        for each in map(group.column, range(group.num_columns))
    }
    sizes = [file.row_group(number).num_rows for number in range(file.num_row_groups)]
    return {"compression": codecs, "ends": {*accumulate(sizes)}}


def _fitting_rows(read: Callable[[int], Iterator[Any]]) -> int:
    """Return how many rows of a group have about `CHUNK` bytes, by reading more and more of the first ones.

    The metadata of a column is not asked for its size: pyarrow aborts the process if it is damaged.
    """
    rows = 1
    while rows < FITTING:
        batch = next(read(rows), None)
        if batch is None or len(batch) < rows or GROWTH * decoded_bytes(batch) > CHUNK:
            break
        rows *= GROWTH
    return rows


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
    if hasattr(source, "__dataframe__") and not hasattr(source, "__arrow_c_stream__"):
        raise DataError(
            f"{called} without an Arrow stream cannot be read: give the column that holds the text"
        )
    return hasattr(source, "__arrow_c_stream__") or _is_dataset(source)


def _is_dataset(source: Any) -> bool:
    """Return whether a source is a Dataset or an IterableDataset of Hugging Face."""
    return all(hasattr(source, name) for name in ("column_names", "with_format", "iter"))


def open_table(source: Any, column: bool = False) -> OpenedRows | None:
    """Open a table, a data frame or a data set; None if the source is none of these.

    column   a single column, such as a series of pandas or polars, is a table with the column `text`
    """
    reader, where = None, f"a {type(source).__name__}"
    if not is_table(source):
        return None
    if _is_dataset(source):
        tables = source.with_format("arrow").iter(batch_size=DATASET_ROWS)
        first = next(tables, pa.table({}))
        batches = chain.from_iterable(table.to_batches() for table in chain([first], tables))
        return open_batches(_selected(batches), first.schema, where)
    unfit = (pa.ArrowException, TypeError, ValueError)
    with contextlib.suppress(*unfit):
        reader = pa.RecordBatchReader.from_stream(source)
    if reader is None and column:
        with contextlib.suppress(*unfit):
            reader = pa.table({TEXT_NAME: pa.chunked_array(source)}).to_reader()
    if reader is not None:
        return open_batches(_selected(reader), reader.schema, where)
    return _open_mixed(source, where, column)


def _open_mixed(source: Any, where: str, column: bool) -> OpenedRows | None:
    """Open a data frame or a column of pandas with values of many types, which Arrow does not take."""
    names = [*map(str, getattr(source, "columns", (TEXT_NAME,)))]
    if len({*names}) < len(names) or (column and not isinstance(source, Iterable)):
        raise DataError(
            f"{where} cannot be read through Arrow ({', '.join(names):.200}): give the columns "
            "different names, or only those that are needed"
        )
    if hasattr(source, "itertuples"):
        rows = source.itertuples(index=False, name=None)
        return open_objects((dict(zip(names, row, strict=True)) for row in rows), where)
    return open_objects(({TEXT_NAME: value} for value in source), where) if column else None


def values_of(source: Any) -> Iterator[Any]:
    """Return the values of a column or of another iterable."""
    if isinstance(source, Iterable):
        return iter(source)
    return iter(strings(pa.chunked_array(source).combine_chunks(), f"a {type(source).__name__}"))
