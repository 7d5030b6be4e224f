"""Read columns of text through Arrow (extra `arrow`): parquet files, and objects with record batches.

A cell is a sentence: a string, in which a line feed is only white space, or a list of strings, which are the
tokens. Cells become the bytes that the scanner reads, without a Python object for each cell.

A few bytes on disk may be gigabytes of cells: a dictionary keeps a long string once for any number of rows,
and a string that repeats itself is compressed well. So batches are cut by the size of their decoded cells,
and a batch of a parquet file has few rows until the size of its rows is known.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.tokenizers import ESCAPE, SENTENCE_END, TOKEN_END
from unhot.errors import DataError, extra

MAGIC = b"PAR1"  # the first and the last bytes of a parquet file
ENDINGS = (".parquet", ".pq")
CHUNK = 1 << 20  # about how many bytes of text are made at a time
MOST = 1 << 12  # rows of a batch
GROWTH = 8  # how many times as many rows the next batch may have; how much larger than asked a batch may be
USUAL_NAME = "text"


class ChosenColumn(NamedTuple):
    """The column that holds the text."""

    name: str
    tokens: bool  # cells are lists of tokens


def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it; raise a `MissingExtra` if it is not installed."""
    return extra(module, "arrow", "reading parquet files and Arrow tables as text")


def choose_column(columns: dict[str, bool | None], asked: str | None, where: str) -> ChosenColumn:
    """Choose the column asked for, else the one named `text`, else the only one that can be text.

    columns     name -> False: strings, True: lists of tokens, None: neither
    """
    able = [name for name, tokens in columns.items() if tokens is not None]
    listed = (
        ", ".join(
            f"{name} ({ {False: 'text', True: 'tokens', None: 'no text'}[kind] })"
            for name, kind in columns.items()
        )
        or "none"
    )
    if asked is not None and asked not in able:
        trouble = (
            "there is no such column"
            if asked not in columns
            else "it holds neither strings nor lists of strings"
        )
        raise DataError(f"{where}: column {asked!r}: {trouble}; the columns are {listed}")
    if asked is None and USUAL_NAME not in able and len(able) != 1:
        raise DataError(
            f"{where}: {len(able)} columns can be text, and none is named text; choose one "
            f"(column=, or --column): the columns are {listed}"
        )
    name = asked or (USUAL_NAME if USUAL_NAME in able else able[0])
    return ChosenColumn(name, bool(columns[name]))


def column_of(schema: Any, asked: str | None, where: str) -> ChosenColumn:
    """Choose the text column of an Arrow schema, as `choose_column` does."""
    columns = {field.name: holds_tokens(field.type) for field in schema}
    column = choose_column(columns, asked, where)
    if schema.names.count(column.name) > 1:
        raise DataError(
            f"{where}: {schema.names.count(column.name)} columns are called {column.name!r}; rename all but "
            "one"
        )
    return column


def holds_tokens(kind: Any) -> bool | None:
    """Return whether cells of an Arrow type are token lists (True), strings (False) or neither (None)."""
    is_type = pyarrow("pyarrow.types")
    kind = kind.value_type if is_type.is_dictionary(kind) else kind
    if is_type.is_string(kind) or is_type.is_large_string(kind) or is_type.is_string_view(kind):
        return False
    lists = (
        is_type.is_list,
        is_type.is_large_list,
        is_type.is_fixed_size_list,
        is_type.is_list_view,
        is_type.is_large_list_view,
    )
    return True if any(test(kind) for test in lists) and holds_tokens(kind.value_type) is False else None


def batch_chunks(batches: Iterable[Any], column: ChosenColumn, nulls: bool) -> Iterator[bytes]:
    """Yield the text of record batches in chunks of whole sentences; `nulls`: null cells are sentences."""
    for batch in decoded_slices(batches, CHUNK):
        cells = batch.column(batch.schema.get_field_index(column.name))
        if not column.tokens:
            cells = _binary(cells)
            cells = cells.fill_null(b"") if nulls else cells.drop_null()
        rows = max(1, len(cells) * CHUNK // max(cells.nbytes, 1))
        for start in range(0, len(cells), rows):
            some = cells.slice(start, rows)
            yield _token_bytes(some) if column.tokens else _text_bytes(some)


def decoded_slices(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield record batches, cut so that the cells of each, taken from their dictionaries, have few bytes.

    That is at most `size` bytes, or one row.
    """
    for batch in batches:
        sizes = [_cell_bytes(column) for column in batch.columns]
        ends = np.cumsum(sum(sizes, np.zeros(len(batch), np.int64)))
        first = 0
        while first < len(batch):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + size, "right")))
            yield batch.slice(first, last - first)
            first = last


def _cell_bytes(cells: Any) -> Any:
    """Return about how many bytes each cell has after it was taken from its dictionary."""
    pa, compute = pyarrow(), pyarrow("pyarrow.compute")
    if pa.types.is_dictionary(cells.type):
        sizes = np.append(_cell_bytes(cells.dictionary), 0)
        ids = cells.indices.fill_null(len(sizes) - 1).to_numpy(zero_copy_only=False)
        return sizes[np.minimum(ids, len(sizes) - 1)]  # wrong ones are refused when the cells are taken
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return compute.binary_length(cells).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if holds_tokens(cells.type):
        sizes = compute.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
        ends, tokens = np.cumsum(sizes), _cell_bytes(cells.flatten())
        sums = np.concatenate([[0], np.cumsum(tokens)])
        return sums[ends] - sums[ends - sizes]
    return np.full(len(cells), cells.nbytes // max(len(cells), 1), np.int64)


def _own_bytes(batch: Any) -> int:
    """Return the bytes of a batch without those of dictionaries, which have no rows of their own."""
    is_dictionary = pyarrow().types.is_dictionary
    return sum((column.indices if is_dictionary(column.type) else column).nbytes for column in batch.columns)


def _text_bytes(cells: Any) -> bytes:
    pa, compute = pyarrow(), pyarrow("pyarrow.compute")
    lines = compute.replace_substring(cells, b"\n", b" ")
    return _data(
        compute.binary_join_element_wise(lines, *(pa.scalar(end, pa.large_binary()) for end in (b"", b"\n")))
    )


def _token_bytes(cells: Any) -> bytes:
    pa, compute = pyarrow(), pyarrow("pyarrow.compute")
    tokens = compute.fill_null(_binary(cells.flatten()), b"")  # the scanner ignores empty tokens
    text = np.frombuffer(_data(tokens), np.uint8)
    if text.size and text.max() >= ESCAPE[0]:  # bytes that UTF-8 never uses; see `tokenizers.escaped`
        for number, byte in enumerate((ESCAPE, SENTENCE_END, TOKEN_END)):
            tokens = compute.replace_substring(tokens, byte, ESCAPE + bytes([number]))
    starts = np.zeros(len(cells) + 1, np.int64)
    # a null cell becomes an empty sentence
    np.cumsum(compute.fill_null(compute.list_value_length(cells), 0), out=starts[1:])
    sentences = compute.binary_join(
        pa.LargeListArray.from_arrays(pa.array(starts), tokens), pa.scalar(TOKEN_END, pa.large_binary())
    )
    return _data(
        compute.binary_join_element_wise(
            sentences, *(pa.scalar(end, pa.large_binary()) for end in (b"", SENTENCE_END))
        )
    )


def _binary(cells: Any) -> Any:
    """Return strings as large binary: they may not be valid UTF-8, and its offsets cannot overflow."""
    pa = pyarrow()
    if pa.types.is_dictionary(cells.type):
        return _binary(cells.dictionary).take(cells.indices)
    if pa.types.is_string_view(cells.type):
        cells = cells.cast(pa.binary_view())
    return cells.cast(pa.large_binary())


def _data(array: Any) -> bytes:
    """Return the bytes of all values, one after another."""
    if len(array) == 0:
        return b""
    offsets = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
    return (
        b""
        if array.buffers()[2] is None
        else array.buffers()[2].slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()
    )


def is_parquet(path: Path | None) -> bool:
    """Return whether a path is a parquet file, by its name or by its first and last bytes.

    Nothing is read from a pipe.
    """
    if path is None or not path.is_file():
        return False
    if path.suffix.lower() in ENDINGS:  # even if it is damaged: reading it raises the error
        return True
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
            file.seek(-len(MAGIC), 2)
            return file.tell() > 0 and file.read() == MAGIC
    except OSError:  # opening it for reading will raise an error that explains this
        return False


class OpenedParquet:
    """An open parquet file; every failure is a `DataError` that names the file."""

    def __init__(self, path: Path) -> None:
        """Open a file."""
        self.name = str(path)
        parquet = pyarrow("pyarrow.parquet")
        self._size = path.stat().st_size
        self._done = 0  # rows read so far
        try:
            # with a buffer, the columns of a row group are read in pieces instead of all at once
            self._file = parquet.ParquetFile(
                path, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
            )
        except self._troubles() as error:
            raise self._explained(error) from error
        self._rows = int(self._file.metadata.num_rows)

    def position(self) -> int:
        """Return the number of bytes read from disk, estimated from the rows read."""
        return self._size * self._done // max(self._rows, 1)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _small_batches(self, size: int, columns: list[str] | None = None) -> Iterator[Any]:
        """Yield batches of about `size` bytes of decoded cells, or of one row.

        If a batch is too large, later ones have fewer rows, and rows that were read before are skipped. The
        metadata of a column is not asked for its size: pyarrow aborts the process if it is damaged.
        """
        rows = self._fitting_rows(size, columns)
        for group in range(self._file.num_row_groups):
            done, again = 0, True
            while again:
                skip, largest = done, 0
                again = False
                for batch in self._group_batches(rows, group, columns):
                    new = batch.slice(min(skip, len(batch)))
                    skip -= len(batch) - len(new)
                    done += len(new)
                    yield from decoded_slices([new], size)
                    largest = max(largest, _own_bytes(batch))
                    if largest > GROWTH * size and rows > 1:
                        rows, again = max(1, rows // GROWTH), True
                        break
            if GROWTH * largest <= size:
                rows = min(MOST, GROWTH * rows)

    def _fitting_rows(self, size: int, columns: list[str] | None) -> int:
        """Return how many of the first rows have about `size` bytes, by reading more and more of them."""
        rows = 1
        while self._rows and rows < MOST:
            batch = next(self._group_batches(rows, 0, columns), None)
            if batch is None or len(batch) < rows or GROWTH * _own_bytes(batch) > size:
                break
            rows *= GROWTH
        return rows

    def _group_batches(self, rows: int, group: int, columns: list[str] | None) -> Iterator[Any]:
        return iter(self._file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False))

    @staticmethod
    def _troubles() -> tuple[type[Exception], ...]:
        return (OSError, pyarrow().ArrowException, ValueError)

    def _explained(self, error: Exception) -> DataError:
        return DataError(
            f"{self.name}: the parquet file cannot be read: {error}; make or download the file again"
        )


class ParquetStream(OpenedParquet):
    """The text of a column of a parquet file, with the interface of `TextStream`."""

    marked = False  # parquet has no byte order mark

    def __init__(self, path: Path, asked: str | None = None, nulls: bool = False) -> None:
        """Open a file and find its column; `nulls`: see `batch_chunks`."""
        super().__init__(path)
        self._nulls = nulls
        try:
            self.column = column_of(self._file.schema_arrow, asked, self.name)
        except DataError:
            self.close()
            raise

    def __iter__(self) -> Iterator[bytes]:
        """Yield the text, some rows at a time."""
        try:
            yield from batch_chunks(self._batches(), self.column, self._nulls)
        except self._troubles() as error:
            raise self._explained(error) from error

    def _batches(self) -> Iterator[Any]:
        """Yield the batches of the column, and count their rows."""
        for found in self._small_batches(CHUNK, [self.column.name]):
            yield found
            self._done += len(found)
