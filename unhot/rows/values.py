"""Values as text, and columns of Arrow as what tasks need: strings, ids, lists.

A missing value is None, NaN, NaT or an Arrow null. A whole number 5, also as 5.0 (pandas makes floats of ints
if a column has nulls), is spelled "5".
"""

import contextlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import is_list, is_text, pyarrow
from unhot.vocab.vocabulary import decode_word

LISTS = (list, tuple, set, frozenset, np.ndarray)


def scalar(value: Any) -> Any:
    """Return a value, or a scalar of Arrow or NumPy, as a value of Python; None if it is missing."""
    if isinstance(value, str):
        return value
    value = value.as_py() if hasattr(value, "as_py") else value
    if isinstance(value, np.generic):
        value = value.astype("datetime64[us]").item() if value.dtype.kind == "M" else value.item()
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return None if missing or (isinstance(value, float) and value != value) else value


def spelled(value: Any) -> str | None:
    """Return a value as text: a string as it is, a whole float as an int; None if it is missing."""
    value = scalar(value)
    if isinstance(value, bytes):
        return decode_word(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if value is None or isinstance(value, str) else str(value)


def strings(cells: Any, where: str) -> list[Any]:
    """Return a column as values of Python; bytes of strings that are not UTF-8 become lone surrogates."""
    if isinstance(cells, list):  # lines of plain text
        return cells
    arrow = pyarrow()
    try:
        if is_list(cells.type):
            sizes = pyarrow("pyarrow.compute").list_value_length(cells).to_pylist()
            rest = iter(strings(cells.flatten(), where))
            return [None if size is None else [*islice(rest, size)] for size in sizes]
        if not is_text(cells.type):
            return list(cells.to_pylist())
        raw = as_bytes(cells)
        with contextlib.suppress(arrow.ArrowInvalid):
            return list(raw.cast(arrow.large_string()).to_pylist())
        return [None if each is None else _decoded(each) for each in raw.to_pylist()]
    except (arrow.ArrowException, ValueError, OverflowError) as error:
        raise DataError(f"{where}: a column cannot be read ({error}): leave it out") from error


def _decoded(raw: bytes) -> str:
    """Return bytes as a string; JSON may escape half a character, whose bytes are not UTF-8."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decode_word(raw)


def as_bytes(cells: Any) -> Any:
    """Return a column as large binary: ids, values; null if a cell is missing or has no spelling."""
    arrow = pyarrow()
    if arrow.types.is_dictionary(cells.type):
        return as_bytes(cells.dictionary).take(cells.indices)
    if arrow.types.is_floating(cells.type):
        cells = arrow.array(cells.to_numpy(zero_copy_only=False), from_pandas=True)  # NaN is null
        with contextlib.suppress(arrow.ArrowInvalid):  # unless all are whole
            cells = cells.cast(arrow.int64())
    for kind in (arrow.large_binary(), arrow.large_string()):
        with contextlib.suppress(arrow.ArrowNotImplementedError):
            return cells.cast(kind).cast(arrow.large_binary())
    return arrow.nulls(len(cells), arrow.large_binary())


def value_lists(cells: Any, where: str) -> list[list[str]]:
    """Return the values of each cell: of a list all of them, of all else one; missing ones are left out."""
    return [
        [
            text
            for each in (cell if isinstance(cell, LISTS) else [cell])
            if (text := spelled(each)) is not None
        ]
        for cell in strings(cells, where)
    ]


def named_lists(cells: Any, names: Sequence[str], where: str) -> list[list[str]]:
    """Return the same for whole numbers that stand for names; -1 stands for none."""
    found = []
    for numbers in value_lists(cells, where):
        wrong = next((each for each in numbers if not -1 <= int(each) < len(names)), None)
        if wrong is not None:
            raise DataError(f"{where}: the label is {wrong}, but labels are numbers below {len(names)}")
        found.append([names[int(each)] for each in numbers if int(each) >= 0])
    return found
