"""Parquet files of any size (extra `arrow`): read in small batches, written in small row groups."""

import io
from collections.abc import Iterator
from typing import Any

from unhot.corpus.reading.arrow import OpenedParquet, pyarrow
from unhot.errors import DataError
from unhot.tables.arrow_rows import arrow_batch
from unhot.tables.batches import GOAL, RowBatch

GROUP = 1 << 23  # bytes of a row group that is written


class ParquetTable(OpenedParquet):
    """All columns of a parquet file, whose row groups may be larger than memory."""

    def batches(self) -> Iterator[RowBatch]:
        """Yield batches, and close the file; if there is no row, one batch shows the columns."""
        try:
            if not self._rows:
                yield arrow_batch(pyarrow().RecordBatch.from_pylist([], self._file.schema_arrow), self.name)
            for batch in self._small_batches(GOAL):
                self._done += len(batch)
                yield arrow_batch(batch, self.name)
        except self._troubles() as error:
            raise error if isinstance(error, DataError) else self._explained(error) from error
        finally:
            self.close()

    def progress(self) -> tuple[int, int | None]:
        """Return the bytes read from disk, estimated from the rows read, and their total."""
        return self.position(), self._size


class PendingBytes(io.BytesIO):
    """What pyarrow has written and nobody has taken yet; pyarrow ends its file even after an error."""

    taken = 0  # bytes

    def tell(self) -> int:
        """Return how many bytes were written."""
        return self.taken + super().tell()

    def take(self) -> bytes:
        """Return the bytes, and forget them."""
        data = self.getvalue()
        self.taken += len(data)
        self.seek(0)
        self.truncate()
        return data


def write_parquet(batches: Iterator[tuple[RowBatch, list[list[Any]]]], names: list[str]) -> Iterator[bytes]:
    """Yield a parquet file; the first rows decide the types of its columns."""
    pending, kept = PendingBytes(), []
    writer, size = None, 0
    for batch, columns in batches:
        kept.append(_arrow_rows(batch, columns, names, writer and writer.schema))
        writer = writer or pyarrow("pyarrow.parquet").ParquetWriter(pending, kept[0].schema)
        size += kept[-1].nbytes
        if size > GROUP:
            writer.write_table(pyarrow().Table.from_batches(kept))
            kept, size = [], 0
            yield pending.take()
    if writer:
        writer.write_table(pyarrow().Table.from_batches(kept, writer.schema))
        writer.close()
    yield pending.take()


def _arrow_rows(batch: RowBatch, columns: list[list[Any]], names: list[str], schema: Any) -> Any:
    """Return rows and their new columns as a record batch with a schema; None: with that of its values."""
    arrow, old = pyarrow(), len(schema or ()) - len(names)
    try:
        if batch.kind == "parquet":
            rows = batch.raw
        else:
            empty = arrow.schema([(name, arrow.string()) for name in batch.names()])
            given = empty if not batch.records() else schema and arrow.schema(list(schema)[:old])
            rows = arrow.RecordBatch.from_pylist(batch.records(), given)
        types = schema.types[old:] if schema else map(_type_of, columns)
        new = [arrow.array(values, kind) for values, kind in zip(columns, types, strict=True)]
        fields = [arrow.field(name, values.type) for name, values in zip(names, new, strict=True)]
        schema = schema or arrow.schema([*rows.schema, *fields], rows.schema.metadata)
        return arrow.RecordBatch.from_arrays([*rows.columns, *new], schema=schema)
    except (arrow.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"{batch.where}: its rows cannot be written as parquet, where a column has one type, here that "
            f"of its first rows, and strings are UTF-8 ({error}): write .jsonl"
        ) from error


def _type_of(values: list[Any]) -> Any:
    """Return the Arrow type of a new column; strings if there are only nulls."""
    arrow = pyarrow()
    kind = arrow.array(values).type
    if arrow.types.is_list(kind):
        return arrow.list_(arrow.string() if arrow.types.is_null(kind.value_type) else kind.value_type)
    return arrow.string() if arrow.types.is_null(kind) else kind
