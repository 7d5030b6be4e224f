"""CSV, TSV and their kin: fields with a separator between them, some in quotes, after a line of names.

Arrow reads a block of rows. Where a block has a row that is not like the others, Python's `csv` reads that
block again, row by row, and names the bad ones.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from unhot.errors import DataError
from unhot.rows.arrow import pyarrow, record_batch
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.json_lines import dict_batch
from unhot.rows.records import LONGEST, MEND_QUOTES, Records, not_closed
from unhot.vocab.vocabulary import decode_word

SEPARATORS = {"csv": ",", "tsv": "\t", "csv-unquoted": ",", "tsv-unquoted": "\t"}
BEHIND = f"has text behind a closing quote: {MEND_QUOTES}"


def open_delimited(
    blocks: Iterator[Records],
    where: str,
    kind: str,
    *,
    separator: str = "",
    names: Sequence[str] = (),
    quotes: bool = True,
) -> OpenedRows:
    """Open rows whose first record has the names of the columns, unless `names` are given."""
    separator = separator or SEPARATORS[kind]
    first = next(blocks, Records(b"", 1))
    if not names and first.data:
        names, first = _header(first, separator, quotes, where)

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        for block in chain([first], blocks):
            if block.data:
                yield _batch(block, where, separator, list(names), wanted, quotes)

    return OpenedRows(where, kind, [*names], dict.fromkeys(names, False), batches)


def _header(first: Records, separator: str, quotes: bool, where: str) -> tuple[list[str], Records]:
    """Return the names of the columns, and the records behind them."""
    count, record = 0, b""
    for record in first.each():
        count += len(record)
        if record.strip(b"\r\n"):
            break
    try:
        names = _fields(record, separator, quotes)
    except csv.Error as error:
        raise DataError(
            f"{where}: its first line is no header ({error}): give a file whose first line holds the names "
            "of its columns"
        ) from None
    return names, first.behind(count)


def _fields(record: bytes, separator: str, quotes: bool) -> list[str]:
    """Return the fields of a record; raise a `csv.Error` if text follows a closing quote."""
    csv.field_size_limit(LONGEST)
    quoting: Any = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    text = decode_word(record.removesuffix(b"\n").removesuffix(b"\r"))
    return next(csv.reader([text], delimiter=separator, strict=True, quoting=quoting), [])


def _batch(
    block: Records, where: str, separator: str, names: list[str], wanted: Mapping[str, str], quotes: bool
) -> RowBatch:
    """Return the rows of a block; blank lines are none."""
    empty = RowBatch(
        *(where, None, block.number, "line", {}, block.filled),
        lambda: _read_one_by_one(block, where, separator, names, quotes)[0],
    )
    places = {name: names.index(name) for name in wanted}
    regular = block.regular and (quotes or block.data.count(b"\r") == block.data.count(b"\r\n"))
    cells = _read_by_arrow(block.data, separator, len(names), places, quotes) if regular else None
    if cells is not None:
        return empty._replace(cells=cells)
    rows, faults = _read_one_by_one(block, where, separator, names, quotes)
    filled = [{name: row.get(name) or None for name in wanted} for row in rows]  # an empty cell is missing
    return dict_batch(empty, wanted, filled, faults)


def _read_by_arrow(data: bytes, separator: str, width: int, places: dict[str, int], quotes: bool) -> Any:
    """Return the columns at some places as bytes; None if a row has more or fewer fields than `width`."""
    arrow, reader = pyarrow(), pyarrow("pyarrow.csv")
    numbers = [str(place) for place in range(width)]
    wanted = [str(place) for place in places.values()] or numbers[:1]
    try:
        table = reader.read_csv(
            arrow.BufferReader(data),
            reader.ReadOptions(use_threads=False, block_size=len(data), column_names=numbers),
            reader.ParseOptions(
                delimiter=separator,
                quote_char='"' if quotes else False,
                newlines_in_values=quotes and b'"' in data,
            ),
            reader.ConvertOptions(
                check_utf8=False,
                strings_can_be_null=True,
                null_values=[""],  # there is no other way to write it
                include_columns=wanted,
                column_types=dict.fromkeys(wanted, arrow.binary()),
            ),
        )
    except arrow.ArrowInvalid:  # a row has more or fewer fields
        return None
    columns = [table.column(str(place)).combine_chunks() for place in places.values()]
    return record_batch(columns, places, len(table))


def _read_one_by_one(
    block: Records, where: str, separator: str, names: list[str], quotes: bool
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """Return the rows of a block, empty ones for bad ones, and what is wrong with these."""
    rows, faults = list[dict[str, Any]](), dict[int, str]()
    for place, record in enumerate(block.filled()):
        try:
            row = _fields(record, separator, quotes)
            if len(row) != len(names):
                faults[place] = f"has {len(row)} fields, not {len(names)}"
        except csv.Error as error:
            row, faults[place] = [], BEHIND if "expected after" in str(error) else f"is not valid ({error})"
        if place in faults and b"\n" in record[:-1]:
            raise not_closed(where, block.number(place))
        rows.append({} if place in faults else dict(zip(names, row, strict=True)))
    return rows, faults
