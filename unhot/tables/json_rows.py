"""JSON lines: an object a line. A copied object keeps its bytes: new fields go before its last brace."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from unhot.corpus.reading.files import FileReader
from unhot.errors import DataError
from unhot.json_file import json_text, plain
from unhot.tables.batches import RowBatch
from unhot.tables.text_lines import line_blocks
from unhot.vocab.vocabulary import decode_word, encode_word

BLANKS = " \t\r\n"  # white space of JSON
SURROGATES = re.compile("[\ud800-\udfff]")  # what is not UTF-8; see `decode_word`


def record_batch(rows: Sequence[Any], where: str, before: int, lines: list[str] | None = None) -> RowBatch:
    """Return rows that are dicts as a batch; the first one decides which columns can be text."""
    for number, row in enumerate(rows, before + 1):
        if not isinstance(row, Mapping):
            raise DataError(
                f"{where}: row {number} is of type {type(row).__name__}: each row must be a dict or object, "
                'for example {"text": "some words", "label": "a"}'
            )
    holds = {name: False if _may_be_text(cell) else None for name, cell in rows[0].items()}
    return RowBatch(where, holds, partial(_cells, rows, where, before), rows, "jsonl" if lines else "", lines)


def _may_be_text(cell: Any) -> bool:
    return cell is None or isinstance(cell, str) or (isinstance(cell, float) and cell != cell)


def _cells(rows: Sequence[Mapping[str, Any]], where: str, before: int, name: str) -> list[Any]:
    for number, row in enumerate(rows, before + 1):
        if name not in row:
            raise DataError(
                f"{where}: row {number} has no column {name!r}: its columns are "
                f"{', '.join(map(str, row)) or 'none'}"
            )
    return [row[name] for row in rows]


def read_json_rows(files: FileReader, where: str) -> Iterator[RowBatch]:
    """Yield rows of JSON lines; blank lines are skipped."""
    before = count = 0  # lines, rows
    for data in line_blocks(files):
        lines = decode_word(data).split("\n")
        rows = [_row(line, n, where) for n, line in enumerate(lines, before + 1) if line.strip(BLANKS)]
        if rows:
            yield record_batch(rows, where, count, [line for line in lines if line.strip(BLANKS)])
        before, count = before + len(lines) - 1, count + len(rows)


def _row(line: str, number: int, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{where}: line {number}: is not valid JSON ({error}): mend the line: it must be one JSON object"
        ) from None


def as_json(value: Any) -> str:
    """Return a value as JSON in readable letters; what is not UTF-8 is escaped."""
    text = json_text(plain(value), ensure_ascii=False, default=str)
    return text if text.isascii() else SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def write_json_rows(batches: Iterator[tuple[RowBatch, list[list[Any]]]], names: list[str]) -> Iterator[bytes]:
    """Yield rows as JSON lines with new fields behind the others."""
    keys = [f"{as_json(name)}: " for name in names]
    for batch, columns in batches:
        lines = batch.raw if batch.kind == "jsonl" else map(as_json, batch.records())
        out = []
        for line, *values in zip(lines, *columns, strict=True):
            body = line.strip(BLANKS)[:-1].rstrip(BLANKS)
            new = ", ".join([key + as_json(value) for key, value in zip(keys, values, strict=True)])
            out.append(f"{body}{', ' * (body != '{')}{new}}}\n")
        yield encode_word("".join(out))
