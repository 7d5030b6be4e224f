"""Huffman's tree: of all binary trees, the one with the shortest count-weighted paths.

Join the two lightest nodes until one is left. Leaves sorted by count wait in one queue; joined nodes are made
in rising weight, so they wait in another, and the lightest is always in front of one of them: O(V) after the
sort. Of equals the leaf goes first, which keeps the longest path as short as any Huffman tree's (many words
of count 0 make a balanced subtree, not a chain). The lighter child is the left.

word2vec.c and fastText let the joined node go first. Files that hold a row for each node, but not the tree,
need theirs.

References: Huffman 1952; van Leeuwen 1976; Schwartz 1964.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.kernels.jit import kernel
from unhot.tree.paths import Paths, checked_counts, numbered
from unhot.types import Counts, Ids


def huffman(counts: ArrayLike) -> Paths:
    """Huffman's tree of the counts, in any order; of words with equal counts, the higher id is joined first.

    >>> huffman([5, 1, 1]).start.tolist()
    [0, 1, 3, 5]
    """
    return numbered(_joined(checked_counts(counts), False), counts)[0]


def word2vec_tree(counts: ArrayLike) -> tuple[Paths, Ids]:
    """The tree of word2vec.c and fastText, of falling counts.

    With it comes the number of the node that each of their joins made.
    """
    return numbered(_joined(checked_counts(counts), True), counts)


def _joined(counts: Counts, node_first: bool) -> Ids:
    """The children of the nodes that are made, one after the other."""
    order = np.argsort(-counts, kind="stable")[::-1]  # falling and then reversed: the higher id first
    children = np.empty((counts.size - 1, 2), np.int32)
    _join(np.ascontiguousarray(order), counts, node_first, np.empty(counts.size - 1, np.int64), children)
    return children


@kernel
def _join(order: Any, counts: Any, node_first: Any, weight: Any, children: Any) -> None:
    """The two queues: words by rising count, and the nodes made so far."""
    word, node = 0, 0
    for made in range(weight.size):
        total = 0
        for side in range(2):
            if word < order.size and (node == made or counts[order[word]] + node_first <= weight[node]):
                children[made, side] = -1 - order[word]
                total += counts[order[word]]
                word += 1
            else:
                children[made, side] = node
                total += weight[node]
                node += 1
        weight[made] = total
