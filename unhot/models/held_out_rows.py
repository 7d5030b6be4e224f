"""A random sample of a stream of labelled rows, which a classifier does not learn from.

Each row draws a number from 0 to 1. The rows with the smallest numbers are held out: those below `share`, at
most MOST of them, fewer if they are long. So any row is as likely to be held out as any other, and what is in
memory is bounded.
"""

import heapq
import random
from collections.abc import Iterable, Iterator

Row = tuple[str, list[str]]  # a text and its labels

FEWEST, MOST = 200, 2000  # rows that are held out; if there would be fewer, none is
MOST_CHARACTERS = 1 << 24  # of all texts that are held out, and of those that wait


class HeldOutRows:
    """Splits rows into those to learn from and a sample."""

    def __init__(self, rows: Iterable[Row], share: float, seed: int) -> None:
        """Take the rows, and the share of them to hold out."""
        self._rows, self._share = rows, share
        self._random = random.Random(seed)
        self.sample: list[Row] = []  # the rows that are held out, once the others were read

    def others(self) -> Iterator[Row]:
        """Yield the rows to learn from, in their order as far as possible; all if the sample would be small.

        A row whose label no other row has is never held out, so that every label is learned.
        """
        learned: set[str] = set()
        held: list[tuple[float, int, Row]] = []  # a heap: the largest drawn number is first
        for row in self._split(held):
            learned.update(row[1])
            yield row
        for _, _, row in sorted(held, key=lambda entry: entry[1]):
            if learned.issuperset(row[1]):
                self.sample.append(row)
            else:
                learned.update(row[1])
                yield row
        if len(self.sample) < FEWEST or len(learned) < 2:
            yield from self.sample
            self.sample = []

    def _split(self, held: list[tuple[float, int, Row]]) -> Iterator[Row]:
        """Yield rows, and put others into the heap `held`, if they become at least FEWEST.

        Until that is known, rows wait, unless they become too large.
        """
        waiting: list[Row] | None = []
        waited = kept = 0  # characters
        for number, row in enumerate(self._rows):
            drawn = self._random.random()
            others = [row] if drawn >= self._share else []
            if drawn < self._share:
                heapq.heappush(held, (-drawn, number, row))
                kept += len(row[0])
            while len(held) > MOST or kept > MOST_CHARACTERS:
                others.append(heapq.heappop(held)[2])
                kept -= len(others[-1][0])
            if waiting is None:
                yield from others
                continue
            waiting.append(row)
            waited += len(row[0])
            if len(held) == FEWEST or waited > MOST_CHARACTERS:
                there = {number for _, number, _ in held}
                yield from (row for number, row in enumerate(waiting) if number not in there)
                waiting = None
        if waiting is not None:
            held.clear()
            yield from waiting
