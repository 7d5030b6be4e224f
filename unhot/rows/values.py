"""Values and rows of Python as columns of Arrow, and columns as what tasks need: strings, ids, lists.

A missing value is None, NaN, NaT or an Arrow null. A whole number 5, also as 5.0 (pandas makes floats of ints
if a column has nulls), is spelled "5".
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.rows.arrow import is_list, is_text, pa, pc
from unhot.rows.batches import LIST, TEXT, OpenedRows, RowBatch
from unhot.vocab.vocabulary import decode_word, encode_word

CHUNK = 1 << 12  # rows of Python that are read at a time
LISTS = (list, tuple, set, frozenset, np.ndarray)
ODD = re.compile("bool|binary|decimal|list|struct|map")  # types that Arrow spells in another way


def scalar(value: Any) -> Any:
    """Return a value, or a scalar of Arrow, NumPy or PyTorch, as a value of Python; None if it is missing."""
    if isinstance(value, str):
        return value
    value = value.as_py() if hasattr(value, "as_py") else value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = (value.astype("datetime64[us]") if isinstance(value, np.datetime64) else value).item()
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return None if missing or (isinstance(value, float) and value != value) else value


def spelled(value: Any) -> str | None:
    """Return a value as text: a string as it is, a whole float as an int; None if it is missing."""
    value = scalar(value)
    if isinstance(value, bytes):
        return decode_word(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return None if value is None else str(value)


def strings(cells: Any, where: str) -> list[Any]:
    """Return a column as values of Python; bytes of strings that are not UTF-8 become lone surrogates."""
    try:
        if is_list(cells.type):
            rest = iter(strings(cells.flatten(), where))
            sizes = pc.list_value_length(cells).to_pylist()
            return [None if size is None else [*islice(rest, size)] for size in sizes]
        if not is_text(cells.type):
            return list(cells.to_pylist())
        raw = as_bytes(cells)
        with contextlib.suppress(pa.ArrowInvalid):
            return list(raw.cast(pa.large_string()).to_pylist())
        return [None if each is None else _decoded(each) for each in raw.to_pylist()]
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise DataError(f"{where}: a column cannot be read ({error}): leave it out") from error


def _decoded(raw: bytes) -> str:
    """Return bytes as a string; JSON may escape half a character, whose bytes are not UTF-8."""
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return decode_word(raw)


def as_bytes(cells: Any) -> Any:
    """Return a column as large binary: ids, values; null if a cell is missing or has no spelling."""
    if pa.types.is_dictionary(cells.type):
        return as_bytes(cells.dictionary).take(cells.indices)
    if pa.types.is_floating(cells.type):
        cells = pa.array(cells.to_numpy(zero_copy_only=False), from_pandas=True)  # NaN is null
        with contextlib.suppress(pa.ArrowInvalid):  # unless all are whole
            cells = cells.cast(pa.int64())
    for kind in (pa.large_binary(), pa.large_string()):
        with contextlib.suppress(pa.ArrowNotImplementedError):
            return cells.cast(kind).cast(pa.large_binary())
    return pa.nulls(len(cells), pa.large_binary())


def value_lists(cells: Any, where: str, names: Sequence[str] | None = None) -> list[list[str]]:
    """Return the values of each cell: of a list all of them, of all else one; missing ones are left out.

    names  those that whole numbers stand for; -1 stands for none
    """
    found = [
        [
            text
            for each in (cell if isinstance(cell, LISTS) else [cell])
            if (text := spelled(each)) is not None
        ]
        for cell in strings(cells, where)
    ]
    if names is None:
        return found
    known = {"-1": "", **{str(number): name for number, name in enumerate(names)}}
    wrong = next((each for each in chain.from_iterable(found) if each not in known), None)
    if wrong is not None:
        raise DataError(f"{where}: the label is {wrong}, but labels are numbers below {len(names)}")
    return [[known[each] for each in numbers if known[each]] for numbers in found]


def open_objects(rows: Iterable[Any], where: str, names: Sequence[str] = ()) -> OpenedRows:
    """Open rows that are dicts, or tuples of values with these names; the first row decides."""
    rest = iter(rows)
    head = [*islice(rest, CHUNK)]
    wide = len(head[0]) if head and isinstance(head[0], (list, tuple)) else -1

    def row_of(row: Any) -> Any:
        tuples = isinstance(row, (list, tuple)) and len(row) == wide <= len(names)
        return dict(zip(names, row, strict=False)) if tuples else row if isinstance(row, Mapping) else None

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        every_row = chain(head, rest)
        for number, some in enumerate(iter(lambda: [*islice(every_row, CHUNK)], [])):
            found = [*map(row_of, some)]
            wrong = "is not like the first row: a dict, or a tuple of as many values"
            faults = {place: wrong for place, row in enumerate(found) if row is None}
            columns = [[(row or {}).get(name) for row in found] for name in wanted]
            rows = RowBatch(where, 0, {}, first=1 + number * CHUNK)
            yield value_batch(rows, wanted, columns, len(found), faults)

    holds = columns_of(filter(None, map(row_of, head)))
    return OpenedRows(where, "", [*holds], holds, batches)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, bool | None]:
    """Return the columns of rows, and what their first values hold: see `OpenedRows.holds`."""
    first: dict[str, Any] = {}
    for name, value in chain.from_iterable(row.items() for row in rows):
        if first.get(name) is None:
            first[name] = scalar(value)
    return {name: _holds(value) for name, value in first.items()}


def _holds(value: Any) -> bool | None:
    if value is None or isinstance(value, str):
        return False
    return True if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value) else None


def value_batch(
    empty: RowBatch, wanted: Mapping[str, str], columns: list[list[Any]], size: int, faults: dict[int, str]
) -> RowBatch:
    """Return columns of values as a batch; a value that cannot be in its column makes its row bad."""
    wrong = dict[int, str]()
    pairs = zip(wanted.items(), columns, strict=True)
    cells = {name: value_column(name, values, how, wrong) for (name, how), values in pairs}
    return empty._replace(size=size, cells=cells, faults=wrong | faults)


def value_column(name: str, values: Sequence[Any], wanted: str, faults: dict[int, str]) -> Any:
    """Return values as a column; those that cannot be in it are null there, and faults.

    wanted  TEXT: strings; VALUE: strings, numbers, dates; LIST: these or lists of them
    """
    with contextlib.suppress(pa.ArrowException, TypeError, ValueError, OverflowError):
        found = pa.array(values, pa.string() if wanted == TEXT else None, from_pandas=True)
        if not ODD.match(str(found.type)):
            return found
    cells = list[list[bytes]]()
    for place, value in enumerate(map(scalar, values)):
        parts = value if isinstance(value, LISTS) and wanted == LIST else [value]
        if any(isinstance(each, (Mapping, *LISTS)) for each in parts):
            faults.setdefault(place, f"{name} is {value!r:.60}, which is nested")
        elif wanted == TEXT and not isinstance(value, str | None):
            faults.setdefault(place, f"{name} is {value!r:.60} of type {type(value).__name__}, not text")
        words = [] if place in faults else map(spelled, parts)
        cells.append([encode_word(each) for each in words if each is not None])
    if wanted == LIST:
        return pa.array(cells, pa.large_list(pa.large_binary()))
    return pa.array([cell[0] if cell else None for cell in cells], pa.large_binary())
