"""Record batches of Arrow (extra `arrow`) as parts of a log: tables, data frames, parquet files."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from unhot.corpus.reading.arrow import FEWEST, OpenedParquet, pyarrow
from unhot.errors import DataError
from unhot.logs.gathering import EventPart, SourceWords
from unhot.logs.log_reading import LogReading, choose_columns
from unhot.logs.log_report import FINE, TIME
from unhot.logs.row_events import CODES, RowLog
from unhot.tables.arrow_rows import arrow_batch
from unhot.types import Bytes, Doubles, Ids

PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}  # of a second
CHUNK = 1 << 24  # about how many bytes on disk are read at a time
MOST = 1 << 19  # rows of a part: many, so that an id is looked up seldom


class ArrowLog(RowLog):
    """Rows of record batches; ids are looked up once for all rows of a batch that have them."""

    def values(self, cells: Any) -> list[Any]:
        """Return an array of Arrow as values of Python."""
        self._check_indices(cells)
        batch = pyarrow().RecordBatch.from_arrays([cells], ["x"])
        return arrow_batch(batch, self.where).cells("x")

    def ids(self, cells: Any, role: str, wrong: Bytes) -> Ids:
        """Return the numbers of the ids of a column."""
        arrow = pyarrow()
        try:
            coded = cells if arrow.types.is_dictionary(cells.type) else cells.dictionary_encode()
        except arrow.ArrowNotImplementedError:  # lists, for example
            return super().ids(self.values(cells), role, wrong)
        self._check_indices(coded)
        different = self.values(coded.dictionary)
        own = np.zeros(len(different), np.uint8)
        known = super().ids(different, role, own)
        # a null is the last entry
        at = coded.indices.cast(arrow.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        wrong[:] = np.where(wrong == FINE, np.append(own, np.uint8(CODES[role]))[at], wrong)
        ids: Ids = np.append(known, np.int32(-1))[at]
        return ids

    def _check_indices(self, cells: Any) -> None:
        """Raise a `DataError` if cells point behind their dictionary: Arrow does not check damaged files."""
        if pyarrow().types.is_dictionary(cells.type):
            at = cells.indices.cast(pyarrow().int64()).fill_null(0).to_numpy(zero_copy_only=False)
            if at.min(initial=0) < 0 or at.max(initial=-1) >= max(
                len(cells.dictionary), cells.null_count > 0
            ):
                raise DataError(f"{self.where}: a column points behind its dictionary: make the file again")

    def numbers(self, cells: Any, code: int, wrong: Bytes, shown: dict[int, str]) -> Doubles:
        """Return the times or the weights of a column; nulls are bad."""
        arrow, parts = pyarrow(), 1
        if code == TIME and arrow.types.is_date(cells.type):
            cells = cells.cast(arrow.timestamp("ms"))
        if code == TIME and arrow.types.is_timestamp(cells.type):
            cells, parts = cells.cast(arrow.int64()), PARTS[cells.type.unit]
        if not (arrow.types.is_integer(cells.type) or arrow.types.is_floating(cells.type)):
            return super().numbers(self.values(cells), code, wrong, shown)
        values: Doubles = cells.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False) / parts
        wrong[(wrong == FINE) & ~np.isfinite(values)] = code
        return values

    def batch(self, batch: Any, first: int) -> EventPart:
        """Return a record batch as a part; `first` is the number of its first row."""
        numbers, wrong = np.arange(first, first + len(batch)), np.zeros(len(batch), np.uint8)
        try:
            return self.part(batch.column, numbers, wrong)
        except (pyarrow().ArrowException, KeyError, OverflowError) as error:
            raise DataError(
                f"{self.where}: a column cannot be read ({error}): make it strings or numbers"
            ) from error


def table_parts(batches: Iterator[Any], how: LogReading, where: str) -> Iterator[EventPart | SourceWords]:
    """Yield the parts of a table, then the words."""
    first = next(batches, None)
    if first is not None:
        log = ArrowLog(choose_columns(first.schema.names, how, where), how, where)
        yield from _parts(log, chain([first], batches))


def _parts(log: ArrowLog, batches: Iterator[Any]) -> Iterator[EventPart | SourceWords]:
    number = 1
    for batch in batches:
        for at in range(0, len(batch), MOST):
            part = batch.slice(at, MOST)
            yield log.batch(part, number)
            number += len(part)
    yield log.words()


class ParquetLog(OpenedParquet):
    """The columns of a parquet file that a log needs."""

    def __init__(self, path: Path, how: LogReading) -> None:
        """Open a file and find its columns."""
        super().__init__(path)
        try:
            self._log = ArrowLog(
                choose_columns(self._file.schema_arrow.names, how, self.name), how, self.name
            )
        except DataError:
            self.close()
            raise

    def parts(self) -> Iterator[EventPart | SourceWords]:
        """Yield the parts of the file, then the words, and close it."""
        try:
            yield from _parts(self._log, self._batches())
        except self._troubles() as error:
            raise error if isinstance(error, DataError) else self._explained(error) from error
        finally:
            self.close()

    def _batches(self) -> Iterator[Any]:
        rows = max(FEWEST, min(MOST, self._rows * CHUNK // max(self._size, 1)))
        wanted = self._log.columns.wanted()
        for batch in self._file.iter_batches(rows, columns=wanted, use_threads=False):
            self._done += len(batch)
            yield batch
