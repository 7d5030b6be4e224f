"""Text in blocks of whole records. A record is a line, or several if a field in quotes holds line breaks."""

import io
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError

LONGEST = 1 << 27  # bytes of a line
MOST_HELD = 1 << 25  # bytes that are searched for the end of a field in quotes
BLANKS = b" \t\r\n"
FEED, QUOTE = b'\n"'


class Record(NamedTuple):
    """A record that is not blank."""

    line: int  # the number of its first line
    raw: bytes  # with its line break


class RowBlock(NamedTuple):
    """Whole records of a text; the last one ends with a line feed."""

    data: bytes
    line: int  # the number of the first line

    def lines(self) -> list[Record]:
        """Return the lines that are not blank."""
        numbered = enumerate(io.BytesIO(self.data), self.line)
        return [Record(number, line) for number, line in numbered if line.strip(BLANKS)]


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
