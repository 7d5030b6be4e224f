"""Rows of Python: dicts, tuples, and columns of their values."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from unhot.rows.arrow import pyarrow, record_batch
from unhot.rows.batches import LIST, TEXT, OpenedRows, RowBatch
from unhot.rows.values import LISTS, scalar, spelled
from unhot.vocab.vocabulary import encode_word

CHUNK = 1 << 12  # rows that are read at a time


def open_objects(rows: Iterable[Any], where: str, names: Sequence[str] = ()) -> OpenedRows:
    """Open rows that are dicts, or tuples of values with these names; the first rows decide."""
    rest = iter(rows)
    head = [*islice(rest, CHUNK)]
    wide = len(head[0]) if head and isinstance(head[0], (list, tuple)) else -1

    def dict_of(row: Any) -> Any:
        tuples = isinstance(row, (list, tuple)) and len(row) == wide <= len(names)
        return dict(zip(names, row, strict=False)) if tuples else row

    first = [*map(dict_of, head)]
    holds = columns_of(row for row in first if isinstance(row, Mapping))

    def batches(wanted: Mapping[str, str], every: bool = False) -> Iterator[RowBatch]:
        before, some = 1, first
        while some:
            wrong = "is not like the first row: a dict, or a tuple of as many values"
            faults = {place: wrong for place, row in enumerate(some) if not isinstance(row, Mapping)}
            found = [row if isinstance(row, Mapping) else {} for row in some]
            yield dict_batch(RowBatch(where, None, first=before), wanted, found, faults)
            before, some = before + len(some), [*map(dict_of, islice(rest, CHUNK))]

    return OpenedRows(where, "", [*holds], holds, batches)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, bool | None]:
    """Return the columns of rows, and what their first values hold."""
    first: dict[str, Any] = {}
    for name, value in chain.from_iterable(row.items() for row in rows):
        if first.get(name) is None:
            first[name] = scalar(value)
    return {name: _holds(value) for name, value in first.items()}


def _holds(value: object) -> bool | None:
    if value is None or isinstance(value, str):
        return False
    return True if isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value) else None


def dict_batch(
    empty: RowBatch, wanted: Mapping[str, str], rows: Sequence[Mapping[str, Any]], faults: dict[int, str]
) -> RowBatch:
    """Return rows that are dicts, of which some are bad, as a batch."""
    return value_batch(empty, wanted, [[row.get(name) for row in rows] for name in wanted], len(rows), faults)


def value_batch(
    empty: RowBatch, wanted: Mapping[str, str], columns: list[list[Any]], size: int, faults: dict[int, str]
) -> RowBatch:
    """Return columns of values as a batch; a value that cannot be in its column makes its row bad."""
    arrays, wrong = [], dict[int, str]()
    for (name, how), values in zip(wanted.items(), columns, strict=True):
        arrays.append(value_column(name, values, how, wrong))
    return empty._replace(cells=record_batch(arrays, wanted, size), faults=wrong | faults)


def value_column(name: str, values: Sequence[Any], wanted: str, faults: dict[int, str]) -> Any:
    """Return values as a column; those that cannot be in it are null there, and faults.

    wanted  TEXT: strings; VALUE: strings, numbers, dates; LIST: these or lists of them
    """
    arrow = pyarrow()
    with contextlib.suppress(arrow.ArrowException, TypeError, ValueError, OverflowError):
        found = arrow.array(values, arrow.string() if wanted == TEXT else None, from_pandas=True)
        if wanted == TEXT or _is_plain(found.type):
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
        return arrow.array(cells, arrow.large_list(arrow.large_binary()))
    return arrow.array([cell[0] if cell else None for cell in cells], arrow.large_binary())


def _is_plain(kind: Any) -> bool:
    """Return whether Arrow spells values of a type as unhot does."""
    types = pyarrow("pyarrow.types")
    tests = (types.is_string, types.is_integer, types.is_floating, types.is_temporal, types.is_null)
    return any(test(kind) for test in tests)
