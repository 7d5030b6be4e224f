"""Text in blocks of whole records, and blocks as batches of rows.

A record is a line, or several if a field in quotes holds line breaks. A format has two readers. One reads a
block at once. The other one reads it record by record, accepts all that is right, and says what is wrong; it
reads the blocks that the first one does not accept.
"""

import functools
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.rows.batches import Record, RowBatch
from unhot.rows.values import value_batch

LONGEST = 1 << 27  # bytes of a line
MOST_HELD = 1 << 25  # bytes that are searched for the end of a field in quotes
BLANKS = b" \t\r\n"
FEED, QUOTE = b'\n"'


class RowBlock(NamedTuple):
    """Whole records of a text; the last one ends with a line feed."""

    data: bytes
    line: int  # the number of the first line

    def lines(self, blanks: bytes = BLANKS) -> list[Record]:
        """Return the lines that are not blank."""
        numbered = enumerate(io.BytesIO(self.data), self.line)
        return [Record(number, line) for number, line in numbered if line.strip(blanks)]


def block_rows(
    block: RowBlock,
    empty: RowBatch,
    wanted: Mapping[str, str],
    at_once: Callable[[bytes, RowBatch], RowBatch | None],
    one_by_one: Callable[[RowBlock], Iterator[Record]],
    lines: Callable[[], list[Record]] | None,
    missing: Any = None,
) -> RowBatch:
    """Return the rows of a block.

    lines    gives its records if each has one line; None: a record may have several
    missing  the value of a cell that is missing
    """
    parsed = functools.cache(lambda: [*one_by_one(block)])
    records = parsed if lines is None else functools.cache(lines)
    rows = empty._replace(records=records, dicts=lambda: [each.row for each in parsed()])
    found = at_once(block.data, rows)
    if found is not None:
        return found
    faults = {place: each.fault for place, each in enumerate(parsed()) if each.fault}
    cells = [[each.row.get(name) for each in parsed()] for name in wanted]
    cells = [[None if value == missing else value for value in column] for column in cells]
    return value_batch(rows, wanted, cells, len(parsed()), faults)


def blocks_of(text: Iterable[bytes], size: int, where: str, quotes: bool = False) -> Iterator[RowBlock]:
    """Yield blocks of about `size` bytes; with quotes, a field may hold line feeds.

    A line feed behind an odd number of quotes is within a field. If there is no other one for long, a quote
    stands alone, and any line feed ends the block: the reader of the block finds out where the quote is.
    """
    pieces, line = list[bytes](), 1
    held, enough = 0, size
    for piece in chain(text, [b""]):
        pieces.append(piece)
        held += len(piece)
        if held < enough and piece:
            continue
        data = b"".join(pieces)
        data += b"\n" * (not piece and data[-1:] not in (b"", b"\n"))
        last = _last_end(data) if quotes and b'"' in data else data.rfind(b"\n") + 1
        if not piece or (not last and held > MOST_HELD):
            last = data.rfind(b"\n") + 1
        if last or (line == 1 and not piece):  # there is always a first block
            yield RowBlock(data[:last], line)
            line += data.count(b"\n", 0, last)
        elif held > LONGEST:
            raise DataError(
                f"{where}: line {line}: {held:,} bytes without a line end: check that this is text"
            )
        pieces, held = [data[last:]], len(data) - last
        enough = size if last else held + held // 8  # a long record is not looked at again at each piece


def _last_end(data: bytes) -> int:
    """Return where the last record ends, by the line feeds behind an even number of quotes."""
    text = np.frombuffer(data, np.uint8)
    quotes, feeds = np.flatnonzero(text == QUOTE), np.flatnonzero(text == FEED)
    outside = feeds[np.searchsorted(quotes, feeds) % 2 == 0]
    return int(outside[-1]) + 1 if outside.size else 0
