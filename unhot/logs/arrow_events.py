"""Record batches of Arrow (extra `arrow`) as chunks of a log: tables, data frames, parquet files."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from unhot.corpus.reading.arrow import OpenedParquet, decoded_slices, pyarrow
from unhot.corpus.reading.separators import PADDING
from unhot.errors import DataError
from unhot.logs.cell_texts import TextColumn, text_column, value_column
from unhot.logs.gathering import LogChunk
from unhot.logs.log_reading import LogReading, choose_columns
from unhot.tables.arrow_rows import arrow_batch

CHUNK = 1 << 24  # about how many bytes of cells are read at a time
MOST = 1 << 16  # rows of a chunk


def table_chunks(
    batches: Iterable[Any], how: LogReading, where: str, seen: Sequence[str] = ()
) -> Iterator[LogChunk]:
    """Yield the rows of record batches; `seen`: the columns of their file, if the batches have fewer."""
    number = 1
    for batch in decoded_slices(batches, CHUNK):
        columns = choose_columns(batch.schema.names, how, where)
        for at in range(0, len(batch), MOST):
            rows = batch.slice(at, MOST)
            numbers, wrong = np.arange(number, number + len(rows)), np.zeros(len(rows), np.uint8)
            cells, names = partial(_column, rows, how, where), batch.schema.names
            yield LogChunk(columns, cells, numbers, wrong, "row", seen or names)
            number += len(rows)


class ParquetLog(OpenedParquet):
    """A parquet file, of which only the columns of a log are read."""

    def chunks(self, how: LogReading) -> Iterator[LogChunk]:
        """Yield the rows of the file, and close it."""
        try:
            names = self._file.schema_arrow.names
            chosen = choose_columns(names, how, self.name).values()
            batches = self._small_batches(CHUNK, [*{*chosen, *how.side}])
            for chunk in table_chunks(batches, how, self.name, names):
                self._done += len(chunk.wrong)
                yield chunk
        except self._troubles() as error:
            raise error if isinstance(error, DataError) else self._explained(error) from error
        finally:
            self.close()


def _column(batch: Any, how: LogReading, where: str, name: str) -> TextColumn:
    """Return a column as text."""
    try:
        text = _as_text(batch.column(name))
    except (pyarrow().ArrowException, OverflowError) as error:
        raise DataError(
            f"{where}: column {name!r} cannot be read ({error}): make it strings or numbers"
        ) from error
    if text is None:
        return value_column(arrow_batch(batch.select([name]), where).cells(name), name in how.side)
    offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset : text.offset + len(text) + 1]
    data = np.frombuffer(text.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return text_column(np.append(data, np.zeros(PADDING, np.uint8)), offsets - offsets[0])


def _as_text(cells: Any) -> Any:
    """Return cells as bytes; None if Arrow has no text for them: lists, for example."""
    arrow = pyarrow()
    if arrow.types.is_dictionary(cells.type):
        words = cells.dictionary
        if str(words.type).endswith("_view"):  # of polars' categories, which Arrow cannot take
            words = words.cast(arrow.large_string())
        cells = words.take(cells.indices)  # which checks them
    if arrow.types.is_floating(cells.type):
        cells = arrow.array(cells.to_numpy(zero_copy_only=False), from_pandas=True)  # NaN is null
        with contextlib.suppress(arrow.ArrowInvalid):  # unless all are whole
            cells = cells.cast(arrow.int64())
    for kind in (arrow.large_binary(), arrow.large_string()):
        with contextlib.suppress(arrow.ArrowNotImplementedError):
            return cells.cast(kind).cast(arrow.large_binary()).fill_null(b"")
    return None
