"""What is asked of Arrow: its modules, types of columns, and batches cut by the size of their cells.

A few bytes on disk may be gigabytes of cells: a dictionary keeps a long string once for any number of rows,
and a string that repeats itself is compressed well. So batches are cut by the size of their decoded cells.
Arrow is imported when the first table is read.
"""

import functools
import importlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np


@functools.cache
def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it."""
    return importlib.import_module(module)


def holds_tokens(kind: Any) -> bool | None:
    """Return whether cells of an Arrow type are token lists (True), strings (False) or neither (None)."""
    if is_text(kind):
        return False if "string" in str(kind) else None
    return True if is_list(kind) and holds_tokens(kind.value_type) is False else None


def is_text(kind: Any) -> bool:
    """Return whether cells of an Arrow type, or those of its dictionary, are strings or bytes."""
    kind = kind.value_type if pyarrow().types.is_dictionary(kind) else kind
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")


def is_list(kind: Any) -> bool:
    """Return whether cells of an Arrow type are lists."""
    return "list" in str(kind).partition("<")[0]


def decoded_slices(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield record batches, cut so that the cells of each, taken from their dictionaries, have few bytes.

    That is at most `size` bytes, or one row.
    """
    for batch in batches:
        if batch.nbytes <= size and "dictionary" not in str(batch.schema.types):
            yield batch
            continue
        ends = np.cumsum(sum(map(_cell_bytes, batch.columns), np.zeros(len(batch), np.int64)))
        first = 0
        while first < len(batch):
            before = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, before + size, "right")))
            yield batch.slice(first, last - first)
            first = last


def _cell_bytes(cells: Any) -> Any:
    """Return about how many bytes each cell has after it was taken from its dictionary."""
    pa, compute = pyarrow(), pyarrow("pyarrow.compute")
    if pa.types.is_dictionary(cells.type):
        sizes = np.append(_cell_bytes(cells.dictionary), 0)
        ids = cells.indices.fill_null(len(sizes) - 1).to_numpy(zero_copy_only=False)
        return sizes[np.clip(ids, 0, len(sizes) - 1)]  # wrong ones are refused when the cells are taken
    if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
        return compute.binary_length(cells).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    if holds_tokens(cells.type):
        sizes = compute.list_value_length(cells).fill_null(0).to_numpy(zero_copy_only=False)
        ends, tokens = np.cumsum(sizes), _cell_bytes(cells.flatten())
        sums = np.concatenate([[0], np.cumsum(tokens)])
        return sums[ends] - sums[ends - sizes]
    return np.full(len(cells), cells.nbytes // max(len(cells), 1), np.int64)


def own_bytes(batch: Any) -> int:
    """Return the bytes of a batch without those of dictionaries, which have no rows of their own."""
    return sum(getattr(column, "indices", column).nbytes for column in batch.columns)
