"""CSV and TSV: a header line, then rows of strings; a field in quotes may hold line breaks."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

from unhot.corpus.reading.files import FileReader
from unhot.errors import DataError
from unhot.tables.batches import GOAL, RowBatch, unique
from unhot.tables.json_rows import as_json
from unhot.tables.text_lines import line_blocks
from unhot.vocab.vocabulary import decode_word, encode_word

LONGEST = 1 << 27  # characters of a field
DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_delimited(files: FileReader, where: str, kind: str) -> Iterator[RowBatch]:
    """Yield rows of kind csv or tsv; blank lines are skipped."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST))
    lines = (line for data in line_blocks(files) for line in io.StringIO(decode_word(data), newline="\n"))
    # strict: a quote that is never closed is an error, not a field that holds the rest of the file
    found = csv.reader(lines, delimiter=DELIMITERS[kind], strict=True)
    header: list[str] = []
    rows: list[list[str]] = []
    size = 0
    try:
        for row in found:
            if not header:
                unique(row, where)
                header = row
            elif row:
                _check_length(row, header, f"{where}: line {found.line_num}")
                rows.append(row)
                size += sum(map(len, row))
            if size > GOAL:
                yield _batch(where, kind, header, rows)
                rows, size = [], 0
    except csv.Error as error:
        raise DataError(
            f"{where}: line {found.line_num}: is not valid {kind.upper()} ({error}): a field that holds "
            "quotes or line breaks must be in quotes, with each quote inside doubled"
        ) from None
    if header:
        yield _batch(where, kind, header, rows)


def _check_length(row: list[str], header: list[str], place: str) -> None:
    if len(row) != len(header):
        raise DataError(
            f"{place}: has {len(row)} fields, but the header has {len(header)} ({', '.join(header)[:200]}): "
            "leave no field out, and put a field that holds the separator into quotes"
        )


def _batch(where: str, kind: str, header: list[str], rows: list[list[str]]) -> RowBatch:
    def cells(name: str) -> list[Any]:
        at = header.index(name)
        return [row[at] for row in rows]

    return RowBatch(where, dict.fromkeys(header, False), cells, None, kind, rows)


def write_delimited(
    batches: Iterator[tuple[RowBatch, list[list[Any]]]], names: list[str], delimiter: str
) -> Iterator[bytes]:
    """Yield rows with new columns behind the others; the first rows decide the columns."""
    header: list[str] | None = None
    out: list[str] = []
    # with this end of lines, fields that hold a carriage return are put into quotes; it is not written
    sink = SimpleNamespace(write=lambda line: out.append(line.removesuffix("\r\n") + "\n"))
    writer = csv.writer(sink, delimiter=delimiter, lineterminator="\r\n")
    for batch, columns in batches:
        if header is None:
            header = batch.names()
            writer.writerow([*header, *names])
        old = batch.raw if batch.kind in DELIMITERS else _fields(batch, header)
        for row, *values in zip(old, *columns, strict=True):
            writer.writerow([*row, *map(_field, values)])
        yield encode_word("".join(out))
        out.clear()


def _fields(batch: RowBatch, header: list[str]) -> Iterator[list[str]]:
    for record in batch.records():
        if not record.keys() <= set(header):
            raise DataError(
                f"{batch.where}: a row has other columns than the first one ({', '.join(record)[:200]}): "
                "write .jsonl, or give all rows the same columns"
            )
        yield [_field(record.get(name)) for name in header]


def _field(value: Any) -> str:
    """Return a value as a field: null is empty, lists and objects are JSON."""
    return "" if value is None else as_json(value) if isinstance(value, (list, dict, bool)) else str(value)


write_csv, write_tsv = (partial(write_delimited, delimiter=each) for each in DELIMITERS.values())
