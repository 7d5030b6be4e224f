"""JSON lines: an object a line; and JSON: a list of objects.

A typed decoder reads the fields that are needed of all lines of a block. Where a block has a line that it
does not accept, Python's `json`, which accepts more, reads that block again and names the bad lines.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import attrgetter
from typing import Any

from unhot.errors import DataError
from unhot.rows.arrow import record_batch
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.records import Records
from unhot.rows.values import scalar, value_column
from unhot.vocab.vocabulary import decode_word

HEAD = 1000  # rows that show the columns
CHUNK = 1 << 12  # rows of Python that are read at a time


def open_json_lines(blocks: Iterator[Records], where: str, unit: str = "line") -> OpenedRows:
    """Open JSON lines; the first rows decide which columns there are."""
    first = next(blocks, Records(b"", 1))
    holds = columns_of(_parsed(first.filled()[:HEAD])[0])

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        import msgspec

        keys = {f"_{number}": name for number, name in enumerate(wanted)}
        kind = msgspec.defstruct("Row", [(key, Any, None) for key in keys], rename=keys, gc=False)
        decoder = msgspec.json.Decoder(kind)
        for block in chain([first], blocks):
            if block.data:
                yield _batch(block, where, unit, wanted, decoder)

    return OpenedRows(where, "jsonl", [*holds], holds, batches)


def _batch(block: Records, where: str, unit: str, wanted: Mapping[str, str], decoder: Any) -> RowBatch:
    """Return the rows of a block; blank lines are none."""
    import msgspec

    empty = RowBatch(where, None, block.number, unit, {}, block.filled, lambda: _parsed(block.filled())[0])
    try:
        rows = decoder.decode_lines(block.data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return dict_batch(empty, wanted, *_parsed(block.filled()))
    columns = [[*map(attrgetter(f"_{number}"), rows)] for number in range(len(wanted))]
    return _value_batch(empty, wanted, columns, len(rows), {})


def dict_batch(
    empty: RowBatch, wanted: Mapping[str, str], rows: Sequence[Mapping[str, Any]], faults: dict[int, str]
) -> RowBatch:
    """Return rows that are dicts, of which some are bad, as a batch."""
    columns = [[row.get(name) for row in rows] for name in wanted]
    return _value_batch(empty, wanted, columns, len(rows), faults)


def _value_batch(
    empty: RowBatch, wanted: Mapping[str, str], columns: list[list[Any]], size: int, faults: dict[int, str]
) -> RowBatch:
    """Return columns of values of Python as a batch; what cannot be in its column makes a row bad."""
    arrays = []
    for (name, how), values in zip(wanted.items(), columns, strict=True):
        cells, wrong = value_column(name, values, how)
        arrays.append(cells)
        faults = {**wrong, **faults}
    return empty._replace(cells=record_batch(arrays, wanted, size), faults=faults)


def _parsed(lines: Sequence[bytes]) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return the objects of lines, and what is wrong with lines that hold none."""
    rows: list[dict[str, Any]] = []
    faults: dict[int, str] = {}
    for place, line in enumerate(lines):
        try:
            row = json.loads(decode_word(line))
        except (ValueError, RecursionError) as error:
            row, faults[place] = {}, f"is not valid JSON ({error})"
        if not isinstance(row, dict):
            row, faults[place] = {}, f"is of type {type(row).__name__}, not an object"
        rows.append(row)
    return rows, faults


def columns_of(rows: Iterable[Any]) -> dict[str, bool | None]:
    """Return the columns of rows that are dicts, and what their first values hold."""
    first: dict[str, Any] = {}
    for row in rows:
        for name, value in row.items():
            if first.get(name) is None:
                first[name] = scalar(value)
    return {name: _holds(value) for name, value in first.items()}


def _holds(value: object) -> bool | None:
    if value is None or isinstance(value, str):
        return False
    return True if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value) else None


def list_blocks(text: bytes, where: str) -> Iterator[Records]:
    """Yield the objects of a JSON list as JSON lines."""
    import msgspec

    try:
        rows = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"{where}: begins as a JSON list, and is not one ({error}): give a list of objects, or JSON lines"
        ) from None
    for first in range(0, len(rows), CHUNK):
        lines = [bytes(row).replace(b"\n", b" ").replace(b"\r", b" ") for row in rows[first : first + CHUNK]]
        yield Records(b"".join([line + b"\n" for line in lines]), first + 1)


def open_dicts(rows: Iterable[Any], where: str) -> OpenedRows:
    """Open rows of Python that are dicts; the first ones decide which columns there are."""
    rest = iter(rows)
    head = [*islice(rest, CHUNK)]
    holds = columns_of(row for row in head if isinstance(row, Mapping))

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        before, some = 0, head
        while some:
            wrong = "is not like the first row: a dict, or a tuple of as many values"
            faults = {place: wrong for place, row in enumerate(some) if not isinstance(row, Mapping)}
            rows = [row if isinstance(row, Mapping) else {} for row in some]
            empty = RowBatch(where, None, (before + 1).__add__, "row")
            yield dict_batch(empty, wanted, rows, faults)
            before, some = before + len(some), [*islice(rest, CHUNK)]

    return OpenedRows(where, "", [*holds], holds, batches)
