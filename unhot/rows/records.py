"""Text in blocks of whole records. A record is a line, or several if a field in quotes holds line breaks."""

import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.types import Starts

LONGEST = 1 << 27  # bytes of a record
LONGEST_QUOTED = 1 << 25  # bytes of a record with quotes: one that is not closed must not take all memory
MEND_QUOTES = (
    "double each quote inside a field in quotes, or give --format csv-unquoted or tsv-unquoted, where a "
    "quote is a character like any other"
)
FEED, QUOTE, RETURN = b'\n"\r'


class Records(NamedTuple):
    """Whole records of a text; the last one ends with a line feed."""

    data: bytes
    line: int  # the number of the first line
    ends: Starts | None = None  # behind each record; None: each line is one
    regular: bool = True  # all quotes are around fields, and carriage returns before line feeds

    def each(self) -> Iterable[bytes]:
        """Return all records with their line breaks, cut one by one."""
        if self.ends is None:
            return io.BytesIO(self.data)
        return (self.data[begin:end] for begin, end in itertools.pairwise([0, *self.ends.tolist()]))

    def filled(self) -> list[bytes]:
        """Return the records that are not blank."""
        return [record for record in self.each() if record.strip(b" \t\r\n")]

    def number(self, place: int) -> int:
        """Return the number of the first line of a filled record."""
        records = [*self.each()]
        filled = [n for n, record in enumerate(records) if record.strip(b" \t\r\n")]
        return self.line + b"".join(records[: filled[place]]).count(b"\n")

    def behind(self, count: int) -> "Records":
        """Return the records behind the first ones, which have so many bytes."""
        ends = None if self.ends is None else self.ends[self.ends > count] - count
        line = self.line + self.data.count(b"\n", 0, count)
        return Records(self.data[count:], line, ends, self.regular)


def lines_of(data: bytes) -> tuple[Starts | None, bool]:
    """Return that each line is a record."""
    return None, True


def record_blocks(
    text: Iterable[bytes],
    size: int,
    where: str,
    ends_of: Callable[[bytes], tuple[Starts | None, bool]] = lines_of,
) -> Iterator[Records]:
    """Yield blocks of about `size` bytes; `ends_of`: bytes -> where records end, whether all is regular."""
    pieces, line = list[bytes](), 1
    held, enough = 0, size
    for piece in chain(text, [b""]):
        pieces.append(piece)
        held += len(piece)
        if held < enough and piece:
            continue
        data = b"".join(pieces)
        data += b"\n" * (not piece and data[-1:] not in (b"", b"\n"))
        ends, regular = ends_of(data)
        last = data.rfind(b"\n") + 1 if ends is None else int(ends[-1]) if ends.size else 0
        if last:
            yield Records(data[:last], line, ends, regular)
            line += data.count(b"\n", 0, last)
        pieces, held = [data[last:]], len(data) - last
        quoted = b'"' in data and b"\n" in data
        if held and (not piece or (not last and held > (LONGEST_QUOTED if quoted else LONGEST))):
            if quoted or not piece:
                raise not_closed(where, line)
            raise DataError(
                f"{where}: line {line}: {held:,} bytes without a line end: check that this is text"
            )
        enough = size if last else held + held // 8  # a long record is not looked at again at each piece


def not_closed(where: str, line: int) -> DataError:
    """Return the error for a record whose last field in quotes has no end."""
    return DataError(
        f"{where}: line {line}: a quote opens a field and is not closed: close it, or {MEND_QUOTES}"
    )


def quoted_records(data: bytes, separator: str) -> tuple[Starts | None, bool]:
    """Return where records end whose fields may be in quotes, and whether quotes are around fields only.

    Quotes of such fields open and close in turn: one that opens is behind a separator, a line feed or, where
    a quote is doubled, the one that closed; one that closes is before such a place. If that holds for all of
    them, a line feed behind an even number of quotes ends a record. Otherwise fields are looked for one by
    one.
    """
    returns = b"\r" not in data or data.count(b"\r") == data.count(b"\r\n")
    if b'"' not in data:
        return None, returns
    text = np.frombuffer(data, np.uint8)
    quotes, feeds = np.flatnonzero(text == QUOTE), np.flatnonzero(text == FEED)
    around = np.concatenate([[FEED], text, [FEED]]).astype(np.uint8)
    opening, closing = quotes[::2], quotes[1::2]
    doubled = np.diff(quotes, prepend=-2) == 1  # a quote right behind the one before
    fits = np.isin(around[opening], [ord(separator), FEED]) | doubled[::2]
    ends = (
        np.isin(around[closing + 2], [ord(separator), FEED, RETURN])
        | np.append(doubled[2::2], False)[: closing.size]
    )
    if fits.all() and ends.all():
        outside = np.searchsorted(quotes, feeds) % 2 == 0
        return feeds[outside] + 1, returns
    fields = re.compile(rb'(?:\A|[\n%s])("(?:[^"]++|"")*+"?)' % re.escape(separator.encode()))
    spans = np.array([found.span(1) for found in fields.finditer(data)], np.int64).reshape(-1, 2)
    open_last = spans.size and spans[-1, 1] == len(data) and (data[spans[-1, 0] :].count(b'"') % 2 == 1)
    last = int(spans[-1, 0]) if open_last else len(data)
    outside = np.searchsorted(spans[:, 0], feeds) == np.searchsorted(spans[:, 1], feeds, "right")
    return feeds[outside & (feeds < last)] + 1, False
