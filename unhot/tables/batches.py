"""Batches of rows, whatever their source is, and which of their columns is the text and which the labels."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from unhot.corpus.reading.arrow import choose_column
from unhot.errors import DataError

GOAL = 1 << 20  # about how many bytes of text a batch has
MOST = 1 << 12  # rows of a batch of a table
LABEL_NAMES = ("label", "labels")


class RowBatch(NamedTuple):
    """Some rows of a table."""

    where: str  # the file or the object, for errors
    columns: dict[str, bool | None]  # in their order; what they hold, see `choose_column`
    cells: Callable[[str], list[Any]]  # name -> the cells of a column; None is null
    rows: Sequence[Mapping[str, Any]] | None = (
        None  # if the rows are dicts, which may have columns of their own
    )
    kind: str = ""  # of the file they come from
    raw: Any = None  # the rows in the form that files of this kind have, to be copied

    def names(self) -> list[str]:
        """Return the columns to be kept in a copy."""
        return list(self.columns if self.rows is None else dict(*self.rows[:1]))

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows as dicts."""
        if self.rows is not None:
            return self.rows
        rows = zip(*map(self.cells, self.columns), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


class OpenedTable(NamedTuple):
    """A file that is being read."""

    batches: Iterator[RowBatch]
    progress: Callable[[], tuple[int, int | None]]  # bytes on disk that were read, and their total if known


# (batches with their new columns, names of these) -> the bytes of a file
Writer = Callable[[Iterator[tuple[RowBatch, list[list[Any]]]], list[str]], Iterator[bytes]]


def chosen_text(batch: RowBatch, asked: str | None, apart: str | None = None) -> str:
    """Choose the column of the text, which is not the column `apart`; see `choose_column`."""
    able = {name: tokens for name, tokens in batch.columns.items() if name != apart}
    column = choose_column(able, asked, batch.where)
    if column.tokens:
        raise DataError(
            f"{batch.where}: column {column.name!r} holds lists of tokens: give a column of strings"
        )
    return column.name


def chosen_label(batch: RowBatch, asked: str | None) -> str:
    """Choose the column of the labels: the one asked for, else `label`, else `labels`."""
    wanted = LABEL_NAMES if asked is None else (asked,)
    found = next((name for name in wanted if name in batch.columns), None)
    if found is None:
        raise DataError(
            f"{batch.where}: there is no column {' or '.join(wanted)}: name the one of the labels "
            f"(label_column=, or --label-column); the columns are {', '.join(batch.columns) or 'none'}"
        )
    return found


def unique(names: Sequence[str], where: str) -> Sequence[str]:
    """Return the names of columns; raise a `DataError` if one occurs twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"{where}: several columns are called {twice[0]!r}: rename all but one of them")
    return names
