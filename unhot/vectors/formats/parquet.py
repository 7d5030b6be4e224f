"""Read and write parquet files.

    word       string
    count      int64, if known
    vector     fixed-size list of float32

Row groups are written and read one by one. The sizes that the file states are checked before anything is
read. But pyarrow unpacks pages and trusts the size that a page states: a malicious file can make it allocate
up to 2 GB. Words come as a dictionary of different ones, so that one long word in all rows takes no memory
before the sizes are added up.
"""

from pathlib import Path
from typing import Any

import numpy as np

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.rows.arrow import cell_bytes, is_list, is_text, pa, parquet
from unhot.types import Counts, Floats
from unhot.vectors.formats.table import (
    ALL,
    Options,
    Table,
    check_growth,
    file_size,
    treat_bad_utf8,
)
from unhot.vocab.vocabulary import decode_words

MAGIC = b"PAR1"
GROUP_NUMBERS = 1 << 22  # per row group: 16 MB
BATCH_NUMBERS = 1 << 20
# bytes of all words: at most so many, or so many times the bytes of the file
WORD_BYTES, WORD_GROWTH = 1 << 24, 64
OPENING = {
    "memory_map": True,
    "page_checksum_verification": True,
    "thrift_string_size_limit": 1 << 24,
    "thrift_container_size_limit": 1 << 20,
}
# accepted names of columns; unhot writes the first of each
WORDS = ("word", "words", "key", "token", "text")
VECTORS = ("vector", "vectors", "embedding", "embeddings")
COUNTS = ("count", "counts")


def write(path: Path, table: Table) -> None:
    """Write a parquet file."""
    words, vectors, counts = table
    step = max(1, GROUP_NUMBERS // vectors.shape[1])

    def rows(part: slice) -> Any:
        block = np.ascontiguousarray(vectors[part], np.float32)
        return arrow_table(words[part], block, None if counts is None else counts[part])

    with (
        replacing(path) as file,
        parquet.ParquetWriter(file, rows(slice(0)).schema, compression="none", use_dictionary=False) as out,
    ):
        for first in range(0, len(words), step):
            out.write_table(rows(slice(first, first + step)), row_group_size=step)


def arrow_table(words: list[str], vectors: Floats, counts: Counts | None) -> Any:
    """Return words, contiguous vectors and counts as a table of Arrow, without a copy of the numbers."""
    columns = {"word": pa.array(words, pa.string())}
    if counts is not None:
        columns["count"] = pa.array(counts)
    columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table(columns)


def read(path: Path, options: Options = ALL) -> Table:
    """Read a parquet file with a column of words and a column of vectors (lists of equally many floats)."""
    size = file_size(path)
    try:
        with parquet.ParquetFile(path, **OPENING) as file:
            word = _find(path, file.schema_arrow.names, WORDS)
        with parquet.ParquetFile(path, read_dictionary=[word], **OPENING) as file:
            return _read_columns(path, file, word, options)
    except FormatError:
        raise
    except (
        pa.ArrowException,
        OSError,
        ValueError,
        OverflowError,
        MemoryError,
        IndexError,
        KeyError,
        TypeError,
    ) as error:
        raise FormatError(
            f"{path}: bytes 0..{size}: pyarrow cannot read the file ({str(error)[:200]})"
        ) from error


def _read_columns(path: Path, file: Any, word: str, options: Options) -> Table:
    """Read row groups in batches until there are enough rows."""
    # Only this number of the metadata is safe to read: pyarrow aborts the process if the metadata of a group
    # or column is damaged.
    rows = options.rows(max(0, file.metadata.num_rows))
    names = file.schema_arrow.names
    vector = _find(path, names, VECTORS)
    count = next((name for name in COUNTS if name in names), None)
    kind = file.schema_arrow.field(vector).type
    dim = kind.list_size if pa.types.is_fixed_size_list(kind) else _first_length(path, file, vector)
    if dim < 1:
        raise FormatError(
            f"{path}: row 1: the column {vector!r} is {kind}: it must hold lists of at least one float"
        )
    check_growth(path, (rows, dim), file_size(path))
    raws: list[bytes] = []
    room = max(WORD_BYTES, WORD_GROWTH * file_size(path))
    vectors: Floats = np.empty((rows, dim), np.float32)
    counts: Counts | None = np.empty(rows, np.int64) if count else None
    for batch in file.iter_batches(
        max(1, BATCH_NUMBERS // dim), columns=[word, vector, *([count] if count else [])], use_threads=False
    ):
        first, taken = len(raws), min(len(batch), rows - len(raws))
        batch = batch.slice(0, taken)
        batch.validate(full=True)
        vectors[first : first + taken] = _matrix(path, batch.column(vector), dim, first)
        room -= cell_bytes(batch.column(word))
        if room < 0:
            raise FormatError(
                f"{path}: row {first + 1} or a later one: its words are {WORD_GROWTH} times as large as the "
                "file; unhot does not unpack them"
            )
        raws += _words(path, batch.column(word), first)
        if counts is not None:
            counts[first : first + taken] = _whole_numbers(path, batch.column(count), first)
        if len(raws) == rows:
            break
    if len(raws) < rows:
        raise FormatError(f"{path}: row {len(raws)}: the file ends, but its footer says {rows} rows")
    return Table(treat_bad_utf8(decode_words(raws), path, options.bad_utf8), vectors, counts)


def _find(path: Path, names: list[str], accepted: tuple[str, ...]) -> str:
    found = next((name for name in accepted if name in names), None)
    if found is None or names.count(found) > 1:
        raise FormatError(
            f"{path}: byte 4: the file must have one column named {' or '.join(accepted)}; it has "
            f"{', '.join(names[:20])}"
        )
    return found


def _first_length(path: Path, file: Any, vector: str) -> int:
    """Return the length of the first list in a column."""
    for batch in file.iter_batches(1, columns=[vector], use_threads=False):
        batch.validate(full=True)
        if len(batch):
            first = batch.column(vector)[0].as_py()
            return len(first) if isinstance(first, list) else 0
    raise FormatError(f"{path}: row 1: the file has no rows, so the length of a vector is unknown")


def _matrix(path: Path, column: Any, dim: int, first: int) -> Floats:
    """Return the lists of a column as rows of a matrix."""
    kind = column.type
    if not is_list(kind) or not pa.types.is_floating(kind.value_type):
        raise FormatError(f"{path}: row {first + 1}: vectors are {kind}: they must be lists of floats")
    values = column.flatten()
    if not pa.types.is_fixed_size_list(kind):
        lengths = np.diff(column.offsets.to_numpy())
        wrong = np.flatnonzero(lengths != dim)
        if len(wrong):
            raise FormatError(
                f"{path}: row {first + int(wrong[0]) + 1}: the vector has {lengths[wrong[0]]} numbers, but "
                f"the first one has {dim}"
            )
    if column.null_count or values.null_count or len(values) != len(column) * dim:
        raise FormatError(f"{path}: row {first + 1} or a later one: a vector or a number is missing (null)")
    with np.errstate(over="ignore", invalid="ignore"):
        numbers: Floats = values.to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
        return numbers.reshape(-1, dim)


def _words(path: Path, column: Any, first: int) -> list[bytes]:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count or not is_text(column.type):
        raise FormatError(
            f"{path}: row {first + 1}: words are {column.type} with {column.null_count} missing: every row "
            "must have text"
        )
    raws: list[bytes] = column.cast(pa.large_binary()).to_pylist()
    return raws


def _whole_numbers(path: Path, column: Any, first: int) -> Counts:
    if column.null_count or not pa.types.is_integer(column.type):
        raise FormatError(
            f"{path}: row {first + 1}: counts are {column.type} with {column.null_count} missing: every row "
            "must have a whole number"
        )
    counts: Counts = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
    if len(counts) and counts.min() < 0:
        raise FormatError(
            f"{path}: row {first + int(counts.argmin()) + 1}: the count is {counts.min()}: it must be >= 0"
        )
    return counts
