"""Read and write GloVe text: lines of a word and its numbers, without a first line `rows dim`.

Words may contain spaces, as in some of Stanford's files: the last `dim` fields of a line are its numbers. To
find `dim`, count the fields at the end of each of the first lines that are numbers, but never the first field
of a line; `dim` is the most frequent count.
"""

import itertools
import re
import statistics
from pathlib import Path
from typing import BinaryIO

from unhot.errors import FormatError
from unhot.types import Bytes
from unhot.vectors.formats.table import ALL, Options, Table, file_size
from unhot.vectors.formats.text_rows import FIELD, announced_rows, glimpse, mapped, read_text_rows, text_lines

LOOKED_AT = 100  # lines examined to find `dim`
LOOKED_AT_BYTES = 1 << 24  # the most bytes examined
LINE = re.compile(rb"[^\n]{0,%d}\n?" % LOOKED_AT_BYTES)


def put(file: BinaryIO, table: Table) -> None:
    """Write GloVe text from front to back."""
    file.writelines(text_lines(table.words, table.vectors))


def read(path: Path, options: Options = ALL) -> Table:
    """Read GloVe text."""
    text = mapped(path, file_size(path))
    dim = width(text)
    if dim is None:
        raise FormatError(
            f"{path}: byte 0: not GloVe text: its first line must be a word and numbers, not "
            f"{glimpse(text, 0)}"
        )
    rows = announced_rows(path, text, dim, 2 * dim + 1, options.rows(len(text)))
    return read_text_rows(path, text, 0, (rows, dim), options)[0]


def width(text: Bytes) -> int | None:
    """Return the number of numbers per line; None if the text does not begin with a word and numbers."""
    found: list[int] = []
    for line in itertools.islice(LINE.finditer(text.data), LOOKED_AT):
        if line[0].strip():
            found.append(_numbers_at_end(line[0]))
        if line.end() >= LOOKED_AT_BYTES:
            break
    dim = min(statistics.multimode(found), default=0)
    return dim or None


def _numbers_at_end(line: bytes) -> int:
    """Count the fields at the end of a line that are numbers, never including its first field."""
    backwards = line.rstrip(b" \t\r\n")[::-1]
    count = 0
    for field in FIELD.finditer(backwards):
        try:
            float(field[0][::-1])
        except ValueError:
            break
        count += field.end() < len(backwards)
    return count
