"""Learned unigram noise: q follows the counts of the ids seen so far.

Every id starts with a count of one; `update` adds the ids of a batch. The expected counts of a batch come
from the counters before that batch, as in TensorFlow's `learned_unigram_candidate_sampler`: read
`probability`, draw, then update.

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
    """Counters of ids, and the distribution in proportion to them."""

    seen: Counts  # [words]

    def __init__(self, words: int) -> None:
        self.seen = np.ones(whole("words", words, 1, 2**31 - 1), np.int64)

    @property
    def probability(self) -> Doubles:
        """The probabilities of all ids by the current counters: [words]."""
        q: Doubles = self.seen / self.seen.sum()
        return q

    def update(self, ids: ArrayLike) -> None:
        """Count every occurrence of each id; ids may have any shape."""
        batch = np.asarray(ids).ravel()
        if batch.size == 0:
            return
        if batch.dtype.kind not in "iu":
            raise DataError(f"ids of type {batch.dtype}: must be whole numbers")
        low, high = int(batch.min()), int(batch.max())
        if low < 0 or high >= self.seen.size:
            raise DataError(f"id {low if low < 0 else high}: must be between 0 and {self.seen.size - 1}")
        np.add.at(self.seen, batch.astype(np.int64), 1)
