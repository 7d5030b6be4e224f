"""Classes of words, for a softmax over classes followed by a softmax over the words of a class.

    P(w) = P(class of w) P(w | class of w), with more levels likewise: classes of classes first

How the classes are chosen: with n words in a class of probability p, a step looks at n columns with
probability p. To keep their mean number low, likely classes should have few words. The mean is smallest if
words are sorted by count and cut so that each class has the same sum of sqrt(count). A step also looks at all
C classes, and C = sqrt(V) balances the two costs. Classes of classes are cut by the same rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.tree.paths import checked_counts
from unhot.types import Counts, Doubles, Ids, Starts

DEEPEST = 30  # the most levels; halving at each level already separates 2**30 words


class Groups(NamedTuple):
    """Softmaxes over groups of consecutive output rows; on each of the levels 0..L a word chooses one row.

    The rows are the top classes, then the classes of the next level, ..., then the words. On each level they
    are grouped by the class that contains them, and sorted by descending count within a group. Group 0 holds
    the top classes, group 1 + r the members of the class of row r.
    """

    first: Ids  # [groups] the first row of each group
    size: Ids  # [groups] the number of rows of each group
    group: Ids  # [words, levels + 1] the group in which a word makes its choice
    row: Ids  # [words, levels + 1] the row that it chooses


def frequency_classes(counts: ArrayLike, classes: int | None = None, levels: int = 1) -> Counts:
    """Return nested classes of words of similar count, the top level first: [levels, words].

    `classes` is the number of classes on the finest level; None means V ** (levels / (levels + 1)), which is
    sqrt(V) for one level. The numbers of classes on the coarser levels form a geometric sequence.

    >>> frequency_classes([100, 25, 16, 9, 1, 1, 1, 1])
    array([[0, 1, 1, 2, 2, 2, 2, 2]])
    """
    counts = checked_counts(counts)
    levels = whole("levels", levels, 1, DEEPEST)
    finest = counts.size ** (levels / (levels + 1)) if classes is None else whole("classes", classes, 1)
    if finest > counts.size:
        raise ConfigError(
            f"classes={classes}: must be <= {counts.size}, the number of words, because no class may be empty"
        )
    order = np.argsort(-counts, kind="stable")
    # the counts of what is cut: first the words, then their classes
    weight = counts[order] if counts.any() else np.ones_like(counts)
    of_word = np.arange(counts.size)  # the class of each word, by rank
    class_map = np.empty((levels, counts.size), np.int64)
    for level in range(levels - 1, -1, -1):
        start = equal_cuts(np.sqrt(weight), max(1, round(finest ** ((level + 1) / levels))))
        of_word = np.repeat(np.arange(start.size - 1), np.diff(start))[of_word]
        weight = np.add.reduceat(weight, start[:-1])
        class_map[level, order] = of_word
    return class_map


def equal_cuts(weight: Doubles, classes: int) -> Starts:
    """Return where to cut a row of weights into classes of about equal sum, none of them empty.

    Class i is [start[i] : start[i + 1]]. From left to right, each class gets an equal share of the remaining
    weight: it takes the elements whose middle lies within that share. So an element larger than the share
    takes nothing from later classes.
    """
    total = np.concatenate([[0.0], np.cumsum(weight)])
    middle = (total[:-1] + total[1:]) / 2  # ascending, so bisection finds the end of a class
    start = np.zeros(classes + 1, np.int64)
    for i in range(classes - 1):
        left = classes - i
        target = total[start[i]] + (total[-1] - total[start[i]]) / left
        end = np.searchsorted(middle, target)
        start[i + 1] = min(max(end, start[i] + 1), weight.size - left + 1)  # at least one for each class
    start[classes] = weight.size
    return start


def groups_from_map(class_map: ArrayLike, counts: ArrayLike) -> Groups:
    """Return the groups of nested classes, given as labels: [levels, words], or [words] for one level.

    The top level comes first. Labels may be any whole numbers.
    """
    counts = checked_counts(counts)
    labels = np.atleast_2d(np.asarray(class_map))
    fits = labels.ndim == 2 and labels.shape[1] == counts.size and 0 < len(labels) <= DEEPEST
    if not fits or labels.dtype.kind not in "iu":
        raise DataError(
            f"a class map of shape {np.shape(class_map)} and type {labels.dtype}: must be whole numbers "
            f"[levels, words], with {counts.size} words"
        )
    row = np.empty((counts.size, len(labels) + 1), np.int32)
    group = np.zeros_like(row)
    sizes: list[Counts] = []
    above, rows = np.zeros(counts.size, np.int64), 0  # the group in which each word chooses; rows so far
    for level in range(len(labels) + 1):
        label = np.arange(counts.size) if level == len(labels) else labels[level]
        chosen, size = _level(label, above, counts, level)
        group[:, level], row[:, level] = above, rows + chosen
        above = 1 + rows + chosen
        sizes.append(size)
        rows += int(size.sum())
    size = np.concatenate(sizes)
    if rows >= 2**31:
        raise DataError(f"{rows:,} classes and words together: must be less than 2**31; make fewer classes")
    return Groups((np.cumsum(size) - size).astype(np.int32), size.astype(np.int32), group, row)


def _level(label: Counts, above: Counts, counts: Counts, level: int) -> tuple[Counts, Counts]:
    """Return the position of every word's class on this level, and the sizes of the level's groups."""
    # `example` is the smallest id of each class
    _, example, own = np.unique(label, return_index=True, return_inverse=True)
    parent = above[example]
    torn = parent[own] != above
    if torn.any():
        word = int(np.argmax(torn))
        other = int(example[own[word]])
        raise DataError(
            f"class {label[word]} of level {level} holds the words {other} and {word}, which are in "
            f"different classes on level {level - 1}: classes must be nested; split this class into two"
        )
    weight = np.zeros(example.size, np.int64)
    np.add.at(weight, own, counts)
    place = np.empty(example.size, np.int64)
    place[np.lexsort((example, -weight, parent))] = np.arange(example.size)
    return place[own], np.unique(parent, return_counts=True)[1]
