"""Compiled code for cells of text: find rows and fields, number words, read numbers and dates.

A field that begins with a quote ends at the next quote that is not doubled, so it may hold separators and
line breaks. A row that is not whole at the end of a block is left for the next block, so nothing of it is
changed before its end is found.

A cell is `text[spans[row, k, 0] : spans[row, k, 1]]`: field k of a row. `wrong` holds a code of log_report.py
for each row.
"""

from typing import Any

import numpy as np

from unhot.corpus.reading.scanner import WordTable, first_slot, insert, look_up, word_key
from unhot.kernels.jit import inner, kernel
from unhot.kernels.simd.rows import prefetch_number
from unhot.logs.log_report import FIELDS, FINE, LONG, LONGEST_ID, QUOTES, TIME
from unhot.types import Bytes, Doubles, Ids, Starts

LF, CR, BLANK, QUOTE, DASH, POINT, ZERO, COLON, ZULU = b'\n\r "-.0:Z'
# entries of `place`
POSITION, LINE, ROWS = range(3)
DONE, FULL, OPEN, BROKEN = range(4)  # answers of `find_rows`
AHEAD = 8  # rows whose words' slots are prefetched before they are needed
DIGITS = 19  # of a number that is read here: it may be too large for 64 bits, then it is negative
TENS: Doubles = np.array([10.0**power for power in range(DIGITS + 1)])


@inner
def _field(text: Bytes, position: Any, size: Any, separator: Any) -> Any:
    """Return begin and end of a field, where it is left, line feeds and doubled quotes in it, and its code.

    If its quote is not closed, its end is `size`.
    """
    quoted = text[position] == QUOTE
    begin = end = position + quoted
    lines = doubled = 0
    while quoted and end < size and (text[end] != QUOTE or text[end + 1] == QUOTE):
        twice = text[end] == QUOTE
        doubled += twice
        lines += text[end] == LF
        end += 1 + twice
    behind = after = end + quoted
    while end < size and text[after] != LF and text[after] != separator:
        after += 1
    last = after - (text[after] == LF and after > behind and text[after - 1] == CR)
    code = QUOTES if quoted and last > behind else FINE
    return begin, end if quoted else last, after, lines, doubled, code


@inner
def _undouble(text: Bytes, spans: Any, row: Any) -> None:
    """Write doubled quotes as one in all fields of a row that are in quotes."""
    for k in range(spans.shape[1]):
        to, end = spans[row, k, 0], spans[row, k, 1]
        position = to
        if to > 0 and text[to - 1] == QUOTE:
            while position < end:
                text[to] = text[position]
                position += 1 + (text[position] == QUOTE)
                to += 1
            spans[row, k, 1] = to


@kernel
def find_rows(
    text: Bytes,
    size: int,
    separator: int,
    slots: Ids,
    spans: Starts,
    wrong: Bytes,
    lines: Starts,
    place: Starts,
) -> int:
    """Find rows from `place` on; return DONE, FULL (of rows), OPEN (a field in quotes) or BROKEN.

    text    ends with a line feed
    slots   [columns] which field of `spans` a column is; -1: none
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
            position, line = start + 1, line + 1
            continue
        first, column = line, 0
        doubled = code = 0
        while column == 0 or text[position - 1] != LF:
            begin, end, position, more, twice, odd = _field(text, position, size, separator)
            if end == size:
                return OPEN
            line, doubled = line + more, doubled + twice
            code |= odd
            if column < len(slots) and slots[column] >= 0:
                spans[row, slots[column], 0], spans[row, slots[column], 1] = begin, end
            column, position = column + 1, position + 1
        line += 1
        code = FIELDS if code == FINE and column != len(slots) else code
        if code != FINE and line - first > 1:
            return BROKEN
        if code == FINE and doubled > 0:
            _undouble(text, spans, row)
        wrong[row], lines[row] = code, first
        row += 1
    place[:] = position, line, row
    return DONE if position >= size else FULL


@kernel
def check_words(text: Bytes, spans: Starts, k: int, wrong: Bytes, code: int) -> None:
    """Give fine rows a code if the cell is blank, which is empty then, or LONG."""
    for row in range(len(wrong)):
        begin, end = spans[row, k, 0], spans[row, k, 1]
        while begin < end and text[begin] <= BLANK:
            begin += 1
        spans[row, k, 0] = end if begin == end else spans[row, k, 0]
        found = code if begin == end else LONG if end - spans[row, k, 0] > LONGEST_ID else FINE
        wrong[row] = found if wrong[row] == FINE else wrong[row]


@kernel
def number_words(
    text: Bytes, spans: Starts, k: int, kept: Starts, table: WordTable, ids: Ids, first: int
) -> int:
    """Write the ids in a table of the words of the rows that are kept, from number `first` of these on.

    An empty cell has the id -1. Return the number of rows that are done: fewer than all if the table has to
    grow first.
    """
    for i in range(first, len(kept)):
        row = kept[min(i + AHEAD, len(kept) - 1)]
        key = word_key(text, spans[row, k, 0], spans[row, k, 1] - spans[row, k, 0])
        prefetch_number(table.slots, 2 * first_slot(table, key))
        begin = spans[kept[i], k, 0]
        size = spans[kept[i], k, 1] - begin
        ids[i] = -1
        if size > 0:
            found, slot, key = look_up(table, text, begin, size)
            if found < 0:
                found = insert(table, slot, key, text, begin, size)
            if found < 0:
                return i
            ids[i] = found
    return len(kept)


@inner
def _decimal(text: Bytes, begin: Any, end: Any, tens: Doubles) -> Any:
    """Return whether a cell is a decimal number that is exact here, and its value."""
    first = begin + (begin < end and text[begin] == DASH)
    number, digits = np.int64(0), 0
    points = decimals = 0
    for place in range(first, min(end, first + DIGITS + 1)):
        digit = np.int64(text[place]) - ZERO
        if 0 <= digit <= 9:
            number = 10 * number + digit
            digits += 1
            decimals += points > 0
        else:
            points += 1 if text[place] == POINT else 2
    exact = number >= 0 and (decimals == 0 or number <= 1 << 53)
    value = np.float64(number) / tens[decimals]
    right = digits > 0 and points < 2 and digits + points == end - first and digits <= DIGITS and exact
    return right, -value if first > begin else value


@inner
def _two(text: Bytes, position: Any) -> Any:
    """Return the number that two digits are; a large one if they are no digits."""
    tens, ones = np.int64(text[position]) - ZERO, np.int64(text[position + 1]) - ZERO
    return 10 * tens + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else np.int64(10_000)


@inner
def _days_of(year: Any, month: Any, day: Any) -> Any:
    """Return the days from 1970-01-01 to a date after the year 0.

    The year begins in March, so that the leap day is its last one: 153 days are five of its months.
    """
    year -= month <= 2
    month += 12 * (month <= 2) - 3
    return 365 * year + year // 4 - year // 100 + year // 400 + (153 * month + 2) // 5 + day - 719469


@inner
def _date(text: Bytes, begin: Any, end: Any, tens: Doubles) -> Any:
    """Return whether a cell is YYYY-MM-DD, maybe with HH:MM:SS[.fff][Z] behind a byte; and its seconds."""
    end -= end > begin and text[end - 1] == ZULU
    size = end - begin
    if size < 10 or 10 < size < 19 or text[begin + 4] != DASH or text[begin + 7] != DASH:
        return False, 0.0
    year, month = 100 * _two(text, begin) + _two(text, begin + 2), _two(text, begin + 5)
    day = _two(text, begin + 8)
    days = _days_of(year, month, day)
    right = 1 <= year <= 9999 and 1 <= month <= 12 and day >= 1
    right = right and days < _days_of(year + month // 12, month % 12 + 1, 1)  # February 30 is not
    if size == 10:
        return right, 86400.0 * days
    hour, minute = _two(text, begin + 11), _two(text, begin + 14)
    second = _two(text, begin + 17)
    right = right and text[begin + 13] == COLON and text[begin + 16] == COLON
    found, part = _decimal(text, begin + 19, end, tens)
    right = right and (size == 19 or (found and text[begin + 19] == POINT))
    right = right and hour < 24 and minute < 60 and second < 60
    return right, 86400.0 * days + (3600 * hour + 60 * minute + second) + part


@kernel
def read_numbers(
    text: Bytes, spans: Starts, k: int, wrong: Bytes, code: int, tens: Doubles, values: Doubles
) -> None:
    """Read cells of fine rows as numbers, those of code TIME also as dates; others get the code."""
    for row in range(len(values)):
        values[row] = 0.0
        if wrong[row] == FINE:
            begin, end = spans[row, k, 0], spans[row, k, 1]
            found, values[row] = _decimal(text, begin, end, tens)
            if not found and code == TIME:
                found, values[row] = _date(text, begin, end, tens)
            wrong[row] = FINE if found else code
