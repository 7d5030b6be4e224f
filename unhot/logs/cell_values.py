"""Cells of a log in plain Python: ids, times, weights and values of items.

An id is a string that is not blank. A whole number 5, also as 5.0 (pandas makes floats of ints if a column
has nulls), is the id "5". A time is seconds since 1970; a date without an offset is in UTC.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np

from unhot.corpus.report import LONGEST_WORD
from unhot.logs.log_report import EXAMPLES, FINE, LONG, TIME
from unhot.types import Bytes, Doubles, Ids
from unhot.vocab.vocabulary import decode_word, encode_word

BLANKS = "".join(map(chr, range(33)))  # white space and control characters
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
QUICK = {str, int}  # types of cells that are plain already
NOTHING = ("NaTType", "NAType")  # nulls of pandas, which are not to be compared


def plain(value: Any) -> Any:
    """Return a scalar of NumPy or Arrow as a value of Python; NaN and the nulls of pandas are None."""
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]").item()
    value = value.item() if isinstance(value, np.generic) else value
    value = value.as_py() if hasattr(value, "as_py") else value
    null = type(value).__name__ in NOTHING or (isinstance(value, float) and value != value)
    return None if null else value


def id_text(value: Any) -> str:
    """Return the id that a value stands for; an empty string if it stands for none."""
    value = value if type(value) in QUICK else plain(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bytes):
        return decode_word(value)
    if value is None or isinstance(value, (Mapping, list, tuple, set, np.ndarray)):
        return ""
    try:
        return str(value)
    except ValueError:  # a number of more digits than Python writes
        return ""


def number_cells(cells: Iterable[Any], index: dict[str, int], wrong: Bytes, code: int) -> Ids:
    """Return the numbers of the ids in cells (-1: none); new ids get the next numbers in `index`.

    Rows without an id get a code in `wrong`, unless they have one.
    """
    words = [cell if type(cell) is str else id_text(cell) for cell in cells]
    ids = np.array([index.get(word, -1) for word in words], np.int32)
    for row in np.flatnonzero(ids < 0).tolist():
        word = words[row]
        if not word.strip(BLANKS):
            wrong[row] = wrong[row] or code
        elif 4 * len(word) > LONGEST_WORD and len(encode_word(word)) > LONGEST_WORD:
            wrong[row] = wrong[row] or LONG
        else:
            ids[row] = index.setdefault(word, len(index))
    return ids


def number(value: Any) -> float:
    """Return the number of a cell; NaN if it is none, or not finite."""
    value = value if type(value) in QUICK else plain(value)
    value = decode_word(value) if isinstance(value, bytes) else value
    if isinstance(value, bool) or (isinstance(value, str) and not NUMBER.fullmatch(value.strip(BLANKS))):
        return math.nan
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return found if math.isfinite(found) else math.nan


def seconds(value: Any) -> float:
    """Return the time of a cell: a number as it is, a date as seconds since 1970; NaN if it is neither."""
    found = number(value)
    if found == found:
        return found
    value = plain(value)
    try:
        if isinstance(value, (str, bytes)):
            text = value if isinstance(value, str) else decode_word(value)
            value = datetime.fromisoformat(text.strip(BLANKS))
        elif isinstance(value, date) and not isinstance(value, datetime):
            value = datetime.combine(value, time())
        if isinstance(value, datetime):
            return ((value if value.tzinfo else value.replace(tzinfo=UTC)) - EPOCH).total_seconds()
    except (ValueError, OverflowError):
        pass
    return math.nan


def read_cells(cells: Sequence[Any], code: int, wrong: Bytes, shown: dict[int, str]) -> Doubles:
    """Return the times (code TIME) or the weights (code WEIGHT) of cells.

    Fine rows without one get the code in `wrong`, and `shown` gets some of their cells.
    """
    values = np.fromiter(map(seconds if code == TIME else number, cells), np.float64, len(wrong))
    bad = np.flatnonzero(np.isnan(values) & (wrong == FINE))
    wrong[bad] = code
    shown |= {row: f"{cells[row]!r:.60}" for row in bad[:EXAMPLES].tolist() if isinstance(cells[row], str)}
    return values


def side_values(cell: Any) -> list[str]:
    """Return the values of a cell, each once: a list of them, or a string with | between them."""
    cell = cell.tolist() if isinstance(cell, np.ndarray) else cell
    cells = cell if isinstance(cell, (list, tuple, set)) else [cell]
    found = (part.strip(BLANKS) for each in cells for part in id_text(each).split("|"))
    return [*dict.fromkeys(filter(None, found))]
