"""What users did so far, how much each of their items counts (the newest most), and scores by rows of items.

w_a = decay^a    for the item of age a, where the newest item has age 0; items older than `last` count
                 nothing (last=0: all items count)
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from unhot.corpus.cells import Cells
from unhot.errors import FormatError
from unhot.kernels.jit import kernel
from unhot.largest import largest
from unhot.logs.features import EventColumns
from unhot.logs.splitting import Cases
from unhot.types import Doubles, Floats, Ids, Starts
from unhot.vectors.formats.directory import typed_arrays


class Histories(NamedTuple):
    """Lines of events, oldest first: line i has the items ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: Starts  # [lines + 1]
    users: Ids  # [lines] the number of the user among those that a model knows, -1: none
    columns: EventColumns = EventColumns()

    def __len__(self) -> int:
        """The number of lines."""
        return self.starts.size - 1

    def take(self, lines: Ids | Starts) -> "Histories":
        """Return some lines; -1: an empty one."""
        sizes = np.append(np.diff(self.starts), 0)[lines]
        places = places_of(self.starts[lines], sizes)
        return events_at(self.columns, self.ids[places], places, sizes, np.append(self.users, -1)[lines])


class WeightedItems(NamedTuple):
    """Lines of items with weights."""

    ids: Ids
    starts: Starts
    weights: Floats


def histories_of(lines: Sequence[Sequence[int]]) -> Histories:
    """Return lists of ids as histories."""
    starts = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    ids = np.array([item for line in lines for item in line], np.int32)
    return Histories(ids, starts, np.full(len(lines), -1, np.int32))


def events_at(columns: EventColumns, ids: Ids, places: Starts, sizes: Starts, users: Ids) -> Histories:
    """Return the events at some places of a log as lines of these sizes.

    ids   [places] the items in the ids of a model; an event with the id -1 is left out
    """
    kept = ids >= 0
    starts = np.append(0, np.cumsum(kept))[np.append(0, np.cumsum(sizes))]
    return Histories(ids[kept], starts, users, columns.at(places[kept]))


def events_of_users(columns: EventColumns, ids: Ids, starts: Starts, user_of: Ids, users: int) -> Histories:
    """Return the events of a log with a line for each user: all lines of the user, one after another.

    ids   [events] the items in the ids of a model; an event with the id -1 is left out
    """
    lines = np.argsort(user_of, kind="stable")[np.count_nonzero(user_of < 0) :]
    each = np.diff(starts)[lines]
    places = places_of(starts[lines], each)
    sizes = np.bincount(user_of[lines], each, users).astype(np.int64)
    return events_at(columns, ids[places], places, sizes, np.full(users, -1, np.int32))


def are_lines(ids: Any, starts: Any, lines: int, words: int, *, filled: bool = False) -> bool:
    """Return whether so many lines follow each other in ids, which are all below `words`.

    filled   whether each line must have an id
    """
    ends = starts.size == lines + 1 and starts[0] == 0 and starts[-1] == ids.size
    rising = starts[1:] > starts[:-1] if filled else starts[1:] >= starts[:-1]
    return bool(ends and rising.all() and (not ids.size or 0 <= ids.min() <= ids.max() < words))


def case_blocks(cases: Cases, known: Ids, users: Ids, size: int) -> Iterator[tuple[Histories, Ids, slice]]:
    """Yield the histories and the targets of some cases at a time, in the ids of a model.

    known  [items of the log] their ids in the model, -1: the model does not know the item
    users  [users of the log] likewise; the entry behind the last is -1
    """
    for first in range(0, cases.ends.size, size):
        part = slice(first, min(first + size, cases.ends.size))
        begins, sizes = cases.begins[part], cases.ends[part] - cases.begins[part]
        places = places_of(begins, sizes)
        found = events_at(cases.columns, known[cases.ids[places]], places, sizes, users[cases.users[part]])
        yield found, known[cases.targets[part]], part


def places_of(begins: Starts, sizes: Starts) -> Starts:
    """Return the places of some ranges, one range after another.

    >>> places_of(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    found: Starts = np.arange(int(sizes.sum())) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
    return found


def newest(histories: Histories, last: int, decay: float) -> WeightedItems:
    """Return the last items of each line with their weights.

    >>> found = newest(histories_of([[7, 8, 9]]), last=2, decay=0.5)
    >>> found.ids.tolist(), found.weights.tolist()
    ([8, 9], [0.5, 1.0])
    """
    sizes = np.diff(histories.starts)
    kept = np.minimum(sizes, last) if last else sizes
    ends = np.cumsum(kept)
    ages = np.repeat(ends, kept) - 1 - np.arange(int(ends[-1]) if ends.size else 0)
    places = np.repeat(histories.starts[1:], kept) - 1 - ages
    weights = np.power(decay, ages.astype(np.float64)).astype(np.float32)
    return WeightedItems(histories.ids[places], np.append(0, ends), weights)


class ItemRows(NamedTuple):
    """A sparse matrix M of items: row i has the columns[starts[i] : starts[i + 1]] with their values.

    A history with weights w gives item j the score sum over its items i of w_i M[i, j].
    """

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
