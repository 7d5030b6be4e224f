"""GloVe text: lines of a word and its numbers, without a first line that says how many.

Words may hold spaces (some of Stanford's files have such): the last `dim` fields of a line are its numbers.
`dim` is what most of the first lines have: fields at the end that are numbers, the first field of a line
never being one.
"""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import numpy as np

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.types import Bytes
from unhot.vectors.formats.table import ALL, Options, Table, file_size
from unhot.vectors.formats.text_rows import glimpse, mapped, read_text_rows, text_lines

LOOKED_AT = 100  # lines
LOOKED_AT_BYTES = 1 << 24
LAST_FIELD = re.compile(rb"[^ \t]+\Z")
LONGEST = 64  # bytes of `nan` or `inf`, in any spelling


def write(path: Path, table: Table) -> None:
    """Write GloVe text."""
    with replacing(path) as file:
        file.writelines(text_lines(table.words, table.vectors))


def read(path: Path, options: Options = ALL) -> Table:
    """Read GloVe text."""
    from unhot.vectors.formats.numbers import count_lines

    text = mapped(path, file_size(path))
    dim = width(text)
    if dim is None:
        raise FormatError(
            f"{path}: byte 0: not GloVe text: its first line must be a word and numbers, not "
            f"{glimpse(text, 0)}"
        )
    most = options.rows(len(text))
    rows = count_lines(text, len(text), most) if most else 0
    if rows * (2 * dim + 1) - 1 > len(text):
        raise FormatError(
            f"{path}: byte 0: {rows} lines of {dim} numbers need more than the {len(text)} bytes of the file"
        )
    return read_text_rows(path, text, 0, (rows, dim), options)[0]


def width(text: Bytes) -> int | None:
    """The numbers per line; None if the text does not begin with lines of a word and numbers."""
    found: list[int] = []
    start = 0
    for _ in range(LOOKED_AT):
        line = text[start : start + LOOKED_AT_BYTES]
        end = _end_of_line(line)
        if bytes(line[:end]).strip():
            found.append(_numbers_at_end(line, end))
        start += end + 1
        if start >= min(len(text), LOOKED_AT_BYTES):
            break
    dim = min(statistics.multimode(found), default=0)
    return dim or None


def _end_of_line(line: Bytes) -> int:
    """The place of the next line feed, or the end of the text."""
    step = 1 << 12
    while True:
        end = bytes(line[:step]).find(b"\n")
        if end >= 0 or step >= len(line):
            return end if end >= 0 else len(line)
        step *= 8


def _numbers_at_end(line: Bytes, end: int) -> int:
    """Fields at a line's end that are numbers, also those that only Python reads, like `nan`."""
    from unhot.vectors.formats.numbers import PLACE, POWERS, trailing_numbers

    stop = len(bytes(line[:end]).rstrip(b" \t\r"))
    state, count = np.zeros(4, np.int64), 0
    while True:
        count += int(trailing_numbers(line, 0, stop, POWERS, state))
        before = max(0, int(state[PLACE]) - LONGEST)
        field = LAST_FIELD.search(bytes(line[before : int(state[PLACE])]).rstrip(b" \t"))
        if field is None or before + field.start() == 0 or not _is_number(field[0]):
            return count
        count, stop = count + 1, before + field.start()


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
