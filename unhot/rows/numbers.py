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
from unhot.rows.arrow import pa, pc
from unhot.rows.values import as_bytes
from unhot.types import Bytes, Doubles
from unhot.vocab.vocabulary import decode_word

BLANKS = "".join(map(chr, range(33)))  # white space and control characters
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
IN_UTC = r"( ?UTC|Z|[+-]00:?00)$"  # what may stand behind a date
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH).total_seconds()  # Arrow has a year 0, too
LARGEST = float(np.finfo(np.float32).max)  # weights are kept in single precision
BAD, PLAIN_NUMBER, DATE = range(3)  # what a cell is
DATES = (19_000_101, 21_001_231)  # a median of times between these is a date, year, month and day
SOME_YEARS = 1e8  # seconds
UNITS = (1e11, 1e14, 1e17)  # medians of times above these are in milli-, micro-, nanoseconds


def numbers_of(cells: Any) -> tuple[Doubles, Bytes]:
    """Return the numbers in a column, NaN where there is none, and what each cell is."""
    return times_of(cells, dates=False)


def times_of(cells: Any, format: str | None = None, dates: bool = True) -> tuple[Doubles, Bytes]:
    """Return the seconds in a column, in their own unit if they are numbers, and what each cell is.

    Those that are too large, infinite or before the year 1 are bad.

    format   as `datetime.strptime` takes it, of cells that are strings
    dates    False: only numbers are good
    """
    values, kinds = _read(cells, dates, format)
    good = np.abs(np.nan_to_num(values, nan=np.inf)) <= LARGEST
    good &= (kinds != DATE) | (values >= FIRST)
    return values, np.where(good, kinds, BAD).astype(np.uint8)


def _read(cells: Any, dates: bool, format: str | None) -> tuple[Doubles, Any]:
    """Read all cells at once if Arrow can read them all, or else one by one."""
    raw, types = as_bytes(cells), pa.types
    if types.is_integer(cells.type) or types.is_floating(cells.type) or types.is_decimal(cells.type):
        return _doubles(cells), PLAIN_NUMBER
    if dates and (types.is_timestamp(cells.type) or types.is_date(cells.type)):
        return _seconds(cells), DATE
    with contextlib.suppress(pa.ArrowInvalid):  # one is no number
        if format is None:
            return _doubles(raw.cast(pa.large_string()).cast(pa.float64())), PLAIN_NUMBER
    with contextlib.suppress(pa.ArrowInvalid):  # one is no date
        if format is None and dates:
            texts = raw.cast(pa.large_string())
            return _seconds(pc.replace_substring_regex(texts, IN_UTC, "")), DATE
    found = [_one(decode_word(text or b"").strip(BLANKS), dates, format) for text in raw.to_pylist()]
    return np.array([value for value, _ in found]), np.array([kind for _, kind in found])


def _doubles(cells: Any) -> Doubles:
    return np.array(cells.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _seconds(cells: Any) -> Doubles:
    """Return strings, dates or timestamps of Arrow as seconds since 1970."""
    return _doubles(cells.cast(pa.timestamp("us"), safe=False).cast(pa.int64())) / 1e6


def _one(text: str, dates: bool, format: str | None) -> tuple[float, int]:
    """Return the number in a text, or the seconds of a date, and what it is."""
    with contextlib.suppress(ValueError, OverflowError):
        if format is None and NUMBER.fullmatch(text):
            return float(text), PLAIN_NUMBER
        if format is not None or dates:
            iso = re.sub(" ?UTC$", "+00:00", text)
            when = datetime.fromisoformat(iso) if format is None else datetime.strptime(text, format)  # noqa: DTZ007
            return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - EPOCH).total_seconds(), DATE
    return math.nan, BAD


def seconds_of(cells: Any) -> Doubles:
    """Return a column of times in seconds since 1970, NaN where a cell is missing."""
    there = cells.is_valid().to_numpy(zero_copy_only=False)
    values, kinds = times_of(cells.drop_null())
    if len({*kinds.tolist()}) > 1 or (kinds == BAD).any():
        raise DataError(
            "the times of a history are neither all numbers nor all dates: give seconds since 1970, or "
            "dates of ISO 8601"
        )
    found = np.full(len(cells), np.nan)
    found[there] = in_seconds(values) if (kinds == PLAIN_NUMBER).any() else values
    return found


def in_other_units(times: Doubles) -> int:
    """Return how many times that are numbers seem to be in another unit than most."""
    most = np.searchsorted(UNITS, np.median(np.abs(times[:: 1 + times.size // 100_000])))
    low, high = [SOME_YEARS, *UNITS, np.inf][most], [*UNITS, np.inf][most]
    beyond = [
        np.count_nonzero(times > size) + np.count_nonzero(times < -size) for size in (SOME_YEARS, low, high)
    ]
    return int(beyond[0] - beyond[1] + beyond[2])


def in_seconds(times: Doubles) -> Doubles:
    """Return times that are numbers in seconds: they may be in smaller units, or dates such as 20240115."""
    middle = np.median(times[:: 1 + times.size // 100_000])
    if DATES[0] <= middle <= DATES[1] and (times % 1 == 0).all():
        days = pa.array(times.astype(np.int64)).cast(pa.string())
        found = pc.strptime(days, "%Y%m%d", "s", error_is_null=True)
        # Arrow takes 20230231 for the third of March
        found = pc.if_else(pc.equal(pc.strftime(found, "%Y%m%d"), days), found, None)
        # of any numbers of this size, one in 27 is a date
        if 0 < found.null_count < 0.9 * len(found):
            raise DataError(
                f"{found.null_count:,} of {len(found):,} times are no dates, such as "
                f"{days.filter(found.is_null())[0]}, among dates such as 20240115: give --time-format "
                "%Y%m%d, which leaves their rows out"
            )
        if not found.null_count:
            return _seconds(found)
    smaller = sum(middle > unit for unit in UNITS)
    return times / 1000.0**smaller if smaller else times
