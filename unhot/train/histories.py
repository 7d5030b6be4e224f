"""Histories of a log as batches: the events before each target, and the targets.

A causal tower predicts the item after every event of a piece of a line:

    events ids[a : b]  ->  targets ids[a + 1 : b + 1]        pieces of at most `length` events cover each line

Other towers predict the last one only. Each line gives the same number of examples, whose targets are drawn
anew in each epoch, so that active users do not decide alone; or, with examples=0, one for each of its events.

    events ids[max(begin, t - length) : t]  ->  target ids[t]

Batches hold histories of about the same length, in a random order. They are padded to the longest.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.rng import key_from, stream_key
from unhot.lm.symbols import IGNORED
from unhot.train.schedule import Chunk
from unhot.types import Doubles, Floats, Ids, Starts

DRAWS, ORDER = 19, 18  # what random numbers are for; of other processes, the numbers behind DRAWS
CHUNK = 8  # batches of a chunk: a training reports and may stop behind each chunk


class EventLog(NamedTuple):
    """The events of lines, and what towers read of each."""

    ids: Ids  # [events]
    starts: Starts  # [lines + 1]
    gaps: Floats | None = None  # [events] minutes since the event before
    rows: Ids | None = None  # [events, features] the rows of the values of features, -1: none
    weights: Floats | None = None  # [events, features]
    ages: Floats | None = None  # [events] how long before the end of the log, as a share of its time

    def padded(self, begins: Starts, sizes: Starts) -> tuple[Any, ...]:
        """Return some events of each history, padded at the end: items, gaps, rows and weights.

        Padding has neither an item nor a row: -1.
        """
        steps = np.arange(int(sizes.max(initial=1)))
        there = steps < sizes[:, None]
        places = np.where(there, begins[:, None] + steps, 0)
        items = np.where(there, _at(self.ids, places), -1).astype(np.int64)
        rows = None if self.rows is None else np.where(there[..., None], _at(self.rows, places), -1)
        return items, _at(self.gaps, places), rows, _at(self.weights, places)


def _at(array: Any, places: Starts) -> Any:
    """Return the rows at some places; zeros if there are no rows, and None if there is no array."""
    if array is None or len(array):
        return None if array is None else array[places]
    return np.zeros((*places.shape, *array.shape[1:]), array.dtype)


class HistoryBatches:
    """The examples of a log in batches."""

    chunk_steps, width = CHUNK, 0

    def __init__(
        self,
        events: EventLog,
        *,
        length: int,
        batch: int,
        examples: int | None,
        seed: int,
        process: tuple[int, int] = (0, 1),
    ) -> None:
        """Take the events.

        examples  of each line in an epoch; 0: one for each event; None: pieces of lines, for causal towers
        process   the number of this process, and how many share each batch
        """
        self._events, self._length = events, length
        self._seed = seed
        self._batch, self._examples = batch, examples
        self.part, self.parts = process
        self._sizes = np.maximum(np.diff(events.starts) - 1, 0)  # targets of each line
        self._lines = np.flatnonzero(self._sizes)
        each = self._sizes[self._lines]
        self._of_line = -(-each // length) if examples is None else each if not examples else None
        self.size = self._lines.size * (examples or 0) if self._of_line is None else int(self._of_line.sum())
        self.words = int(each.sum())
        self.chunks = [
            Chunk(number, first) for number, first in enumerate(range(0, self.size, CHUNK * batch))
        ]
        self._drawn: tuple[int, Starts, Starts, Starts] | None = None

    def draw_key(self, epoch: int, chunk: Chunk) -> int:
        """Return the seed of the random numbers of a chunk."""
        return int(key_from(stream_key(self._seed, epoch, DRAWS + self.part), chunk.number)) % 2**63

    def batches(self, epoch: int, chunk: Chunk) -> Iterator[tuple[tuple[Any, ...], int]]:
        """Yield the arrays of an `EventBatch` and the targets, and the number of targets that count."""
        begins, ends, order = self._examples_of(epoch)
        first = chunk.done
        for at in range(first, min(first + CHUNK * self._batch, self.size), self._batch):
            some = order[at : at + self._batch]
            if some.size < self.parts:  # each process takes as many steps as the others
                some = np.resize(some, self.parts)
            some = some[self.part :: self.parts]
            yield self._arrays(begins[some], ends[some])

    def _arrays(self, begins: Starts, ends: Starts) -> tuple[tuple[Any, ...], int]:
        """Return the arrays of some examples: events from `begins` on, and their targets up to `ends`."""
        events, sizes = self._events, ends - begins
        inputs = events.padded(begins, sizes)
        if self._examples is None:
            there = inputs[0] >= 0
            places = np.where(there, begins[:, None] + 1 + np.arange(there.shape[1]), 0)
        else:
            there, places = np.ones((ends.size, 1), bool), ends[:, None]
        targets = np.where(there, events.ids[places], IGNORED).astype(np.int64)
        ages = None if events.ages is None else events.ages[places]
        return (*inputs, ages, targets), int(there.sum())

    def _examples_of(self, epoch: int) -> tuple[Starts, Starts, Starts]:
        """Return where the events of each example begin and end, and the order of examples in an epoch."""
        if self._drawn is None or self._drawn[0] != epoch:
            rng = np.random.default_rng(int(stream_key(self._seed, epoch, ORDER)))
            begins, ends = self._ranges(rng)
            order = rng.permutation(begins.size)
            order = order[np.argsort((ends - begins)[order], kind="stable")]
            whole = order[: order.size // self._batch * self._batch].reshape(-1, self._batch)
            rest = order[whole.size :]
            order = np.concatenate([rng.permutation(whole).reshape(-1), rest])
            self._drawn = epoch, begins, ends, order
        return self._drawn[1:]

    def _ranges(self, rng: np.random.Generator) -> tuple[Starts, Starts]:
        """Return where the events of each example begin and end."""
        lines, starts = self._lines, self._events.starts
        if self._of_line is None:  # the same number of each line
            owner = np.repeat(lines, self._examples or 0)
            place = rng.random(owner.size) * self._sizes[owner]
            ends = starts[owner] + 1 + place.astype(np.int64)
            return np.maximum(starts[owner], ends - self._length), ends
        owner = np.repeat(lines, self._of_line)
        number = np.arange(owner.size) - np.repeat(np.cumsum(self._of_line) - self._of_line, self._of_line)
        if self._examples is None:  # pieces from the end of each line backwards
            ends = starts[owner] + self._sizes[owner] - number * self._length
        else:
            ends = starts[owner] + 1 + number
        return np.maximum(starts[owner], ends - self._length), ends


def gaps_of(times: Doubles, starts: Starts) -> Floats | None:
    """Return the minutes since the event before, 0 for the first of each line and where it is not known."""
    if not times.size:
        return None
    gaps = np.nan_to_num(np.diff(times, prepend=times[:1]) / 60)
    gaps[starts[:-1][np.diff(starts) > 0]] = 0
    return gaps.astype(np.float32)


def ages_of(times: Doubles) -> Floats | None:
    """Return how long before the end of the log events were, as a share of the time of the log."""
    if not times.size:
        return None
    ages: Floats = ((times.max() - times) / max(np.ptp(times), 1e-9)).astype(np.float32)
    return ages
