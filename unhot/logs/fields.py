"""Compiled code for delimited text: find rows and fields, number their words, read numbers and dates.

A field that begins with a quote ends at the next quote that is not doubled, so it may hold separators and
line breaks. A row that is not whole at the end of a block is left for the next block, so nothing of it is
changed before its end is found.
"""

from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.scanner import WordTable, first_slot, insert, look_up, word_key
from unhot.corpus.report import LONGEST_WORD
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import prefetch_number
from unhot.logs.log_report import FIELDS, FINE, LONG, QUOTES
from unhot.types import Bytes, Doubles, Ids, Starts

LF, CR = 10, 13
BLANK, ZERO = 32, 48
NO_QUOTE = -1
# entries of `place`
POSITION, LINE, ROWS = range(3)
DONE, FULL, OPEN, BROKEN = range(4)  # answers of `find_rows`
AHEAD = 8  # rows whose words' slots are prefetched before they are needed
EXACT = 22  # the largest power of ten that a double holds exactly
TENS: Doubles = np.array([10.0**power for power in range(EXACT + 1)])


class Dialect(NamedTuple):
    """How fields are separated."""

    separator: int  # a byte
    width: int  # how often it is repeated
    quote: int  # a byte, or NO_QUOTE


@inner
def _separates(text: Bytes, position: Any, dialect: Dialect) -> Any:
    """Return whether a separator begins here."""
    return text[position] == dialect.separator and (
        dialect.width == 1 or text[position + 1] == dialect.separator
    )


@inner
def _field_end(text: Bytes, position: Any, dialect: Dialect) -> Any:
    """Return where the next separator or line feed is; a block ends with a line feed."""
    while text[position] != LF and not _separates(text, position, dialect):
        position += 1
    return position


@inner
def _closing_quote(text: Bytes, position: Any, size: Any, dialect: Dialect) -> Any:
    """Return where the quote is that closes a field (size: nowhere), line feeds before, doubled quotes."""
    lines = doubled = 0
    while position < size:
        if text[position] == dialect.quote:
            if text[position + 1] != dialect.quote:
                break
            doubled += 1
            position += 1
        lines += text[position] == LF
        position += 1
    return position, lines, doubled


@inner
def _field(text: Bytes, position: Any, size: Any, dialect: Dialect) -> Any:
    """Return begin and end of a field, where it is left, line feeds and doubled quotes in it, and its code.

    If it is not closed, its end is `size`.
    """
    if text[position] != dialect.quote:
        after = _field_end(text, position, dialect)
        end = after
        if text[after] == LF and after > position and text[after - 1] == CR:
            end -= 1
        return position, end, after, 0, 0, FINE
    end, lines, doubled = _closing_quote(text, position + 1, size, dialect)
    after = _field_end(text, end + 1, dialect) if end < size else end
    gap = after - end - 1
    right = gap <= 0 or (gap == 1 and text[end + 1] == CR and text[after] == LF)
    return position + 1, end, after, lines, doubled, FINE if right else QUOTES


@inner
def _undouble(text: Bytes, spans: Any, row: Any, quote: Any) -> None:
    """Write doubled quotes as one in all fields of a row that are in quotes."""
    for k in range(spans.shape[1]):
        to, end = spans[row, k, 0], spans[row, k, 1]
        position = to
        if to > 0 and text[to - 1] == quote:
            while position < end:
                text[to] = text[position]
                position += 2 if text[position] == quote else 1
                to += 1
            spans[row, k, 1] = to


@kernel
def find_rows(
    text: Bytes,
    size: int,
    dialect: Dialect,
    slots: Ids,
    spans: Any,
    wrong: Bytes,
    lines: Starts,
    place: Starts,
) -> int:
    """Find rows from `place` on; return DONE, FULL (of rows), OPEN (a field in quotes) or BROKEN.

    slots   [columns] where the begin and the end of a field go in `spans`; -1: nowhere
    spans   int32 [rows, fields, 2]
    wrong   [rows] codes of log_report.py
    lines   [rows] the numbers of lines
    place   the position, the line and the rows so far. OPEN and BROKEN leave it before a row; BROKEN means
            that a field in quotes has line breaks, and its row is wrong: a quote is missing.

    Empty rows are skipped.
    """
    position, line = place[POSITION], place[LINE]
    row = place[ROWS]
    while position < size and row < len(wrong):
        place[:] = position, line, row
        start = position + (text[position] == CR)
        if text[start] == LF:
            position = start + 1
            line += 1
            continue
        first, column = line, 0
        doubled = code = 0
        while True:
            begin, end, position, more, twice, odd = _field(text, position, size, dialect)
            if end == size:
                return OPEN
            line += more
            doubled += twice
            code |= odd
            if column < len(slots) and slots[column] >= 0:
                spans[row, slots[column], 0] = begin
                spans[row, slots[column], 1] = end
            column += 1
            if text[position] == LF:
                break
            position += dialect.width
        position += 1
        line += 1
        if code == FINE and column != len(slots):
            code = FIELDS
        if code != FINE and line - first > 1:
            return BROKEN
        if code == FINE and doubled > 0:
            _undouble(text, spans, row, dialect.quote)
        wrong[row], lines[row] = code, first
        row += 1
    place[:] = position, line, row
    return DONE if position >= size else FULL


@inner
def _is_blank(text: Bytes, begin: Any, end: Any) -> Any:
    while begin < end and text[begin] <= BLANK:
        begin += 1
    return begin == end


@kernel
def number_fields(
    text: Bytes, spans: Any, k: int, wrong: Bytes, code: int, table: WordTable, ids: Ids, first: int
) -> int:
    """Write the ids in a table of field k of fine rows, from row `first` on; -1: the row is wrong now.

    Return the rows that are done: fewer than all if the table has to grow first.
    """
    for row in range(first, len(ids)):
        ahead = min(row + AHEAD, len(ids) - 1)
        begin, end = np.int64(spans[ahead, k, 0]), np.int64(spans[ahead, k, 1])
        if wrong[ahead] == FINE and begin < end <= begin + LONGEST_WORD:
            prefetch_number(table.slots, 2 * first_slot(table, word_key(text, begin, end - begin)))
        ids[row] = -1
        begin, end = np.int64(spans[row, k, 0]), np.int64(spans[row, k, 1])
        if wrong[row] != FINE:
            continue
        if _is_blank(text, begin, end):
            wrong[row] = code
            continue
        if end - begin > LONGEST_WORD:
            wrong[row] = LONG
            continue
        found, slot, key = look_up(table, text, begin, end - begin)
        if found < 0:
            found = insert(table, slot, key, text, begin, end - begin)
        if found < 0:
            return row
        ids[row] = found
    return len(ids)


@inner
def _digits(text: Bytes, begin: Any, end: Any, number: Any) -> Any:
    """Append the digits from `begin` on to a number; return where they end, and the number."""
    while begin < end and text[begin] >= ZERO and text[begin] < ZERO + 10:
        number = 10 * number + (np.int64(text[begin]) - ZERO)
        begin += 1
    return begin, number


@inner
def _decimal(text: Bytes, begin: Any, end: Any, tens: Doubles) -> Any:
    """Return whether a field is a decimal number of at most 19 digits, and its value."""
    negative = begin < end and text[begin] == ord("-")
    begin += negative
    if end - begin > 20:
        return False, 0.0
    place, number = _digits(text, begin, end, np.int64(0))
    digits, decimals = place - begin, place - place
    if place < end and text[place] == ord("."):
        point = place
        place, number = _digits(text, point + 1, end, number)
        decimals = place - point - 1
        digits += decimals
    # a number of 19 digits that is too large for 64 bits is negative here
    if place != end or digits == 0 or digits > 19 or number < 0 or (decimals > 0 and number > 1 << 53):
        return False, 0.0
    value = np.float64(number) / tens[decimals]
    return True, -value if negative else value


@inner
def _two(text: Bytes, position: Any) -> Any:
    """Return the number that two digits are; at least 100 if they are no digits."""
    place, number = _digits(text, position, position + 2, np.int64(0))
    return number if place == position + 2 else np.int64(100)


@inner
def days_of(year: Any, month: Any, day: Any) -> Any:
    """Return the days from 1970-01-01 to a date after the year 0.

    The year begins in March, so that the leap day is its last one: 153 days are five of its months.
    """
    year -= month <= 2
    month += 12 * (month <= 2) - 3
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469


@inner
def _date(text: Bytes, begin: Any, end: Any, tens: Doubles) -> Any:
    """Return whether a field is YYYY-MM-DD, maybe with [ T]HH:MM[:SS[.fff]] and Z; and its seconds."""
    end -= end - begin > 10 and text[end - 1] == ord("Z")
    size = end - begin
    if size < 10 or text[begin + 4] != ord("-") or text[begin + 7] != ord("-"):
        return False, 0.0
    century, year = _two(text, begin), _two(text, begin + 2)
    month, day = _two(text, begin + 5), _two(text, begin + 8)
    right = century < 100 and year < 100 and 1 <= month <= 12 and 1 <= day <= 31
    year += 100 * century
    if not right or year < 1:
        return False, 0.0
    days = days_of(year, month, day)
    if days >= days_of(year + month // 12, month % 12 + 1, 1):  # such as February 30
        return False, 0.0
    if size == 10:
        return True, 86400.0 * days
    hour, minute = _two(text, begin + 11), _two(text, begin + 14)
    between = text[begin + 10]
    right = size >= 16 and text[begin + 13] == ord(":") and (between == ord(" ") or between == ord("T"))
    second = _two(text, begin + 17) if size > 16 else np.int64(0)
    right = right and (size == 16 or (size >= 19 and text[begin + 16] == ord(":")))
    found, part = (True, 0.0) if size < 20 else _decimal(text, begin + 19, end, tens)
    right = right and found and (size < 20 or text[begin + 19] == ord("."))
    if not right or hour > 23 or minute > 59 or second > 59:
        return False, 0.0
    return True, 86400.0 * days + (3600 * hour + 60 * minute + second) + part


@kernel
def read_numbers(
    text: Bytes, spans: Any, k: int, wrong: Bytes, code: int, dates: bool, tens: Doubles, values: Doubles
) -> None:
    """Read field k of fine rows as a number, or as a date; rows where neither is simple get a code."""
    for row in range(len(values)):
        values[row] = 0.0
        if wrong[row] == FINE:
            begin, end = np.int64(spans[row, k, 0]), np.int64(spans[row, k, 1])
            found, values[row] = _decimal(text, begin, end, tens)
            if not found and dates:
                found, values[row] = _date(text, begin, end, tens)
            if not found:
                wrong[row] = code
