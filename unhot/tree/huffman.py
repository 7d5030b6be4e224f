"""Huffman's tree: the binary tree with the shortest paths on average, weighted by counts.

The algorithm joins the two lightest nodes until one is left. One queue holds the leaves, sorted by count.
Joined nodes are made in ascending weight, so a second queue holds them in that order. The lightest node is
always at the front of one of the two queues, so the time is O(V) after the sort.

Ties: if a leaf and a joined node have the same weight, `huffman` takes the leaf first. This makes the longest
path as short as in any Huffman tree (many words of count 0 make a balanced subtree, not a chain). word2vec.c
and fastText take the joined node first; their files hold a row for each node but not the tree, so reading
them needs `word2vec_tree`. Of leaves with equal counts the higher id is joined first. The lighter child is
the left one.

References: Huffman 1952; van Leeuwen 1976; Schwartz 1964.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unhot.kernels.jit import kernel
from unhot.tree.paths import Paths, checked_counts, numbered, total_length
from unhot.types import Counts, Ids


def huffman(counts: ArrayLike) -> Paths:
    """Return Huffman's tree of the counts, which may be in any order.

    >>> huffman([5, 1, 1]).start.tolist()
    [0, 1, 3, 5]
    """
    return numbered(_joined(checked_counts(counts), False), counts)[0]


def mean_code_length(counts: ArrayLike) -> float:
    """Return the mean length of the words' codes in bits, L, each word weighted by its count.

    No code that tells words apart is shorter. With H the entropy of the words in bits, H <= L < H + 1.

    >>> mean_code_length([4, 2, 1, 1])
    1.75
    """
    checked = checked_counts(counts)
    return total_length(huffman(checked), checked) / int(checked.sum())


def word2vec_tree(counts: ArrayLike) -> tuple[Paths, Ids]:
    """Return the Huffman tree of word2vec.c and fastText, of descending counts.

    Also return the number that the node made by each of their joins has in it.
    """
    return numbered(_joined(checked_counts(counts), True), counts)


def _joined(counts: Counts, node_first: bool) -> Ids:
    """Return the children of the joined nodes, in the order in which they are made."""
    order = np.argsort(-counts, kind="stable")[::-1]  # ascending counts; of equal counts the higher id first
    children = np.empty((counts.size - 1, 2), np.int32)
    _join(np.ascontiguousarray(order), counts, node_first, np.empty(counts.size - 1, np.int64), children)
    return children


@kernel
def _join(order: Any, counts: Any, node_first: Any, weight: Any, children: Any) -> None:
    """Join nodes; the two queues are the words by ascending count and the nodes made so far."""
    word, node = 0, 0
    for made in range(weight.size):
        total = 0
        for side in range(2):
            # Take the word if its count <= the node's weight, so at a tie the word. With node_first = 1 this
            # is count + 1 <= weight, that is count < weight for integers, so at a tie the node.
            if word < order.size and (node == made or counts[order[word]] + node_first <= weight[node]):
                children[made, side] = -1 - order[word]
                total += counts[order[word]]
                word += 1
            else:
                children[made, side] = node
                total += weight[node]
                node += 1
        weight[made] = total
