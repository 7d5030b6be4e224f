"""What is asked of Arrow: its modules, types of columns, and batches cut by the size of their cells.

Arrow is imported when the first table is read.
"""

import functools
import importlib
from collections.abc import Iterable, Iterator
from typing import Any


@functools.cache
def pyarrow(module: str = "pyarrow") -> Any:
    """Import pyarrow or a module of it."""
    return importlib.import_module(module)


class Unloaded:
    """A module that is imported when it is first used."""

    def __init__(self, name: str) -> None:
        """Take the name of the module."""
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(pyarrow(self._name), name)


pa: Any = Unloaded("pyarrow")
pc: Any = Unloaded("pyarrow.compute")
ipc: Any = Unloaded("pyarrow.ipc")
parquet: Any = Unloaded("pyarrow.parquet")
fs: Any = Unloaded("pyarrow.fs")


def holds_tokens(kind: Any) -> bool | None:
    """Return whether cells of an Arrow type are token lists (True), strings (False) or neither (None)."""
    if is_text(kind):
        return False if "string" in str(kind) else None
    return True if is_list(kind) and holds_tokens(kind.value_type) is False else None


def is_text(kind: Any) -> bool:
    """Return whether cells of an Arrow type, or those of its dictionary, are strings or bytes."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return str(kind).removeprefix("large_").removesuffix("_view") in ("string", "binary")


def is_list(kind: Any) -> bool:
    """Return whether cells of an Arrow type are lists."""
    return "list" in str(kind).partition("<")[0]


def sized(batches: Iterable[Any], size: int, rows: int) -> Iterator[Any]:
    """Yield record batches as others of about `size` decoded bytes: small ones are joined, large ones cut.

    A few bytes on disk may be gigabytes of cells: a dictionary keeps a long string once for any number of
    rows, and a string that repeats itself is compressed well.

    rows   of a batch at most, if it is cut
    """
    held, much = list[Any](), 0
    for batch in batches:
        more, half = decoded_bytes(batch), len(batch) // 2
        if held and much + more > size:
            yield pa.concat_batches(held)
            held, much = [], 0
        if half and (more > size or len(batch) > rows):
            yield from sized([batch[:half]], size, rows)
            yield from sized([batch[half:]], size, rows)
        else:
            held.append(batch)
            much += more
    if held:
        yield pa.concat_batches(held)


def decoded_bytes(batch: Any) -> int:
    """Return about how many bytes the cells of a batch have after they were taken from dictionaries."""
    return sum(map(cell_bytes, batch.columns))


def cell_bytes(cells: Any) -> int:
    """Return the same for a column."""
    if is_list(cells.type):
        return cell_bytes(cells.flatten()) + 4 * len(cells)
    if not pa.types.is_dictionary(cells.type) or not is_text(cells.type):
        return int(cells.nbytes)
    ids = cells.indices.drop_null()
    sizes = pc.binary_length(cells.dictionary.cast(pa.large_binary()))
    within = pc.and_(pc.greater_equal(ids, 0), pc.less(ids, len(sizes)))  # others are refused later
    return pc.sum(sizes.take(ids.filter(within))).as_py() or 0
