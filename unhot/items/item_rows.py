"""Scores of items by rows of a sparse matrix: score_j = sum over the items i of a history of w_i M[i, j]."""

from typing import Any, NamedTuple, Self

import numpy as np

from unhot.corpus.cells import Cells
from unhot.errors import FormatError
from unhot.items.histories import WeightedItems, are_lines
from unhot.kernels.jit import kernel
from unhot.largest import largest
from unhot.types import Doubles, Floats, Ids, Starts
from unhot.vectors.formats.directory import typed_arrays


class ItemRows(NamedTuple):
    """A sparse matrix of items: row i has the columns[starts[i] : starts[i + 1]] with their values."""

    starts: Starts
    columns: Ids
    values: Floats

    def scores(self, items: WeightedItems) -> Floats:
        """Return the scores of all items for each line."""
        out = np.zeros((items.starts.size - 1, self.starts.size - 1), np.float32)
        add_rows(items.ids, items.starts, items.weights, self.starts, self.columns, self.values, out)
        return out

    def tensors(self) -> dict[str, Any]:
        """Return the arrays by name."""
        return self._asdict()

    @classmethod
    def of_tensors(cls, tensors: Any, rows: int, columns: int | None = None) -> Self:
        """Check the arrays of a saved model: kernels do not check them again."""
        kinds = {"starts": (np.int64, 1), "columns": (np.int32, 1), "values": (np.float32, 1)}
        damaged = "the rows of a recommender: an array is missing or has another type; it is damaged"
        starts, ids, values = typed_arrays(tensors, kinds, damaged)
        if values.size != ids.size or not are_lines(ids, starts, rows, columns or rows):
            raise FormatError("the rows of a recommender do not fit its items: the file is damaged")
        return cls(starts, ids, values)


def rows_of_cells(cells: Cells, values: Doubles, most: int = 0) -> ItemRows:
    """Return cells with other values; with `most`, only that many of a row, the largest, ties by column."""
    starts, columns = np.array(cells.starts), np.array(cells.columns)
    small = values.astype(np.float32)
    if most and cells.starts.size > 1 and np.diff(starts).max(initial=0) > most:
        kept = np.zeros(columns.size, bool)
        for i in np.flatnonzero(np.diff(starts) > most).tolist():
            row = slice(starts[i], starts[i + 1])
            kept[row.start + largest(small[row], most)] = True
        kept |= np.repeat(np.diff(starts) <= most, np.diff(starts))
        starts = np.append(0, np.cumsum(kept))[starts]
        columns, small = columns[kept], small[kept]
    return ItemRows(starts, columns, small)


@kernel
def add_rows(
    ids: Any, starts: Any, weights: Any, row_starts: Any, columns: Any, values: Any, out: Any
) -> None:
    """Add the weighted rows of the items of each line to a line of `out`."""
    for line in range(starts.size - 1):
        for at in range(starts[line], starts[line + 1]):
            item, weight = ids[at], weights[at]
            for cell in range(row_starts[item], row_starts[item + 1]):
                out[line, columns[cell]] += weight * values[cell]
