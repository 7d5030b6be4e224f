"""Write rows with new columns behind the others, in every format.

A writer takes batches with their new columns, the table they come from, and the names of the new columns; it
yields the bytes of a file.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

from unhot.errors import DataError
from unhot.json_file import json_text, plain
from unhot.rows.arrow import pyarrow
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.delimited import SEPARATORS
from unhot.rows.kinds import UNQUOTED
from unhot.rows.values import spelled
from unhot.vocab.vocabulary import decode_word, encode_word

NewRows: TypeAlias = tuple[RowBatch, list[list[Any]]]
Writer = Callable[[Iterator[NewRows], OpenedRows, list[str]], Iterator[bytes]]

BREAKS = str.maketrans("\t\n\r", "   ")  # a label that holds one of these would break its line
SURROGATES = re.compile("[\ud800-\udfff]")  # what is not UTF-8; see `decode_word`
BLANKS = b" \t\r\n"  # white space of JSON
GROUP = 1 << 23  # bytes of a row group that is written
LARGEST = 1 << 26  # the same if the source has row groups, whose ends it keeps


def write_lines(batches: Iterator[NewRows], table: OpenedRows, names: list[str]) -> Iterator[bytes]:
    """Yield the new values of each row as a line, and nothing else."""
    for _, columns in batches:
        rows = zip(*columns, strict=True)
        yield encode_word("".join(["\t".join(map(_word, _interleaved(row))) + "\n" for row in rows]))


def _interleaved(row: tuple[Any, ...]) -> Iterable[Any]:
    """Return the values of a row; if they are lists, the first value of each, then the second of each."""
    return chain.from_iterable(zip(*row, strict=True)) if isinstance(row[0], list) else row


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value if value.isprintable() else value.translate(BREAKS)
    return "" if value is None else str(value)


def write_delimited(
    batches: Iterator[NewRows], table: OpenedRows, names: list[str], kind: str
) -> Iterator[bytes]:
    """Yield rows of the same format, whose old fields keep their bytes, or of another one."""
    separator, same = SEPARATORS[kind], table.kind == kind
    header = [*table.names] if table.kind != "text" else []
    first = _row([*header, *names], separator, kind not in UNQUOTED) + b"\n" if table.names else b""
    for batch, columns in batches:
        new = [
            _row([*map(_field, values)], separator, kind not in UNQUOTED)
            for values in zip(*columns, strict=True)
        ]
        old = _same_rows(batch, separator, len(header)) if same else _other_rows(batch, header, separator)
        between = separator.encode() if header else b""
        yield first + b"".join([row + between + last + b"\n" for row, last in zip(old, new, strict=True)])
        first = b""
    yield first


def _same_rows(batch: RowBatch, separator: str, width: int) -> Iterator[bytes]:
    """Yield the bytes of rows; a bad one that has too few fields gets empty ones."""
    for place, record in enumerate(batch.raw()):
        row = record.removesuffix(b"\n").removesuffix(b"\r")
        missing = width - 1 - row.count(separator.encode()) if place in batch.faults else 0
        yield row + separator.encode() * missing


def _other_rows(batch: RowBatch, header: list[str], separator: str) -> Iterator[bytes]:
    for record in same_columns(batch, header):
        yield _row([_field(record.get(name)) for name in header], separator) if header else b""


def same_columns(batch: RowBatch, names: list[str]) -> list[dict[str, Any]]:
    """Return the rows of a batch; raise a `DataError` if one has a column that is none of these."""
    records = batch.dicts()
    for place, record in enumerate(records):
        if not record.keys() <= {*names}:
            raise DataError(
                f"{batch.where}: {batch.unit} {batch.number(place)} has other columns than the first rows "
                f"({', '.join(record)[:200]}): write .jsonl, or give all rows the same columns"
            )
    return records


def _field(value: Any) -> str:
    """Return a value as a field: null is empty, bytes are text, lists and objects are JSON."""
    if isinstance(value, (list, dict, bool)):
        return as_json(value)
    return str(decode_word(value) if isinstance(value, bytes) else "" if value is None else value)


def _row(fields: list[str], separator: str, quotes: bool = True) -> bytes:
    """Return fields as a row, in quotes where that is needed; also a carriage return is put into quotes.

    Without quotes, what would break the row becomes a space.
    """
    if not quotes:
        return encode_word(
            separator.join([each.translate(BREAKS).replace(separator, " ") for each in fields])
        )
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\r\n").writerow(fields)
    return encode_word(out.getvalue().removesuffix("\r\n"))


def as_json(value: Any) -> str:
    """Return a value as JSON in readable letters; what is not UTF-8 is escaped."""
    text = json_text(plain(value), ensure_ascii=False, default=spelled)
    return text if text.isascii() else SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_json_rows(batches: Iterator[NewRows], table: OpenedRows, names: list[str]) -> Iterator[bytes]:
    """Yield rows as JSON lines with new fields behind the others; an object keeps its bytes."""
    keys = [f"{as_json(name)}: " for name in names]
    for batch, columns in batches:
        same = table.kind == "jsonl"
        lines = batch.raw() if same else [encode_word(as_json(row)) for row in batch.dicts()]
        out = []
        for place, (line, *values) in enumerate(zip(lines, *columns, strict=True)):
            if same and place in batch.faults:
                out.append(line)
                continue
            body = line.strip(BLANKS)[:-1].rstrip(BLANKS)
            new = ", ".join([key + as_json(value) for key, value in zip(keys, values, strict=True)])
            out.append(body + b", " * (body != b"{") + encode_word(new) + b"}\n")
        yield b"".join(out)


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


def write_arrow(
    batches: Iterator[NewRows], table: OpenedRows, names: list[str], kind: str
) -> Iterator[bytes]:
    """Yield a parquet or an Arrow file; the first rows decide the types of its columns."""
    pending, kept = PendingBytes(), list[Any]()
    writer = schema = None
    size = done = 0
    packing = table.packing if table.kind == kind else {}
    for batch, columns in batches:
        kept.append(_arrow_rows(batch, table, columns, names, schema))
        schema = kept[0].schema if schema is None else schema
        writer = writer or _opened_writer(kind, pending, schema, names, packing)
        size, done = size + kept[-1].nbytes, done + len(kept[-1])
        if done in packing.get("ends", ()) or size > (LARGEST if "ends" in packing else GROUP):
            writer.write_table(pyarrow().Table.from_batches(kept))
            kept, size = [], 0
            yield pending.take()
    if writer is None and table.names:
        old = [name for name in table.names if table.kind != "text"]
        schema = pyarrow().schema([(name, pyarrow().string()) for name in [*old, *names]])
        writer = _opened_writer(kind, pending, schema, names, {})
    if writer and (kept or not done):
        writer.write_table(pyarrow().Table.from_batches(kept, schema))
    if writer:
        writer.close()
    yield pending.take()


def _opened_writer(
    kind: str, sink: PendingBytes, schema: Any, names: list[str], packing: Mapping[str, Any]
) -> Any:
    """Open a parquet or an Arrow file, compressed as the source is; new columns as its first one."""
    codec = packing.get("compression")
    if kind == "arrow":
        ipc = pyarrow("pyarrow.ipc")
        return ipc.new_file(sink, schema, options=ipc.IpcWriteOptions(compression=codec))
    if isinstance(codec, dict):
        paths = (path for name in names for path in (name, f"{name}.list.element"))
        codec = dict.fromkeys(paths, next(iter(codec.values()))) | codec
    return pyarrow("pyarrow.parquet").ParquetWriter(sink, schema, compression=codec or "snappy")


def _arrow_rows(
    batch: RowBatch, table: OpenedRows, columns: list[list[Any]], names: list[str], schema: Any
) -> Any:
    """Return rows and their new columns as a record batch with a schema; None: with that of its values."""
    arrow, old = pyarrow(), len(schema or ()) - len(names)
    try:
        if table.kind in ("parquet", "arrow"):
            rows = batch.raw
        else:
            records = same_columns(batch, table.names)
            given = [*schema][:old] if schema else None
            if given is None and table.kind != "jsonl":
                given = [(name, arrow.string()) for name in table.names if table.kind != "text"]
            rows = arrow.RecordBatch.from_pylist(records, None if given is None else arrow.schema(given))
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


WRITERS: dict[str, Writer] = {
    "text": write_lines,
    **{kind: partial(write_delimited, kind=kind) for kind in SEPARATORS},
    "jsonl": write_json_rows,
    "parquet": partial(write_arrow, kind="parquet"),
    "arrow": partial(write_arrow, kind="arrow"),
}
