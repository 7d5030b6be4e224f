"""JSON lines: an object a line; and JSON: a list of objects or of strings.

A typed decoder reads the fields that are needed of all lines of a block. Python's `json` accepts more, such
as half characters.
"""

import contextlib
import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from unhot.errors import DataError
from unhot.rows.batches import OpenedRows, Record, RowBatch
from unhot.rows.records import RowBlock, block_rows
from unhot.rows.values import CHUNK, columns_of, value_batch
from unhot.vocab.vocabulary import decode_word

HEAD = 1000  # rows that show the columns


def open_json_lines(blocks: Iterator[RowBlock], where: str, unit: str = "line") -> OpenedRows:
    """Open JSON lines; the first rows decide which columns there are."""
    first = next(blocks, RowBlock(b"", 1))  # a list may be empty
    holds = columns_of(record.row for record in islice(_objects(first), HEAD))

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        import msgspec

        keys, decoder = {f"_{number}": name for number, name in enumerate(wanted)}, None
        with contextlib.suppress(ValueError):  # msgspec takes no names with quotes or half characters
            kind = msgspec.defstruct("Row", [(key, Any, None) for key in keys], rename=keys, gc=False)
            decoder = msgspec.json.Decoder(kind) if wanted else None

        def at_once(data: bytes, rows: RowBatch) -> RowBatch | None:
            with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                found = [] if decoder is None else decoder.decode_lines(data)
                columns = [[*map(attrgetter(key), found)] for key in keys]
                return None if decoder is None else value_batch(rows, wanted, columns, len(found), {})
            return None

        for block in chain([first], blocks):
            yield block_rows(block, RowBatch(where, 0, {}, unit), wanted, at_once, _objects, block.lines)

    return OpenedRows(where, "jsonl", [*holds], holds, batches)


def _objects(block: RowBlock) -> Iterator[Record]:
    """Yield the objects of lines, and what is wrong with lines that hold none."""
    for record in block.lines():
        row: Any = None
        try:
            row = json.loads(decode_word(record.raw))
            fault = "" if isinstance(row, dict) else f"is of type {type(row).__name__}, not an object"
        except (ValueError, RecursionError) as error:
            fault = f"is not valid JSON ({error})"
        yield record._replace(row={} if fault else row, fault=fault)


def list_blocks(text: bytes, where: str) -> Iterator[RowBlock]:
    """Yield the objects of a JSON list as JSON lines; strings are texts."""
    import msgspec

    try:
        rows = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"{where}: begins as a JSON list, and is not one ({error}): give a list of objects or "
            "strings, or JSON lines, or say that it is text (kind=, or --format text)"
        ) from None
    form = b'{"text": %b}\n' if rows and bytes(rows[0]).startswith(b'"') else b"%b\n"
    for first in range(0, len(rows), CHUNK):
        lines = [bytes(row).replace(b"\n", b" ").replace(b"\r", b" ") for row in rows[first : first + CHUNK]]
        yield RowBlock(b"".join([form % line for line in lines]), first + 1)
