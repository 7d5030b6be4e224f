"""Parse rows of a word and decimal numbers; round the numbers exactly to float32.

A decimal is m 10^e, where m is the integer of its first 19 significant digits. In doubles

    d = m 10^e (1 + r),   |r| < 2^-51

because m, 10^e and their product are each off by at most 2^-53, and the digits that are left out change the
value by at most 10^-18. So the true value lies between d (1 - 2^-50) and d (1 + 2^-50). Rounding to float32
is monotonic: if both ends round to the same float32, that is the float32 nearest to the decimal. The ends
differ for about one number in ten million. Such a number is *hard*, and so is one that is too large for
float32, has an exponent outside the table, or is spelt differently (nan, inf, 1_000). For a hard number the
kernel writes NaN and stops after its row, and `nearest` reads the number in Python.

A row is a word and `dim` numbers, separated by one space or tab each. A row that does not match this from the
left (its word contains spaces, or there is more than one blank in between) is split from the right: the last
`dim` fields are the numbers.
"""

import math
from decimal import Decimal
from typing import Any

import numpy as np

from unhot.kernels.jit import inner, kernel
from unhot.types import Bytes, Doubles, Floats, Starts

LOWEST, HIGHEST = -100, 60  # exponents in the table
POWERS: Doubles = np.array([float(f"1e{exponent}") for exponent in range(LOWEST, HIGHEST + 1)])
BELOW, ABOVE = 1.0 - 2.0**-50, 1.0 + 2.0**-50
DIGITS = 19  # 10^19 < 2^64
FAR = 1 << 50  # a larger exponent is outside the table, wherever the decimal point is
BEYOND = 2.0**128  # the number that would follow the largest float32

SPACE, TAB, RETURN, LINE_FEED = b" \t\r\n"
PLUS, MINUS, POINT, ZERO, CAPITAL_E, SMALL_E = b"+-.0Ee"

DONE, HARD, SHORT = range(3)  # why `read_rows` stopped
# entries of its state: the next row, its first byte; the first byte of the last row's numbers, and their end
ROW, PLACE, NUMBERS, STOP = range(4)


@inner
def is_blank(byte: Any) -> Any:
    """Return whether a byte separates fields."""
    return byte == SPACE or byte == TAB


@inner
def digit_run(text: Bytes, at: Any, end: Any, mantissa: Any, digits: Any) -> Any:
    """Read digits; return (mantissa, its significant digits, digits left out, position after them)."""
    left_out = 0
    while at < end:
        digit = np.int64(text[at]) - ZERO
        if digit < 0 or digit > 9:
            break
        if digits < DIGITS:
            mantissa = mantissa * np.uint64(10) + np.uint64(digit)
            digits += 1 if mantissa else 0  # leading zeros are not significant
        else:
            left_out += 1
        at += 1
    return mantissa, digits, left_out, at


@inner
def exponent_of(text: Bytes, at: Any, end: Any) -> Any:
    """Read an exponent such as `e-05`; return (exponent, position after it, or -1 if it has no digits)."""
    at += 1
    negative = at < end and text[at] == MINUS
    if at < end and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    start, exponent = at, np.int64(0)
    while at < end and ZERO <= text[at] <= ZERO + 9:
        exponent = min(10 * exponent + np.int64(text[at]) - ZERO, np.int64(FAR))
        at += 1
    return (-exponent if negative else exponent), (at if at > start else -1)


@inner
def number(text: Bytes, at: Any, end: Any, powers: Doubles) -> Any:
    """Read the number at a position; return (float32, position after it).

    The number is NaN if it is hard. The position is -1 if there is no number in plain decimal notation.
    """
    negative = at < end and text[at] == MINUS
    if at < end and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    start = at
    mantissa, digits, exponent, at = digit_run(text, at, end, np.uint64(0), 0)
    read = at - start
    if at < end and text[at] == POINT:
        start = at + 1
        mantissa, digits, left_out, at = digit_run(text, start, end, mantissa, digits)
        read += at - start
        exponent -= at - start - left_out
    if at < end and (text[at] == SMALL_E or text[at] == CAPITAL_E):
        power, at = exponent_of(text, at, end)
        exponent += power
    value = np.float32(np.nan)
    if not read:
        at = -1
    elif mantissa == 0:
        value = np.float32(0.0)
    elif LOWEST <= exponent <= HIGHEST:
        double = np.float64(mantissa) * powers[exponent - LOWEST]
        low, high = np.float32(double * BELOW), np.float32(double * ABOVE)
        if low == high and high < np.inf:
            value = high
    return (-value if negative else value), at


@inner
def from_left(text: Bytes, at: Any, end: Any, row: Floats, named: Any, powers: Doubles) -> Any:
    """Read a row with one space after its word and one blank between numbers.

    Return the end of its word, or -1 if the row has another form.
    """
    while named and at < end and text[at] != SPACE:
        at += 1
    word_end = at
    for column in range(len(row)):
        if named or column:
            if at >= end or not is_blank(text[at]):
                return -1
            at += 1
        row[column], at = number(text, at, end, powers)
        if at < 0 or row[column] != row[column]:
            return -1
    return word_end if at == end else -1


@inner
def split_from_right(text: Bytes, start: Any, end: Any, dim: Any) -> Any:
    """Return the first byte of the last `dim` fields of a line; -1 if it has fewer fields."""
    at = end
    for _ in range(dim):
        while at > start and is_blank(text[at - 1]):
            at -= 1
        if at == start:
            return -1
        while at > start and not is_blank(text[at - 1]):
            at -= 1
    return at


@inner
def from_right(text: Bytes, start: Any, end: Any, row: Floats, named: Any, powers: Doubles) -> Any:
    """Read the last fields of a line as numbers.

    Return (end of the word, first byte of the numbers, whether one is hard); the end is -1 if fields are
    missing.
    """
    first = split_from_right(text, start, end, len(row))
    if first < 0 or named != (first > start):
        return -1, first, False
    word_end = max(start, first - 1)
    while word_end > start and is_blank(text[word_end - 1]):
        word_end -= 1
    if word_end == start:  # the word consists of blanks
        word_end = max(start, first - 1)
    at, hard = first, False
    for column in range(len(row)):
        while is_blank(text[at]):
            at += 1
        stop = at
        while stop < end and not is_blank(text[stop]):
            stop += 1
        value, behind = number(text, at, stop, powers)
        row[column] = value if behind == stop else np.float32(np.nan)
        hard = hard or row[column] != row[column]
        at = stop
    return word_end, first, hard


@kernel
def read_rows(
    text: Bytes, size: int, vectors: Floats, words: Starts, named: bool, powers: Doubles, state: Starts
) -> int:
    """Read lines from byte state[PLACE] on into rows from state[ROW] on; return why it stopped.

    `vectors` [rows, dim] receives the numbers, `words` [rows, 2] the first byte of each word and the byte
    after it. Lines begin with a word if `named`.

    DONE: all rows are read. HARD: the row before state[ROW] has hard numbers, which are NaN in `vectors`.
    SHORT: the line at state[PLACE] lacks its word or some numbers.
    """
    while state[ROW] < len(vectors):
        row, start = state[ROW], state[PLACE]
        stop = start
        while stop < size and text[stop] != LINE_FEED:
            stop += 1
        end = stop
        while end > start and (is_blank(text[end - 1]) or text[end - 1] == RETURN):
            end -= 1
        hard = False
        word_end = from_left(text, start, end, vectors[row], named, powers)
        if word_end < 0:
            word_end, state[NUMBERS], hard = from_right(text, start, end, vectors[row], named, powers)
            if word_end < 0:
                return SHORT
        words[row, 0], words[row, 1] = start, word_end
        state[ROW] = row + 1
        state[PLACE] = min(stop + 1, size)
        state[STOP] = end
        if hard:
            return HARD
    return DONE


@kernel
def count_lines(text: Bytes, size: int, most: int) -> int:
    """Count the lines of a text up to the last one that is not blank; examine at most `most` lines."""
    line, filled = 1, 0
    for at in range(size):
        if text[at] == LINE_FEED:
            if line == most:
                return filled
            line += 1
        elif not is_blank(text[at]) and text[at] != RETURN:
            filled = line
    return filled


@kernel
def gather_words(text: Bytes, words: Starts, joined: Bytes) -> int:
    """Copy words into one array, with a line feed between them; return the number of bytes written."""
    to = 0
    for row in range(len(words)):
        if row:
            joined[to] = LINE_FEED
            to += 1
        for at in range(words[row, 0], words[row, 1]):
            joined[to] = text[at]
            to += 1
    return to


def nearest(text: bytes) -> float:
    """Return the float32 nearest to a number in any notation that `float` accepts.

    Raise a `ValueError` if it is not a number, or is finite but too large for float32.

    `float` rounds to a double first. If that double lies half way between two float32 numbers, the decimal
    itself decides.
    """
    double = float(text)
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(double)
        other = np.nextafter(single, np.float32(math.inf if double > float(single) else -math.inf))
    # "n" in the text: it is spelt "inf" or "nan"
    if math.isnan(double) or b"n" in text.lower() or (math.isfinite(double) and double == float(single)):
        return double
    low, high = sorted([_as_double(single), _as_double(other)])
    middle = (low + high) / 2.0
    nearer = _as_double(single)
    if double == middle and (exact := Decimal(text.decode("ascii"))) != Decimal(middle):
        nearer = high if exact > Decimal(middle) else low
    if abs(nearer) == BEYOND:
        raise ValueError(f"{text[:40]!r} is too large for float32")
    return nearer


def _as_double(single: np.float32) -> float:
    """Return a float32 as a double; infinity becomes the number that would follow the largest float32."""
    return math.copysign(BEYOND, single) if np.isinf(single) else float(single)
