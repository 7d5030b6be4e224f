"""Parquet files of any size, in batches that are small when they are decoded."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unhot.rows.arrow import own_bytes, pyarrow
from unhot.rows.arrow_rows import open_batches, unreadable
from unhot.rows.batches import OpenedRows
from unhot.rows.remote import RemoteBytes, RemotePath

CHUNK = 1 << 20  # about how many bytes of cells are read at a time
MOST = 1 << 12  # rows of a batch until the size of the rows is known
GROWTH = 8  # how many times as many rows the next batch may have; how much larger than asked a batch may be


def open_parquet(path: Path) -> OpenedRows:
    """Open a file; every failure is a `DataError` that names it."""
    where, size = str(path), path.stat().st_size
    done = 0  # rows read so far
    try:
        # with a buffer, the columns of a row group are read in pieces instead of all at once
        file = pyarrow("pyarrow.parquet").ParquetFile(
            RemoteBytes(path) if isinstance(path, RemotePath) else path,
            buffer_size=1 << 20,
            pre_buffer=False,
            page_checksum_verification=True,
        )
        schema, rows = file.schema_arrow, int(file.metadata.num_rows)
    except (pyarrow().ArrowException, OSError, ValueError) as error:
        raise unreadable(where, "parquet", error) from error

    def batches(columns: list[str] | None) -> Iterator[Any]:
        nonlocal done
        with contextlib.closing(file):
            for batch in _small_batches(file, CHUNK, columns):
                done += len(batch)
                yield batch

    def progress() -> tuple[int, int | None]:
        return size * done // max(rows, 1), size

    opened = open_batches(batches, schema, where, "parquet")
    return opened._replace(progress=progress, close=file.close)


def _small_batches(file: Any, size: int, columns: list[str] | None) -> Iterator[Any]:
    """Yield batches of about `size` bytes, not counting dictionaries, or of one row.

    If a batch is too large, later ones have fewer rows, and rows that were read before are skipped. The
    metadata of a column is not asked for its size: pyarrow aborts the process if it is damaged.
    """
    rows, held = _fitting_rows(file, size, columns), list[Any]()
    for group in range(file.num_row_groups):
        done, again = 0, True
        while again:
            skip, largest = done, 0
            again = False
            for batch in _group_batches(file, rows, group, columns):
                new = batch.slice(min(skip, len(batch)))
                skip -= len(batch) - len(new)
                done += len(new)
                held.append(new)
                largest = max(largest, own_bytes(batch))
                if sum(map(own_bytes, held)) > size:
                    yield pyarrow().concat_batches(held)
                    held = []
                if largest > GROWTH * size and rows > 1:
                    rows, again = max(1, rows // GROWTH), True
                    break
        if GROWTH * largest <= size:
            rows = min(MOST, GROWTH * rows)
        if held:
            yield pyarrow().concat_batches(held)
            held = []


def _fitting_rows(file: Any, size: int, columns: list[str] | None) -> int:
    """Return how many of the first rows have about `size` bytes, by reading more and more of them."""
    rows = 1
    while rows < MOST:
        batch = next(_group_batches(file, rows, 0, columns), None) if file.num_row_groups else None
        if batch is None or len(batch) < rows or GROWTH * own_bytes(batch) > size:
            break
        rows *= GROWTH
    return rows


def _group_batches(file: Any, rows: int, group: int, columns: list[str] | None) -> Iterator[Any]:
    return iter(file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False))
