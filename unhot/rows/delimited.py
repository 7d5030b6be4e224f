"""CSV, TSV and their kin: fields with a separator between them, some in quotes, after a line of names.

Arrow reads a block of rows. Where a block has a row that is not like the others, Python's `csv` reads that
block again, row by row, and names the bad ones.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import Unloaded, pa
from unhot.rows.batches import OpenedRows, Record, RowBatch
from unhot.rows.records import FEED, LONGEST, RowBlock, block_rows
from unhot.vocab.vocabulary import decode_word

SEPARATORS = {"csv": ",", "tsv": "\t", "csv-unquoted": ",", "tsv-unquoted": "\t"}
ENDS = b"\r\n"  # a line of these alone is blank; one of tabs is a row of TSV
CHECKED = 100  # rows whose fields are counted if the header is given
OTHERS = ",;\t|"  # what separates fields if the usual separator does not
MEND_QUOTES = (
    "double each quote inside a field in quotes, or give --format csv-unquoted or tsv-unquoted, where a "
    "quote is a character like any other"
)
arrow_csv: Any = Unloaded("pyarrow.csv")
BEHIND = f"has text behind a closing quote: {MEND_QUOTES}"


class Fields(NamedTuple):
    """How the fields of a text are written."""

    where: str
    separator: str
    quotes: bool

    def split(self, block: RowBlock) -> Iterator[tuple[Record, list[str]]]:
        """Yield each record that is not blank, with what is wrong with it, and its fields."""
        csv.field_size_limit(LONGEST)
        quoting: Any = csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE
        starts = np.append(0, np.flatnonzero(np.frombuffer(block.data, np.uint8) == FEED) + 1)
        lines = io.StringIO(decode_word(block.data), newline="\n")  # a record may have millions
        reader = csv.reader(lines, delimiter=self.separator, strict=True, quoting=quoting)
        while (begin := reader.line_num) < len(starts) - 1:
            fault = ""
            try:
                fields = next(reader)
            except csv.Error as error:
                fields, fault = [], BEHIND if "expected after" in str(error) else f"is not valid ({error})"
            if fault and (reader.line_num > begin + 1 or "end of data" in fault):
                raise DataError(
                    f"{self.where}: line {block.line + begin}: a quote opens a field and is not closed: "
                    f"close it, or {MEND_QUOTES}"
                )
            raw = block.data[starts[begin] : starts[reader.line_num]]
            if raw.strip(ENDS):
                yield Record(block.line + begin, raw, fault=fault), fields

    def plain(self, data: bytes) -> bool:
        """Return whether all quotes are around fields, and all carriage returns before line feeds."""
        if not self.quotes or b'"' not in data:
            return data.count(b"\r") == data.count(b"\r\n")
        mark = re.escape(self.separator.encode())
        form = rb'(?:(?:[^"\r\n%s]*+|"(?:[^"]++|"")*+")(?:%s|\r?\n))*+' % (mark, mark)
        return re.fullmatch(form, data) is not None


def open_delimited(
    blocks: Iterator[RowBlock],
    where: str,
    kind: str,
    separator: str = "",
    names: Sequence[str] = (),
    quotes: bool = True,
) -> OpenedRows:
    """Open rows whose first record has the names of the columns, unless `names` are given."""
    first, given = next(blocks), bool(names)
    how = Fields(where, separator or _found_separator(first.data, kind), quotes)
    if given:
        _check_width(how, first, names)
    elif found := next(how.split(first), None):
        header, names = found
        if header.fault:
            raise DataError(
                f"{where}: its first line is no header ({header.fault}): give a file whose first line holds "
                "the names of its columns"
            )
        rest = first.data[first.data.index(header.raw) + len(header.raw) :]
        first = RowBlock(rest, header.line + header.raw.count(b"\n"))

    def one_by_one(block: RowBlock) -> Iterator[Record]:
        for record, fields in how.split(block):
            wide = "" if len(fields) == len(names) else f"has {len(fields)} fields, not {len(names)}"
            fault = record.fault or wide
            row = {} if fault else dict(zip(names, fields, strict=True))
            yield record._replace(row=row, fault=fault)

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        at_once = partial(_read_by_arrow, how, list(names), wanted)
        for block in chain([first], blocks):
            lines = None if quotes and b'"' in block.data else partial(block.lines, ENDS)
            yield block_rows(block, RowBatch(where, 0, {}, "line"), wanted, at_once, one_by_one, lines, "")

    packing = {"separator": how.separator, "header": not given}
    return OpenedRows(where, kind, [*names], dict.fromkeys(names, False), batches, packing=packing)


def _check_width(how: Fields, block: RowBlock, names: Sequence[str]) -> None:
    """Raise a `DataError` if all of the first rows have another number of fields than there are names."""
    sizes = Counter(len(fields) for record, fields in islice(how.split(block), CHECKED) if not record.fault)
    if sizes and len(names) not in sizes:
        raise DataError(
            f"{how.where}: the header has {len(names)} names ({', '.join(names):.200}), but rows have "
            f"{sizes.most_common(1)[0][0]} fields with {how.separator!r} between them: give a name for each "
            "field, or another separator"
        )


def _found_separator(data: bytes, kind: str) -> str:
    """Return what is between the fields of the first line: the usual separator of a kind, if it is there."""
    usual, header = SEPARATORS[kind], data.lstrip(b"\r\n").partition(b"\n")[0]
    return usual if usual.encode() in header else max(OTHERS, key=lambda each: header.count(each.encode()))


def _read_by_arrow(
    how: Fields, names: list[str], wanted: Mapping[str, str], data: bytes, rows: RowBatch
) -> RowBatch | None:
    """Return the rows of a text; None if one is not like the others."""
    numbers = [*map(str, range(len(names)))]  # several columns may have the same name
    places = {name: str(names.index(name)) for name in wanted}
    kept = [*places.values()] or numbers[:1]
    if not how.plain(data):
        return None
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(data), column_names=numbers),
            arrow_csv.ParseOptions(
                delimiter=how.separator,
                quote_char='"' if how.quotes else False,
                newlines_in_values=how.quotes and b'"' in data,
            ),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                strings_can_be_null=True,
                null_values=[""],  # there is no other way to write it
                include_columns=kept,
                column_types=dict.fromkeys(kept, pa.binary()),
            ),
        )
    except pa.ArrowInvalid:  # a row has more or fewer fields
        return None
    cells = {name: table.column(place).combine_chunks() for name, place in places.items()}
    return rows._replace(size=len(table), cells=cells)
