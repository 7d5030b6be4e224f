"""The balanced tree: every path has floor(log2 V) or ceil(log2 V) steps.

The leaves are the words in the order of their ids. The nodes form a heap: node i has the children 2i + 1 and
2i + 2, and the positions from V - 1 on are the leaves. The heap is mirrored, so that the lower ids, which are
the more frequent words, get the shorter paths.
"""

import numpy as np
from numpy.typing import ArrayLike

from unhot.tree.paths import Paths, checked_counts, from_children


def balanced(counts: ArrayLike) -> Paths:
    """Return the balanced tree over the words; the counts only decide how its inner nodes are numbered.

    >>> balanced([9, 9, 9]).start.tolist()
    [0, 1, 3, 5]
    """
    counts = checked_counts(counts)
    words = counts.size
    lowest = (1 << ((2 * words - 1).bit_length() - 1)) - 1  # first position of the lowest level
    position = np.arange(words - 1, 2 * words - 1)
    # in the heap the leaves of the lowest level lie left of the other leaves; mirrored, right of them
    from_left = np.where(position >= lowest, position - lowest, position - lowest + words)
    node = np.concatenate([np.arange(words - 1), from_left - words])  # -1 - (words - 1 - from_left)
    pairs = node[1:].reshape(-1, 2)[:, ::-1]
    return from_children(pairs, counts)
