"""Classes of words: first a softmax over classes, then one over the words of a class.

    P(w) = P(class of w) P(w | class of w), with more levels likewise: classes of classes first

Which classes? With n words in a class of probability p, a step looks at n columns with probability p. To have
few on average, n should fall as p rises: sorted by count and cut where the sum of sqrt(count) is equal, the
mean is smallest. Of C classes the step also looks at all C, so C = sqrt(V) balances the two. Classes are cut
into classes by the same rule.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.tree.paths import checked_counts
from unhot.types import Counts, Doubles, Ids, Starts

DEEPEST = 30  # levels; halving at every one of them tells 2**30 words apart


class Groups(NamedTuple):
    """Softmaxes over groups of consecutive output rows; on each of the levels 0..L a word is one row.

    Rows: the top classes, then the next level's classes, ..., then the words; on each level grouped by the
    class they are in, and in a group by falling count. Group 0 is the top classes, group 1 + r is what the
    class of row r holds.
    """

    first: Ids  # [groups], the first row of each group
    size: Ids  # [groups]
    group: Ids  # [words, levels + 1], where a word's choice is made
    row: Ids  # [words, levels + 1], which row it is


def frequency_classes(counts: ArrayLike, classes: int | None = None, levels: int = 1) -> Counts:
    """Nested classes of words of similar count, the top level first: [levels, words].

    `classes` is the number of classes of the finest level; None means V ** (levels / (levels + 1)), which is
    sqrt(V) for one level. The coarser levels are spaced geometrically.

    >>> frequency_classes([100, 25, 16, 9, 1, 1, 1, 1])
    array([[0, 1, 1, 2, 2, 2, 2, 2]])
    """
    counts = checked_counts(counts)
    levels = whole("levels", levels, 1, DEEPEST)
    finest = counts.size ** (levels / (levels + 1)) if classes is None else whole("classes", classes, 1)
    if finest > counts.size:
        raise ConfigError(
            f"classes={classes}: must be <= {counts.size}, the number of words, as no class may be empty"
        )
    order = np.argsort(-counts, kind="stable")
    # of what is cut: the words, then classes of them
    weight = counts[order] if counts.any() else np.ones_like(counts)
    of_word = np.arange(counts.size)  # of the words by rank: which class they are in
    class_map = np.empty((levels, counts.size), np.int64)
    for level in range(levels - 1, -1, -1):
        start = equal_cuts(np.sqrt(weight), max(1, round(finest ** ((level + 1) / levels))))
        of_word = np.repeat(np.arange(start.size - 1), np.diff(start))[of_word]
        weight = np.add.reduceat(weight, start[:-1])
        class_map[level, order] = of_word
    return class_map


def equal_cuts(weight: Doubles, classes: int) -> Starts:
    """Where to cut a row of weights into classes, none empty, of about equal sum.

    Class i is [start[i] : start[i + 1]]. From left to right, a class takes what has its middle within an
    equal share of the weight that is left. So a weight above its share takes nothing from the classes behind
    it.
    """
    total = np.concatenate([[0.0], np.cumsum(weight)])
    middle = (total[:-1] + total[1:]) / 2  # rises, so the end of a class is found by bisection
    start = np.zeros(classes + 1, np.int64)
    for i in range(classes - 1):
        left = classes - i
        target = total[start[i]] + (total[-1] - total[start[i]]) / left
        end = np.searchsorted(middle, target)
        start[i + 1] = min(max(end, start[i] + 1), weight.size - left + 1)  # every class needs one
    start[classes] = weight.size
    return start


def groups_from_map(class_map: ArrayLike, counts: ArrayLike) -> Groups:
    """The groups of any nested classes, the top level first: [levels, words], or [words] for one level.

    Labels are any whole numbers.
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
    above, rows = np.zeros(counts.size, np.int64), 0  # the group of every word's choice; rows so far
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
    """For every word, the place of its class on this level; and the sizes of the groups of the level."""
    # the example is the smallest id of a class
    _, example, own = np.unique(label, return_index=True, return_inverse=True)
    parent = above[example]
    torn = parent[own] != above
    if torn.any():
        word = int(np.argmax(torn))
        other = int(example[own[word]])
        raise DataError(
            f"class {label[word]} of level {level} holds the words {other} and {word}, which level "
            f"{level - 1} has in different classes: classes must be nested; give this one two labels"
        )
    weight = np.zeros(example.size, np.int64)
    np.add.at(weight, own, counts)
    place = np.empty(example.size, np.int64)
    place[np.lexsort((example, -weight, parent))] = np.arange(example.size)
    return place[own], np.unique(parent, return_counts=True)[1]


def expected_columns(groups: Groups, counts: ArrayLike) -> float:
    """How many columns the steps of a word look at, on average by count.

    If no word was counted, all words count alike.
    """
    counts = checked_counts(counts)
    if counts.size != len(groups.group):
        raise DataError(
            f"{counts.size} counts for groups of {len(groups.group)} words: give one count for each word"
        )
    columns = groups.size[groups.group].sum(axis=1, dtype=np.int64)
    return float(np.average(columns, weights=counts if counts.any() else None))
