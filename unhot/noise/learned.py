"""Learned unigram noise: q follows the ids that were seen so far.

Every id starts with one count; `update` adds those of a batch. The expected counts of a batch come from the
counters before it, as in TensorFlow's `learned_unigram_candidate_sampler`: take `probability`, draw, then
update.

    >>> import numpy as np
    >>> noise = LearnedUnigram(4)
    >>> noise.update([3, 3, 1])
    >>> noise.probability * 7
    array([1., 2., 1., 3.])
"""

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, whole
from unhot.types import Counts, Doubles


class LearnedUnigram:
    """Counters of ids, and the distribution they stand for."""

    seen: Counts  # [words]

    def __init__(self, words: int) -> None:
        self.seen = np.ones(whole("words", words, 1, 2**31 - 1), np.int64)

    @property
    def probability(self) -> Doubles:
        """Probabilities of all ids, by the counters as they are now: [words]."""
        q: Doubles = self.seen / self.seen.sum()
        return q

    def update(self, ids: ArrayLike) -> None:
        """Count every occurrence; ids may have any shape."""
        batch = np.asarray(ids).ravel()
        if batch.size == 0:
            return
        if batch.dtype.kind not in "iu":
            raise DataError(f"ids of type {batch.dtype}: must be whole numbers")
        low, high = int(batch.min()), int(batch.max())
        if low < 0 or high >= self.seen.size:
            raise DataError(f"id {low if low < 0 else high}: must be between 0 and {self.seen.size - 1}")
        np.add.at(self.seen, batch.astype(np.int64), 1)
