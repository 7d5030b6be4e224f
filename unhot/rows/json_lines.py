"""JSON lines: an object a line; and JSON: a list of objects.

A typed decoder reads the fields that are needed of all lines of a block. Where a block has a line that it
does not accept, Python's `json`, which accepts more, reads that block again and names the bad lines.
"""

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any

from unhot.errors import DataError
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.records import RowBlock
from unhot.rows.values import CHUNK, columns_of, dict_batch, value_batch
from unhot.vocab.vocabulary import decode_word

HEAD = 1000  # rows that show the columns


def open_json_lines(blocks: Iterator[RowBlock], where: str, unit: str = "line") -> OpenedRows:
    """Open JSON lines; the first rows decide which columns there are."""
    first = next(blocks, RowBlock(b"", 1))  # a list may be empty
    holds = columns_of(_parsed(first, HEAD)[0])

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        import msgspec

        keys = {f"_{number}": name for number, name in enumerate(wanted)}
        decoder = None
        with contextlib.suppress(ValueError):  # msgspec takes no names with quotes or half characters
            kind = msgspec.defstruct("Row", [(key, Any, None) for key in keys], rename=keys, gc=False)
            decoder = msgspec.json.Decoder(kind)
        for block in chain([first], blocks):
            yield _batch(block, where, unit, wanted, decoder)

    return OpenedRows(where, "jsonl", [*holds], holds, batches)


def _batch(block: RowBlock, where: str, unit: str, wanted: Mapping[str, str], decoder: Any) -> RowBatch:
    """Return the rows of a block; blank lines are none."""
    import msgspec

    empty = RowBatch(
        where, 0, {}, unit, records=functools.cache(block.lines), dicts=lambda: _parsed(block)[0]
    )
    if decoder is None or not wanted:
        return dict_batch(empty, wanted, *_parsed(block))
    try:
        rows = decoder.decode_lines(block.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return dict_batch(empty, wanted, *_parsed(block))
    columns = [[*map(attrgetter(f"_{number}"), rows)] for number in range(len(wanted))]
    return value_batch(empty, wanted, columns, len(rows), {})


def _parsed(block: RowBlock, most: int | None = None) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return the objects of lines, and what is wrong with lines that hold none."""
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    for place, (_, line) in enumerate(block.lines()[:most]):
        try:
            row = json.loads(decode_word(line))
        except (ValueError, RecursionError) as error:
            row, faults[place] = {}, f"is not valid JSON ({error})"
        if not isinstance(row, dict):
            row, faults[place] = {}, f"is of type {type(row).__name__}, not an object"
        rows.append(row)
    return rows, faults


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
