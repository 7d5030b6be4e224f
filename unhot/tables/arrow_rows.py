"""Rows of Arrow record batches (extra `arrow`), which tables, data frames and parquet files give."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from unhot.corpus.reading.arrow import decoded_slices, holds_tokens, pyarrow
from unhot.errors import DataError
from unhot.tables.batches import GOAL, MOST, RowBatch, unique
from unhot.vocab.vocabulary import decode_word


def arrow_batch(batch: Any, where: str) -> RowBatch:
    """Return a record batch as a batch of rows."""
    columns = {
        name: holds_tokens(batch.schema.field(name).type) for name in unique(batch.schema.names, where)
    }
    return RowBatch(where, columns, partial(_cells, batch, where), None, "parquet", batch)


def _cells(batch: Any, where: str, name: str) -> list[Any]:
    """Return a column as Python values; bytes of a string that are not UTF-8 become lone surrogates."""
    column = batch.column(name)
    try:
        cells: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        cells = [_value(cell) for cell in column]
    except (pyarrow().ArrowException, ValueError, OverflowError) as error:
        raise DataError(f"{where}: column {name!r} cannot be read ({error}): leave it out") from error
    return cells


def _value(cell: Any) -> Any:
    """Return an Arrow scalar as a Python value, if its strings are not UTF-8."""
    if not cell.is_valid:
        return None
    if hasattr(cell, "as_buffer"):
        return decode_word(cell.as_buffer().to_pybytes())
    if hasattr(cell, "dictionary"):
        return _value(cell.value)
    return [_value(each) for each in cell.values] if hasattr(cell, "values") else cell.as_py()


def slices(batches: Iterator[Any], where: str) -> Iterator[RowBatch]:
    """Yield record batches in pieces that are small as Python values."""
    for batch in decoded_slices(batches, GOAL):
        yield from (arrow_batch(batch.slice(at, MOST), where) for at in range(0, len(batch), MOST))
