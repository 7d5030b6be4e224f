"""Cells of a log as text, whatever they were before: compiled code reads them all in the same way.

An id is a text that is not blank. A whole number 5, also as 5.0 (pandas makes floats of ints if a column has
nulls), is the id "5". A time is seconds since 1970; a date without an offset is in UTC.
"""

import contextlib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.reading.lexicon import spelt
from unhot.logs.fields import TENS, read_numbers
from unhot.logs.log_report import FINE, TIME
from unhot.types import Bytes, Doubles, Starts
from unhot.vocab.vocabulary import decode_word

BLANKS = "".join(map(chr, range(33)))  # white space and control characters
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = float(np.finfo(np.float32).max)  # weights are kept in single precision
LISTS = (list, tuple, set, np.ndarray)
NULLS = ("None", "nan", "NaT", "<NA>")  # null, and those of NumPy and pandas


class TextColumn(NamedTuple):
    """The cells of a column: field k of the rows of a text."""

    text: Bytes  # and PADDING
    spans: Starts  # [rows, fields, 2] where fields begin and end
    k: int

    def of_rows(self, rows: Starts) -> "TextColumn":
        """Return a column with the cells of some rows."""
        return self._replace(spans=self.spans[rows])

    def cells(self, rows: Starts | list[int]) -> list[str]:
        """Return the cells of some rows."""
        raw = self.text.tobytes()
        return [decode_word(raw[begin:end]) for begin, end in self.spans[rows, self.k].tolist()]


def text_column(text: Bytes, offsets: Starts) -> TextColumn:
    """Return a column whose cells are one after another; `text` has PADDING behind them."""
    return TextColumn(text, np.stack([offsets[:-1], offsets[1:]], axis=1).reshape(-1, 1, 2), 0)


def value_column(values: Iterable[Any], lists: bool) -> TextColumn:
    """Return a column of values of Python; `lists`: see `list_text`."""
    return text_column(*spelt(map(list_text if lists else value_text, values)))


def value_text(value: Any) -> str:
    """Return a value as text; an empty string if it is null, a list or an object."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return decode_word(value)
    if isinstance(value, (Mapping, *LISTS)):
        return ""
    whole = isinstance(value, (float, np.floating)) and value.is_integer()
    return "" if (text := str(int(value) if whole else value)) in NULLS else text


def list_text(value: Any) -> str:
    """Return a value as text, a list with | between its values."""
    return "|".join(map(value_text, value)) if isinstance(value, LISTS) else value_text(value)


def values_of(text: str) -> list[str]:
    """Return the values in a text, which has | between them, each once."""
    return [*dict.fromkeys(filter(None, (part.strip(BLANKS) for part in text.split("|"))))]


def numbers_of(column: TextColumn, wrong: Bytes, code: int) -> Doubles:
    """Return the times (code TIME) or weights of a column; fine rows without one get the code."""
    values = np.empty(len(wrong), np.float64)
    read_numbers(*column, wrong, code, TENS, values)
    hard = np.flatnonzero(wrong == code)
    values[hard] = [_number(cell.strip(BLANKS), code == TIME) for cell in column.cells(hard)]
    wrong[hard[np.isfinite(values[hard])]] = FINE
    return values


def _number(text: str, dates: bool) -> float:
    """Return the number in a text, or the seconds of a date; NaN if it is neither, or too large."""
    found = math.nan
    with contextlib.suppress(ValueError, OverflowError):
        if NUMBER.fullmatch(text):
            found = float(text)
        elif dates:
            when = datetime.fromisoformat(text)
            found = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - EPOCH).total_seconds()
    return found if abs(found) <= LARGEST else math.nan
