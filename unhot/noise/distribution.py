"""`Noise`: a distribution over ids, to draw from in Python.

    >>> from unhot.noise.rules import unigram
    >>> import numpy as np
    >>> noise = Noise(unigram(np.array([81, 16, 1]), power=0.75))
    >>> noise.probability * 36
    array([27.,  8.,  1.])
    >>> sorted(noise.draw(3, seed=7, unique=True).tolist())
    [0, 1, 2]
    >>> noise.expected_counts(2) * 18
    array([27.,  8.,  1.])

Draws depend on the seed alone: a loop that draws repeatedly must use a new seed each time.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhot.errors import DataError, whole
from unhot.kernels.jit import kernel
from unhot.kernels.rng import bits_at, stream_key
from unhot.noise.alias import alias_table, draw
from unhot.noise.distinct import DRAWS, draw_distinct
from unhot.noise.expected import check_distinct, expected_counts
from unhot.noise.rules import checked_weights
from unhot.types import Doubles, Ids, Words64

PATIENCE = 100  # tries for each distinct id before the race takes over (distinct.py)
ROUNDING = 1e-6  # how far the sum of probabilities may be from one, because of float32


@dataclass(frozen=True, eq=False)
class Noise:
    """A distribution over the ids 0 .. V - 1, given by their probabilities."""

    probability: Doubles  # [vocabulary], read-only

    def __post_init__(self) -> None:
        """Check the probabilities and keep a copy that sums to one."""
        q = checked_weights("probabilities", self.probability)
        total = float(q.sum())
        if not abs(total - 1.0) <= ROUNDING:
            raise DataError(
                f"{q.size:,} probabilities that sum to {total:g}: must sum to 1; divide them by their sum"
            )
        q = q / total
        q.flags.writeable = False
        object.__setattr__(self, "probability", q)

    def draw(self, k: int, *, seed: int, unique: bool = False) -> Ids:
        """Draw k ids; the same seed gives the same ids.

        With unique=True, draw until k ids are distinct, in the order of their first appearance. If that would
        take very long (more than 100 tries for each id, or k is the number of all possible ids), a race of
        exponential times gives the missing ids, with exactly the same distribution (see distinct.py).
        """
        return self.draw_counted(k, seed=seed, unique=unique)[0]

    def draw_counted(self, k: int, *, seed: int, unique: bool = False) -> tuple[Ids, int]:
        """Draw k ids and return them with the number of tries: k, or more if repeated ids were rejected."""
        seed = whole("seed", seed, 0, 2**64 - 1)
        if unique:
            k = check_distinct(k, self._possible)
            return draw_distinct(
                self.probability, self._table, k, seed, PATIENCE * k if k < self._possible else 0
            )
        ids = np.empty(whole("k", k, 1), np.int32)
        _draw_all(self._table, stream_key(seed, 0, DRAWS), ids)
        return ids, ids.size

    def expected_counts(self, k: int, *, unique: bool = False) -> Doubles:
        """Return how often each id is expected among k draws: [vocabulary]."""
        return expected_counts(self.probability, k, unique=unique)

    @cached_property
    def _table(self) -> Words64:
        return alias_table(self.probability)

    @cached_property
    def _possible(self) -> int:
        """The number of ids with a probability above zero."""
        return int(np.count_nonzero(self.probability))


@kernel
def _draw_all(table: Any, key: Any, ids: Any) -> None:
    for i in range(ids.size):
        ids[i] = draw(table, bits_at(key, i))
