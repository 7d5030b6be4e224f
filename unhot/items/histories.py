"""What users did so far, and how much each of their items counts: the newest most.

w_a = decay^a    for the item of age a, where the newest item has age 0; items older than `last` count
                 nothing (last=0: all items count)
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from unhot.logs.splitting import Cases
from unhot.types import Floats, Ids, Starts


class Histories(NamedTuple):
    """Lines of items, oldest first: line i is ids[starts[i] : starts[i + 1]]."""

    ids: Ids
    starts: Starts  # [lines + 1]
    users: Ids  # [lines] the number of the user among those that a model knows, -1: none

    def __len__(self) -> int:
        """The number of lines."""
        return self.starts.size - 1


class WeightedItems(NamedTuple):
    """Lines of items with weights."""

    ids: Ids
    starts: Starts
    weights: Floats


def histories_of(lines: Sequence[Sequence[int]], users: Sequence[int] | None = None) -> Histories:
    """Return lists of ids as histories."""
    starts = np.cumsum([0, *map(len, lines)], dtype=np.int64)
    ids = np.array([item for line in lines for item in line], np.int32)
    return Histories(
        ids, starts, np.full(len(lines), -1, np.int32) if users is None else np.array(users, np.int32)
    )


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
        ends = np.cumsum(sizes)
        places = np.arange(int(ends[-1])) + np.repeat(begins - (ends - sizes), sizes)
        ids = known[cases.ids[places]]
        starts = np.append(0, np.cumsum(ids >= 0))[np.append(0, ends)]
        yield Histories(ids[ids >= 0], starts, users[cases.users[part]]), known[cases.targets[part]], part


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
