"""CSV, TSV and their kin: fields with a separator between them, some in quotes, after a line of names.

Arrow reads a block of rows. Where a block has a row that is not like the others, Python's `csv` reads that
block again, row by row, and names the bad ones.
"""

import csv
import functools
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from unhot.errors import DataError
from unhot.rows.arrow import pyarrow
from unhot.rows.batches import OpenedRows, RowBatch
from unhot.rows.records import BLANKS, LONGEST, Record, RowBlock
from unhot.rows.values import dict_batch
from unhot.vocab.vocabulary import decode_word, encode_word

SEPARATORS = {"csv": ",", "tsv": "\t", "csv-unquoted": ",", "tsv-unquoted": "\t"}
CHECKED = 100  # rows whose fields are counted if the header is given
OTHERS = ",;\t|"  # what separates fields if the usual separator does not
MEND_QUOTES = (
    "double each quote inside a field in quotes, or give --format csv-unquoted or tsv-unquoted, where a "
    "quote is a character like any other"
)
BEHIND = f"has text behind a closing quote: {MEND_QUOTES}"


class Fields(NamedTuple):
    """How the fields of a text are written."""

    where: str
    separator: str
    quotes: bool

    def records(self, block: RowBlock) -> Iterator[tuple[Record, list[str], str]]:
        """Yield each record that is not blank, its fields, and what is wrong with it."""
        csv.field_size_limit(LONGEST)
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        text, at, end = decode_word(block.data), 0, 0  # a record may have millions of lines

        def lines() -> Iterator[str]:
            nonlocal end
            for line in io.StringIO(text, newline="\n"):
                end += len(line)
                yield line

        reader = csv.reader(lines(), delimiter=self.separator, strict=True, quoting=quoting)
        fields: list[str] | None = []
        while fields is not None:
            begin, fault = reader.line_num, ""
            try:
                fields = next(reader, None)
            except csv.Error as error:
                fields, fault = [], BEHIND if "expected after" in str(error) else f"is not valid ({error})"
            if fault and (reader.line_num > begin + 1 or "end of data" in fault):
                raise DataError(
                    f"{self.where}: line {block.line + begin}: a quote opens a field and is not closed: "
                    f"close it, or {MEND_QUOTES}"
                )
            raw, at = encode_word(text[at:end]), end
            if fields is not None and raw.strip(BLANKS):
                yield Record(block.line + begin, raw), fields, fault

    def fit(self, data: bytes) -> bool:
        """Return whether all quotes are around fields, and all carriage returns before line feeds."""
        if not self.quotes or b'"' not in data:
            return b"\r" not in data or data.count(b"\r") == data.count(b"\r\n")
        mark = re.escape(self.separator.encode())
        form = rb'(?:(?:[^"\r\n%s]*+|"(?:[^"]++|"")*+")(?:%s|\r?\n))*+' % (mark, mark)
        return re.fullmatch(form, data) is not None


def open_delimited(
    blocks: Iterator[RowBlock],
    where: str,
    kind: str,
    *,
    separator: str = "",
    names: Sequence[str] = (),
    quotes: bool = True,
) -> OpenedRows:
    """Open rows whose first record has the names of the columns, unless `names` are given."""
    first = next(blocks)
    end = first.data.find(b"\n", len(first.data) - len(first.data.lstrip(b"\r\n"))) + 1
    separator = separator or found_separator(first.data[:end], kind)
    how, given = Fields(where, separator, quotes), bool(names)
    if given:
        _check_width(how, first, names)
    elif first.data.strip(BLANKS):
        lines = first.data if b'"' in first.data[:end] else first.data[:end]
        (line, raw), names, fault = next(how.records(first._replace(data=lines)))
        if fault:
            raise DataError(
                f"{where}: its first line is no header ({fault}): give a file whose first line holds the "
                "names of its columns"
            )
        first = RowBlock(first.data[first.data.index(raw) + len(raw) :], line + raw.count(b"\n"))

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        for block in chain([first], blocks):
            yield _batch(block, how, list(names), wanted)

    packing = {"separator": separator, "header": not given}
    return OpenedRows(where, kind, [*names], dict.fromkeys(names, False), batches, packing=packing)


def _check_width(how: Fields, block: RowBlock, names: Sequence[str]) -> None:
    """Raise a `DataError` if all of the first rows have another number of fields than there are names."""
    sizes = Counter(len(fields) for _, fields, fault in islice(how.records(block), CHECKED) if not fault)
    if sizes and len(names) not in sizes:
        raise DataError(
            f"{how.where}: the header has {len(names)} names ({', '.join(names):.200}), but rows have "
            f"{sizes.most_common(1)[0][0]} fields with {how.separator!r} between them: give a name for each "
            "field, or another separator"
        )


def found_separator(header: bytes, kind: str) -> str:
    """Return what is between the fields of a header: the usual separator of its kind, if it is there."""
    usual = SEPARATORS[kind]
    return usual if usual.encode() in header else max(OTHERS, key=lambda each: header.count(each.encode()))


def _batch(block: RowBlock, how: Fields, names: list[str], wanted: Mapping[str, str]) -> RowBatch:
    """Return the rows of a block."""

    @functools.cache
    def records() -> list[Record]:
        if not how.quotes or b'"' not in block.data:
            return block.lines()
        return [record for record, _, _ in how.records(block)]

    def rows() -> tuple[list[dict[str, Any]], dict[int, str]]:
        found, faults = list[dict[str, Any]](), dict[int, str]()
        for place, (_, fields, fault) in enumerate(how.records(block)):
            if fault or len(fields) != len(names):
                faults[place] = fault or f"has {len(fields)} fields, not {len(names)}"
            found.append({} if place in faults else dict(zip(names, fields, strict=True)))
        return found, faults

    empty = RowBatch(how.where, 0, {}, "line", records=records, dicts=lambda: rows()[0])
    places = {name: names.index(name) for name in wanted}
    table = _read_by_arrow(block.data, how, len(names), places) if how.fit(block.data) else None
    if table is not None:
        columns = {name: table.column(str(place)).combine_chunks() for name, place in places.items()}
        return empty._replace(size=len(table), cells=columns)
    found, faults = rows()
    filled = [{name: row.get(name) or None for name in wanted} for row in found]  # an empty cell is missing
    return dict_batch(empty, wanted, filled, faults)


def _read_by_arrow(data: bytes, how: Fields, width: int, places: dict[str, int]) -> Any:
    """Return a table of the columns at some places; None if a row has more or fewer fields than `width`."""
    arrow, reader = pyarrow(), pyarrow("pyarrow.csv")
    numbers = [str(place) for place in range(width)]
    wanted = [str(place) for place in places.values()] or numbers[:1]
    try:
        return reader.read_csv(
            arrow.BufferReader(data),
            reader.ReadOptions(use_threads=False, block_size=len(data), column_names=numbers),
            reader.ParseOptions(
                delimiter=how.separator,
                quote_char='"' if how.quotes else False,
                newlines_in_values=how.quotes and b'"' in data,
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
