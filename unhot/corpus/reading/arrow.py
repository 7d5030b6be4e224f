"""Read columns of text through Arrow (extra `arrow`): parquet files, and objects with record batches.

A cell is a sentence: a string, in which a line feed is only white space, or a list of strings, which are the
tokens. Cells become the bytes that the scanner reads, without a Python object for each cell.
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
FEWEST, MOST = 64, 1 << 16  # rows of a batch
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
    for batch in batches:
        cells = batch.column(batch.schema.get_field_index(column.name))
        if not column.tokens:
            cells = _binary(cells)
            cells = cells.fill_null(b"") if nulls else cells.drop_null()
        rows = max(1, len(cells) * CHUNK // max(cells.nbytes, 1))
        for start in range(0, len(cells), rows):
            some = cells.slice(start, rows)
            yield _token_bytes(some) if column.tokens else _text_bytes(some)


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
        """Yield batches of about CHUNK bytes on disk: long documents need no more memory than short lines.

        The size of the column is not asked for: pyarrow aborts the process if the metadata of a column is
        damaged.
        """
        batch = max(FEWEST, min(MOST, self._rows * CHUNK // max(self._size, 1)))
        for found in self._file.iter_batches(batch, columns=[self.column.name], use_threads=False):
            yield found
            self._done += len(found)
