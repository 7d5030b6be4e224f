"""Columns as numbers and as times.

A number is a decimal number, maybe with an exponent. A time is a number, whose unit follows from its size, or
an ISO 8601 date, with or without a time of day and a zone; without a zone it is in UTC. A time is in seconds
since 1970.
"""

import contextlib
import math
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import pyarrow
from unhot.rows.values import as_bytes
from unhot.types import Bytes, Doubles
from unhot.vocab.vocabulary import decode_word

BLANKS = "".join(map(chr, range(33)))  # white space and control characters
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
PLAIN = r"^-?[0-9]{1,300}(\.[0-9]{1,300})?$"  # numbers that Arrow reads as Python does
DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
IN_UTC = r"( ?UTC|Z|[+-]00:?00)$"  # what may stand behind such a date
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()  # Arrow has a year 0, too
LARGEST = float(np.finfo(np.float32).max)  # weights are kept in single precision
BAD, PLAIN_NUMBER, DATE = range(3)  # what a cell is
DATES = (19_000_101, 21_001_231)  # a median of times between these is a date, year, month and day
UNITS = (1e11, 1e14, 1e17)  # medians of times above these are in milli-, micro-, nanoseconds


def numbers_of(cells: Any) -> tuple[Doubles, Bytes]:
    """Return the numbers in a column, NaN where there is none, and what each cell is."""
    return _read(cells, dates=False)


def times_of(cells: Any, format: str | None = None) -> tuple[Doubles, Bytes]:
    """Return the seconds in a column, in their own unit if they are numbers, and what each cell is.

    format   as `datetime.strptime` takes it, of cells that are strings
    """
    return _read(cells, dates=True, format=format)


def _read(cells: Any, dates: bool, format: str | None = None) -> tuple[Doubles, Bytes]:
    """Read numbers and times of Arrow; strings of a usual form all at once, the others one by one."""
    arrow = pyarrow()
    kind, types = cells.type, arrow.types
    values, kinds = np.full(len(cells), math.nan), np.zeros(len(cells), np.uint8)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        values, kinds[:] = _doubles(cells), PLAIN_NUMBER
    elif dates and (types.is_timestamp(kind) or types.is_date(kind)):
        values, kinds[:] = _doubles(cells.cast(arrow.timestamp("us"), safe=False)) / 1e6, DATE
    else:
        _read_texts(as_bytes(cells), dates, format, values, kinds)
    good = np.isfinite(values)
    good[good] = np.abs(values[good]) <= LARGEST
    good &= (kinds != DATE) | (values >= FIRST)
    return values, np.where(good, kinds, BAD).astype(np.uint8)


def _doubles(cells: Any) -> Doubles:
    arrow = pyarrow()
    cells = cells.cast(arrow.int64()) if arrow.types.is_timestamp(cells.type) else cells
    return np.array(cells.cast(arrow.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _read_texts(raw: Any, dates: bool, format: str | None, values: Doubles, kinds: Bytes) -> None:
    arrow, compute = pyarrow(), pyarrow("pyarrow.compute")
    with contextlib.suppress(arrow.ArrowInvalid):  # unless one is not UTF-8
        texts = raw.cast(arrow.large_string())
        if format is None:
            _read_at_once(texts, PLAIN, arrow.float64(), PLAIN_NUMBER, values, kinds)
        if format is None and dates and not kinds.all():
            bare = compute.replace_substring_regex(texts, IN_UTC, "")
            _read_at_once(bare, DATED, arrow.timestamp("us"), DATE, values, kinds)
    for place in np.flatnonzero(kinds == BAD).tolist():
        text = decode_word(raw[place].as_py() or b"").strip(BLANKS)
        if text:
            values[place], kinds[place] = _one(text, dates, format)


def _read_at_once(texts: Any, form: str, kind: Any, what: int, values: Doubles, kinds: Bytes) -> None:
    """Read the cells of a form that are not read yet; leave all if one is not what it looks like."""
    arrow, compute = pyarrow(), pyarrow("pyarrow.compute")
    fits = compute.ascii_is_decimal(texts)  # quicker than an expression
    fits = fits if compute.all(fits).as_py() and what != DATE else compute.match_substring_regex(texts, form)
    fits = fits.fill_null(False).to_numpy(zero_copy_only=False) & (kinds == BAD)
    some = texts if fits.all() else texts.filter(arrow.array(fits))
    with contextlib.suppress(arrow.ArrowInvalid):
        found = _doubles(some.cast(kind))
        values[fits], kinds[fits] = found / 1e6 if what == DATE else found, what


def _one(text: str, dates: bool, format: str | None) -> tuple[float, int]:
    """Return the number in a text, or the seconds of a date, and what it is."""
    with contextlib.suppress(ValueError, OverflowError):
        if format is not None:
            return _seconds(datetime.strptime(text, format)), DATE  # noqa: DTZ007
        if NUMBER.fullmatch(text):
            return float(text), PLAIN_NUMBER
        if dates:
            return _seconds(datetime.fromisoformat(re.sub(" ?UTC$", "+00:00", text))), DATE
    return math.nan, BAD


def _seconds(when: datetime) -> float:
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - EPOCH).total_seconds()


def in_seconds(times: Doubles) -> Doubles:
    """Return times that are numbers in seconds: they may be in smaller units, or dates such as 20240115."""
    middle = np.median(times[:: 1 + times.size // 100_000])
    if DATES[0] <= middle <= DATES[1] and (times % 1 == 0).all():
        years, rest = np.divmod(times.astype(np.int64), 10_000)
        months, days = np.divmod(rest, 100)
        dates = (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
        if not dates.all() and 2 * dates.sum() > dates.size:
            raise DataError(
                f"{int((~dates).sum()):,} of {dates.size:,} times are no dates, such as "
                f"{times[~dates][0]:.0f}, among dates such as 20240115: give --time-format %Y%m%d, which "
                "leaves their rows out"
            )
        if dates.all():
            first = (years - 1970).astype("datetime64[Y]") + (months - 1).astype("timedelta64[M]")
            seconds = (first + (days - 1).astype("timedelta64[D]")).astype("datetime64[s]")
            return np.asarray(seconds.astype(np.int64), np.float64)
    thousands = sum(middle > unit for unit in UNITS)
    return times / 1000.0**thousands if thousands else times
