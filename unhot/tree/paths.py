"""A binary tree over the vocabulary, stored as the path from the root to every word.

    P(w) = product over the nodes of w's path: sigmoid(score) where it goes left, sigmoid(-score) where right

If every inner node has two children, P sums to one over all words for any scores. V words have V - 1 inner
nodes. The nodes are numbered by descending weight, the sum of the counts below them, so that the rows touched
most often lie together. The root is 0, and a parent comes before its children. The numbers depend on the tree
and the counts alone, not on how the tree was made.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unhot.errors import DataError
from unhot.kernels.jit import kernel
from unhot.types import Bytes, Counts, Ids, Starts


class Paths(NamedTuple):
    """The paths of all words: that of word w is [start[w] : start[w + 1]] of node and code, root first."""

    start: Starts  # [words + 1]
    node: Ids  # [all steps]
    code: Bytes  # [all steps], 0 = left, 1 = right


def checked_counts(counts: ArrayLike) -> Counts:
    """Return the counts as int64.

    Raise a `DataError` unless there is at least one word, no count is negative and their sum fits 64 bits.
    """
    given = np.asarray(counts)
    if given.ndim != 1 or not 0 < given.size < 2**31:
        raise DataError(f"counts of shape {given.shape}: must be one count for each of 1 to 2**31 - 1 words")
    if given.dtype.kind not in "iu":
        raise DataError(f"counts of type {given.dtype}: must be whole numbers; convert them to int64")
    if given.min() < 0 or given.sum(dtype=np.float64) >= 2.0**62:
        raise DataError(
            f"counts from {given.min()} to {given.max()}: must be >= 0 and sum to less than 2**62"
        )
    return np.ascontiguousarray(given, dtype=np.int64)


def from_children(children: ArrayLike, counts: ArrayLike) -> Paths:
    """Return the paths of a tree given by the children (left, right) of its inner nodes: [words - 1, 2].

    A leaf w is -1 - w. The inner nodes may be in any order; the root is the one without a parent.

    >>> paths = from_children([[-1, 1], [-2, -3]], [5, 1, 1])  # word 0 left of the root, 1 and 2 on its right
    >>> [part.tolist() for part in paths]
    [[0, 1, 3, 5], [0, 0, 1, 0, 1], [0, 1, 0, 1, 1]]
    """
    return numbered(children, counts)[0]


def numbered(children: ArrayLike, counts: ArrayLike) -> tuple[Paths, Ids]:
    """Return the paths of `from_children`, and the number that each given inner node has in them."""
    counts = checked_counts(counts)
    words, inner = counts.size, counts.size - 1
    tree, root = _checked_tree(np.asarray(children), words)
    order = np.empty(inner, np.int32)
    if _breadth_first(tree, root, order) != inner:
        raise DataError(
            "the tree has a cycle: some inner nodes cannot be reached from the root; "
            "every node but the root needs one parent"
        )
    weight = np.empty(inner, np.int64)
    _weigh(tree, order, counts, weight)
    # a stable sort: at equal weight a parent stays before its children
    order = order[np.argsort(-weight[order], kind="stable")]
    number = np.empty(inner, np.int32)
    number[order] = np.arange(inner, dtype=np.int32)
    tree = tree[order]
    below = tree >= 0
    tree[below] = number[tree[below]]
    return _walk(tree, words), number


def _checked_tree(tree: NDArray[Any], words: int) -> tuple[Ids, int]:
    """Return the children, and the inner node without a parent, or -1 if there is none.

    Raise a `DataError` unless every other node and leaf has one parent.
    """
    if words == 1 and tree.size == 0:
        return np.empty((0, 2), np.int32), -1
    if tree.shape != (words - 1, 2) or tree.dtype.kind not in "iu":
        raise DataError(
            f"children of shape {tree.shape} and type {tree.dtype}: "
            f"must be whole numbers {words - 1, 2} for {words} words"
        )
    if tree.min() < -words or tree.max() >= words - 1:
        raise DataError(
            f"children from {tree.min()} to {tree.max()}: "
            f"must be inner nodes 0 to {words - 2}, or -1 - w for a word w"
        )
    parents = np.bincount(tree.ravel().astype(np.int64) + words, minlength=2 * words - 1)
    leaves, inner = parents[:words][::-1], parents[words:]
    if (leaves != 1).any():
        word = int(np.argmax(leaves != 1))
        raise DataError(
            f"the word {word} is {leaves[word]} times in the tree: every word must be exactly one leaf"
        )
    if inner.max() > 1:
        raise DataError(
            f"the inner node {inner.argmax()} has {inner.max()} parents: "
            "every node but the root must have one parent"
        )
    return np.ascontiguousarray(tree, dtype=np.int32), int(inner.argmin())


def _walk(tree: Ids, words: int) -> Paths:
    """Return the paths of a tree whose inner nodes have their final numbers."""
    above, word_above = np.full(words - 1, -1, np.int64), np.full(words, -1, np.int64)
    depth, start = np.zeros(words - 1, np.int64), np.zeros(words + 1, np.int64)
    _hang(tree, above, word_above, depth, start)
    np.cumsum(start, out=start)
    node, code = np.empty(start[-1], np.int32), np.empty(start[-1], np.uint8)
    _climb(above, word_above, start, node, code)
    return Paths(start, node, code)


@kernel
def _breadth_first(tree: Any, root: Any, order: Any) -> Any:
    """Write the inner nodes level by level to `order`, which is also the queue; return how many there are."""
    if order.size == 0:
        return 0
    order[0] = root
    reached, head = 1, 0
    while head < reached:
        for side in range(2):
            child = tree[order[head], side]
            if child >= 0:
                order[reached] = child
                reached += 1
        head += 1
    return reached


@kernel
def _weigh(tree: Any, order: Any, counts: Any, weight: Any) -> None:
    """Compute the sum of the counts below every inner node; in `order` children come after their parents."""
    for i in range(order.size - 1, -1, -1):
        n = order[i]
        weight[n] = 0
        for side in range(2):
            child = tree[n, side]
            weight[n] += counts[-1 - child] if child < 0 else weight[child]


@kernel
def _hang(tree: Any, above: Any, word_above: Any, depth: Any, start: Any) -> None:
    """Write 2 * parent + side of every node and word, and the length of word w's path to start[w + 1]."""
    for n in range(depth.size):
        for side in range(2):
            child = tree[n, side]
            if child < 0:
                word_above[-1 - child] = 2 * n + side
                start[-child] = depth[n] + 1
            else:
                above[child] = 2 * n + side
                depth[child] = depth[n] + 1


@kernel
def _climb(above: Any, word_above: Any, start: Any, node: Any, code: Any) -> None:
    """Write every path backwards, from the word up to the root."""
    for word in range(word_above.size):
        step, position = word_above[word], start[word + 1]
        while step >= 0:
            position -= 1
            node[position] = step >> 1
            code[position] = step & 1
            step = above[step >> 1]


def children(paths: Paths) -> Ids:
    """Return the children (left, right) of every inner node, a leaf w as -1 - w, as `from_children` takes."""
    words = paths.start.size - 1
    child = np.empty(paths.node.size, np.int32)
    child[:-1] = paths.node[1:]
    ends = paths.start[1:] - 1
    if words > 1:
        child[ends] = -1 - np.arange(words, dtype=np.int32)
    tree = np.empty((words - 1, 2), np.int32)
    tree[paths.node, paths.code] = child
    return tree


def longest(paths: Paths) -> int:
    """Return the number of steps of the longest path."""
    return int(np.diff(paths.start).max())


def total_length(paths: Paths, counts: ArrayLike) -> int:
    """Return the exact sum of count times path length over all words; Huffman's tree has the smallest."""
    counts = checked_counts(counts)
    length = np.diff(paths.start)
    if counts.shape != length.shape:
        raise DataError(
            f"{counts.size} counts for paths of {length.size} words: give one count for each word"
        )
    # in Python's integers, because the products may exceed 64 bits
    return sum(count * steps for count, steps in zip(counts.tolist(), length.tolist(), strict=True))


def balanced(counts: ArrayLike) -> Paths:
    """Return the balanced tree over the words; the counts only decide how its inner nodes are numbered.

    Every path has floor(log2 V) or ceil(log2 V) steps. The leaves are the words in the order of their ids.
    The nodes form a heap: node i has the children 2i + 1 and 2i + 2, and the positions from V - 1 on are the
    leaves. The heap is mirrored, so that the lower ids, which are the more frequent words, get the shorter
    paths.

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
