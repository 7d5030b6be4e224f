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

**Without replacement**, draws from q go on until k ids are distinct, in the order of their first appearance.
Rejecting repeated ids is quick as long as few draws are repeated, but takes forever if an id of tiny q is
among the last. So after `limit` tries a race finds the ids that are still missing: id w arrives at the time
E(w) / q(w), E exponential with mean 1, and the first arrivals are taken. The result has *exactly* the same
distribution. In both methods the next new id is w with probability q(w) / (sum of q over the ids not seen),
whatever came before. For the race this holds because each of several exponential times is the minimum with a
probability proportional to its rate, and the others are memoryless. So one may switch from draws to the race
after any try.

The race does not say how many tries rejection would have taken. That number is independent of which ids came:
between two new ids it is geometric, with the unseen mass as the chance of success. So it is drawn separately.

References: Efraimidis & Spirakis, Weighted random sampling with a reservoir, 2006; Yellott 1977 (the same
race in logs: Gumbel-top-k).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from unhot.errors import DataError, whole
from unhot.kernels.jit import kernel
from unhot.kernels.rng import bits_at, mix, stream_key
from unhot.largest import largest
from unhot.noise.alias import alias_table, draw
from unhot.noise.expected import check_distinct, expected_counts
from unhot.noise.rules import checked_weights
from unhot.types import Doubles, Ids, Words64

PATIENCE = 100  # tries for each distinct id before the race takes over
ROUNDING = 1e-6  # how far the sum of probabilities may be from one, because of float32
# the numbers of the random streams of a seed
DRAWS = 0
RACE = 1
WAITS = 2
EMPTY = -1  # a slot without an id


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
        exponential times gives the missing ids, with exactly the same distribution (see above).
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


def draw_distinct(q: Doubles, table: Words64, k: int, seed: int, limit: int) -> tuple[Ids, int]:
    """Draw k distinct ids, and return them with the number of tries; `table` is the alias table of q.

    At least k ids must have q > 0.
    """
    ids = np.empty(k, np.int32)
    slots = np.full(1 << (2 * k - 1).bit_length(), EMPTY, np.int32)  # a power of two >= 2 k
    found, tries = _draw_new(table, stream_key(seed, 0, DRAWS), limit, slots, ids)
    if found == k:
        return ids, int(tries)
    unseen = q.copy()
    unseen[ids[:found]] = 0.0
    ids[found:] = _race(unseen, k - found, _uniforms(seed, RACE, q.size))
    return ids, int(tries) + _waits(unseen, ids[found:], _uniforms(seed, WAITS, k - found))


@kernel
def _draw_new(table: Any, key: Any, limit: Any, slots: Any, ids: Any) -> Any:
    """Draw at most `limit` times and keep new ids; `slots` is a hash table of the ids found so far."""
    last = slots.size - 1
    found, tries = 0, 0
    while found < ids.size and tries < limit:
        word = draw(table, bits_at(key, tries))
        tries += 1
        slot = np.int64(mix(np.uint64(word)) & np.uint64(last))
        while slots[slot] != EMPTY and slots[slot] != word:
            slot = (slot + 1) & last
        if slots[slot] == EMPTY:
            slots[slot] = word
            ids[found] = word
            found += 1
    return found, tries


@kernel
def _fill_bits(key: Any, bits: Any) -> None:
    for i in range(bits.size):
        bits[i] = bits_at(key, i)


def _uniforms(seed: int, stream: int, size: int) -> Doubles:
    """Return random numbers in the open interval (0, 1), from 64 bits so that small ones are fine-grained."""
    bits = np.empty(size, np.uint64)
    _fill_bits(stream_key(seed, 0, stream), bits)
    return np.asarray(np.minimum((bits + 0.5) * 2.0**-64, 1.0 - 2.0**-53))


def _race(q: Doubles, k: int, u: Doubles) -> Ids:
    """Return the first k ids to arrive, in order. Times are logs, because E / q may overflow float64."""
    log_q = np.log(q, out=np.full(q.size, -np.inf), where=q > 0)
    log_time = np.log(-np.log1p(-u)) - log_q
    return largest(-log_time, k).astype(np.int32)


def _waits(q: Doubles, ids: Ids, u: Doubles) -> int:
    """Draw the number of tries that finding these ids in this order takes; q is 0 for ids seen before."""
    rest = q.copy()
    rest[ids] = 0.0
    # the unseen mass before each id; summed from the last id on, so nothing cancels
    unseen = rest.sum() + np.cumsum(q[ids][::-1])[::-1]
    with np.errstate(over="ignore"):  # for a tiny q the wait may overflow float64
        waits = np.log(u) / np.log1p(-np.minimum(unseen, 1.0 - 2.0**-53))
    return sum(1 + int(min(wait, 1e300)) for wait in waits.tolist())
