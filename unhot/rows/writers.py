"""Write rows with new columns behind the others, in every format.

A writer takes batches with their new columns, the table they come from, and the names of the new columns; it
yields the bytes of a file.
"""

import contextlib
import csv
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any, TypeAlias

from unhot.errors import DataError
from unhot.json_file import json_text, plain
from unhot.rows.arrow import ipc, pa, parquet
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.delimited import SEPARATORS
from unhot.rows.opening import MARKED, UNQUOTED
from unhot.rows.values import spelled
from unhot.vocab.vocabulary import decode_word, encode_word

NewRows: TypeAlias = tuple[RowBatch, Sequence[Sequence[Any]]]  # rows, and their new columns
Writer = Callable[[Iterator[NewRows], OpenedRows, list[str]], Iterator[bytes]]

BREAKS = str.maketrans("\t\n\r", "   ")  # a label that holds one of these would break its line
SURROGATES = re.compile("[\ud800-\udfff]")  # what is not UTF-8; see `decode_word`
BLANKS = b" \t\r\n"  # white space of JSON
# made when the first value is written, since it imports msgspec
QUICK_JSON = functools.cache(lambda: importlib.import_module("msgspec.json").Encoder().encode)
GROUP = 1 << 23  # bytes of a row group that is written
LARGEST = 1 << 26  # the same if the source has row groups, whose ends it keeps


def write_lines(batches: Iterator[NewRows], table: OpenedRows, names: list[str]) -> Iterator[bytes]:
    """Yield the new values of each row as a line, and nothing else."""
    for _, columns in batches:
        rows = zip(*columns, strict=True)
        yield encode_word("".join(["\t".join(map(_word, _interleaved(row))) + "\n" for row in rows]))


def _interleaved(row: Sequence[Any]) -> Iterable[Any]:
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
    header, same = [*table.names] if table.kind != "text" else [], table.kind == kind
    separator = table.packing["separator"] if same else SEPARATORS[kind]
    between = separator.encode() if header else b""
    titled = table.names and table.packing.get("header", True)  # a copy of rows without a header has none
    title = _lines([[*header, *names]] if titled else [], kind, separator)
    for batch, columns in batches:
        new = _lines((map(_field, row) for row in zip(*columns, strict=True)), kind, separator)
        if same and batch.records:
            old = [record.raw.removesuffix(b"\n").removesuffix(b"\r") for record in batch.records()]
            for place in batch.faults:  # one that has too few fields gets empty ones
                old[place] += between * (len(header) - 1 - old[place].count(between))
        else:
            dicts = same_columns(batch, header)
            old = _lines(([_field(row.get(name)) for name in header] for row in dicts), kind, separator)
        title += [row + between + more for row, more in zip(old, new, strict=True)]
        yield b"".join([row + b"\n" for row in title])
        title = []


def same_columns(batch: RowBatch, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a batch; raise a `DataError` if one has a column that is none of these."""
    rows = batch.dicts()
    for place, row in enumerate(rows):
        if not row.keys() <= {*names}:
            raise DataError(
                f"{batch.where}: {batch.unit} {batch.number(place)} has columns that the first rows lack "
                f"({', '.join(row.keys() - {*names})[:200]}): write .jsonl, or give all rows the same columns"
            )
    return rows


def _field(value: Any) -> str:
    """Return a value as a field: null is empty, bytes are text, lists and objects are JSON."""
    if isinstance(value, (list, dict, bool)):
        return as_json(value)
    return str(decode_word(value) if isinstance(value, bytes) else "" if value is None else value)


def _lines(rows: Iterable[Iterable[str]], kind: str, separator: str) -> list[bytes]:
    """Return fields as lines; what would break a row is in quotes, or a space if there are no quotes."""
    lines, breaks = list[str](), BREAKS | {ord(separator): " "}
    if kind in UNQUOTED:
        return [encode_word(separator.join([each.translate(breaks) for each in row])) for row in rows]
    csv.writer(SimpleNamespace(write=lines.append), delimiter=separator).writerows(rows)
    return [encode_word(line.removesuffix("\r\n")) for line in lines]


def as_json(value: Any) -> str:
    """Return a value as JSON in readable letters; what is not UTF-8 is escaped."""
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # which it does not know
        if not isinstance(value, (dict, list)):
            return str(QUICK_JSON()(value), "utf-8")
    text = json_text(plain(value), ensure_ascii=False, default=spelled)
    return text if text.isascii() else SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_json_rows(batches: Iterator[NewRows], table: OpenedRows, names: list[str]) -> Iterator[bytes]:
    """Yield rows as JSON lines with new fields behind; an object keeps its bytes, and a bad row gets none."""
    keys = [f"{as_json(name)}: " for name in names]
    for batch, columns in batches:
        pairs = zip(keys, columns, strict=True)
        texts = [[key + as_json(value) for value in values] for key, values in pairs]
        kept = batch.records() if batch.records and table.kind == "jsonl" else ()
        old = [record.raw for record in kept] or [encode_word(as_json(row)) for row in batch.dicts()]
        bodies = [line.strip(BLANKS)[:-1].rstrip(BLANKS) for line in old]
        rows = [
            body + b", " * (body != b"{") + encode_word(", ".join(more)) + b"}\n"
            for body, more in zip(bodies, zip(*texts, strict=True), strict=True)
        ]
        for place in batch.faults if kept else ():
            rows[place] = old[place]
        yield b"".join(rows)


def write_arrow(
    batches: Iterator[NewRows], table: OpenedRows, names: list[str], kind: str
) -> Iterator[bytes]:
    """Yield a parquet or an Arrow file; the first rows decide the types of its columns."""
    pending, kept = list[bytes](), list[Any]()  # bytes to yield, rows to write
    writer: Any = None
    schema: Any = None
    size = done = 0
    packing = table.packing if table.kind == kind else {}
    for batch, columns in batches:
        kept.append(_arrow_rows(batch, table, columns, names, schema))
        if writer is None:
            schema = kept[0].schema
            writer = _opened_writer(kind, pending, schema, names, packing.get("compression", {}))
        size, done = size + kept[-1].nbytes, done + len(kept[-1])
        if done in packing.get("ends", ()) or size > (LARGEST if packing else GROUP):
            writer.write_table(pa.Table.from_batches(kept))
            kept, size = [], 0
            yield b"".join(pending)
            pending.clear()
    if kept:
        writer.write_table(pa.Table.from_batches(kept))
    if writer is not None:
        writer.close()
    yield b"".join(pending)


def _opened_writer(kind: str, pending: list[bytes], schema: Any, names: list[str], codecs: Any) -> Any:
    """Open a parquet or an Arrow file; `codecs`: of the columns of the source, new ones have the first.

    Its bytes are pending until they are taken: pyarrow ends a file even after an error.
    """
    write = SimpleNamespace(write=lambda data: pending.append(bytes(data)), closed=False, flush=lambda: None)
    sink = pa.PythonFile(write, mode="w")
    if kind == "arrow":
        return ipc.new_file(sink, schema)
    paths = [path for name in names for path in (name, f"{name}.list.element")]
    more = dict.fromkeys(paths, next(iter(codecs.values()), None))
    return parquet.ParquetWriter(sink, schema, compression=more | codecs if codecs else "snappy")


def _arrow_rows(
    batch: RowBatch, table: OpenedRows, columns: Sequence[Sequence[Any]], names: list[str], schema: Any
) -> Any:
    """Return rows and their new columns as a record batch with a schema; None: with that of its values."""
    header = table.names if table.kind != "text" else []
    try:
        if table.kind in MARKED:
            kept, fields = batch.table.columns, [*batch.table.schema]
        else:
            dicts = same_columns(batch, header)
            kinds = schema.types if schema else [None] * len(header)
            old = [[row.get(name) for row in dicts] for name in header]
            kept = [_cells(values, kind) for values, kind in zip(old, kinds, strict=False)]
            fields = [pa.field(name, cells.type) for name, cells in zip(header, kept, strict=True)]
        kinds = schema.types[len(kept) :] if schema else [None] * len(names)
        new = [_cells([*values], kind) for values, kind in zip(columns, kinds, strict=True)]
        fields += [pa.field(name, cells.type) for name, cells in zip(names, new, strict=True)]
        schema = schema or pa.schema(fields, batch.table.schema.metadata if batch.table else None)
        return pa.RecordBatch.from_arrays([*kept, *new], schema=schema)
    except DataError:
        raise
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise DataError(
            f"{batch.where}: its rows cannot be written as parquet, where a column has one type, here that "
            f"of its first rows, and strings are UTF-8 ({error}): write .jsonl"
        ) from error


def _cells(values: list[Any], kind: Any) -> Any:
    """Return values as a column of a type; None: of their own, and strings if there are only nulls.

    Values that the type cannot hold as they are raise an error: Arrow itself would cut them.
    """
    cells = pa.array(values)
    if kind is None:
        inner = cells.type.value_type if pa.types.is_list(cells.type) else cells.type
        texts = pa.string() if inner == cells.type else pa.list_(pa.string())
        return cells.cast(texts) if pa.types.is_null(inner) else cells
    schemas = [pa.schema([("", each)]) for each in (kind, cells.type)]
    if pa.unify_schemas(schemas, promote_options="permissive") != schemas[0]:
        raise ValueError(f"{cells.type} behind {kind}")
    return cells.cast(kind)


WRITERS: dict[str, Writer] = {
    "text": write_lines,
    **{kind: partial(write_delimited, kind=kind) for kind in SEPARATORS},
    "jsonl": write_json_rows,
    "parquet": partial(write_arrow, kind="parquet"),
    "arrow": partial(write_arrow, kind="arrow"),
}
