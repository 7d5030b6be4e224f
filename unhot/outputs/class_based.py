"""Class-based softmax: first the class of the word, then the word within its class.

    P(w | h) = P(c(w) | h) P(w | c(w), h),   each factor a softmax over the rows of its group
    L = -log P(t | h)

With more levels there are classes of classes, and one factor for each level. By default (`classes=sqrt`, one
level) there are about sqrt(V) classes of words with similar counts, cut so that each class has the same sum
of sqrt(count). `classes=300` sets the number of classes on the finest level. `classes=file:PATH` reads the
classes from a file: line i ends with the class of id i.

Converges to  log_prob -> log P(w | h); within each group scores are log-probabilities up to a constant.
Limits        classes=1 is the softmax.
Cost          O((C + words of the class) dim) per target, about 2 sqrt(V) dim.
Normalised    yes, exactly. topk searches the most likely classes first.
Wins          as an exact and quick softmax for language models.
Reference     Goodman, Classes for fast maximum entropy training, 2001; Mikolov et al., Extensions of
              recurrent neural network language model, 2011.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from unhot.errors import ConfigError, whole
from unhot.kernels.columns import begin_groups, candidates, end_group, find_group, put
from unhot.kernels.linking import softmax_link
from unhot.kernels.simd.tiles import MAX_WIDTH
from unhot.kernels.steps import link
from unhot.outputs.layer import FILE, OutputLayer, output
from unhot.probability import log_softmax, log_sum_exp
from unhot.tree.classes import Groups, frequency_classes, groups_from_map
from unhot.tree.given import read_classes
from unhot.tree.search import best_first, found_words
from unhot.types import Counts, Doubles, Ids


@output("class_based")
@dataclass(frozen=True, kw_only=True)
class ClassBased(OutputLayer):
    """A softmax over classes, then a softmax over the words of the class."""

    classes: int | str = "sqrt"  # sqrt | a number | file:PATH
    levels: int = 1  # levels of classes above the words
    bias: bool = False  # learn a bias for each class and word

    rows_are_words = False
    readers = {"classes": (read_classes, np.int64)}

    def __post_init__(self) -> None:
        """Check the settings."""
        super().__post_init__()
        object.__setattr__(self, "levels", whole("class_based:levels", self.levels, 1, 30))
        if not isinstance(self.classes, str):
            object.__setattr__(self, "classes", whole("class_based:classes", self.classes, 1))
        elif self.classes != "sqrt" and not (self.classes.startswith(FILE) and self.classes != FILE):
            raise ConfigError(
                f"class_based:classes={self.classes!r}: must be sqrt, a whole number or file:PATH"
            )
        if isinstance(self.classes, str) and self.classes.startswith(FILE) and self.levels != 1:
            raise ConfigError(f"class_based:levels={self.levels}: a class file has one level; use levels=1")

    def groups(self, counts: Counts) -> Groups:
        """Return the classes as groups of rows."""
        given = self.read_file("classes").tobytes() if self.files() else b""
        return _groups(self.classes, self.levels, given, counts.tobytes())

    def columns(self, counts: Counts, targets: int) -> int:
        """Return the most columns of a step: the top classes, and the largest group of each target below.

        Each group may be padded by a tile.
        """
        groups = self.groups(counts)
        largest = [int(groups.size[level].max()) + MAX_WIDTH for level in groups.group.T]
        return largest[0] + targets * sum(largest[1:])

    def rows(self, counts: Counts) -> int:
        """Return the number of rows: the classes of all levels, then the words."""
        return int(self.groups(counts).size.sum())

    def tables(self, counts: Counts) -> Groups:
        """Return the groups, which are the tables of the kernel."""
        return self.groups(counts)

    def sketch(self) -> Groups:
        """Return the groups of a vocabulary of one word, to compile with."""
        return groups_from_map(np.zeros((1, 1), np.int64), np.ones(1, np.int64))

    def reference(self, scores: Doubles, target: int, draws: Ids, counts: Counts) -> float:
        """Compute the loss by the formula above."""
        first, size, group, row = self.groups(counts)
        loss = 0.0
        for g, r in zip(group[target], row[target], strict=True):
            loss += float(log_sum_exp(scores[first[g] : first[g] + size[g]]) - scores[r])
        return loss

    def decisions(self, target: int, counts: Counts) -> list[tuple[str, int, float]]:
        """Return the rows of a word's classes and its own, each a score within its group."""
        rows = self.groups(counts).row[target].tolist()
        return [*((f"class {row}", row, 1.0) for row in rows[:-1]), ("score in the class", rows[-1], 1.0)]

    def log_weight(self, scores: Doubles, counts: Counts) -> Doubles:
        """Return log P of all words: the sum of the log-probabilities of all levels."""
        groups = self.groups(counts)
        return np.asarray(_within_groups(scores, groups)[..., groups.row].sum(axis=-1))

    def pairs_log_prob(
        self, scores: Doubles, which: Ids, targets: Ids, counts: Counts
    ) -> tuple[Doubles, Doubles]:
        """Return log P of pairs, from only the rows that the targets choose; log Z is 0."""
        groups = self.groups(counts)
        chosen = _within_groups(scores, groups)[which[:, None], groups.row[targets]]
        return chosen.sum(axis=1), np.zeros(len(scores))

    def topk(self, score: Callable[..., Doubles], k: int, counts: Counts) -> tuple[Ids, Doubles]:
        """Find the k most likely words, and score only the words of the most likely classes."""
        first, size, _, row = self.groups(counts)
        words = np.full(int(size.sum()), -1)
        words[row[:, -1]] = np.arange(counts.size)  # the word of each row, -1 for a class

        def expand(group: int) -> tuple[Ids, Doubles]:
            rows = np.arange(first[group], first[group] + size[group])
            # group 1 + r holds the members of the class of row r
            below = np.where(words[rows] >= 0, -1 - words[rows], 1 + rows)
            return below, log_softmax(score(rows))

        return found_words(best_first(0, expand, k))


def _within_groups(scores: Doubles, groups: Groups) -> Doubles:
    """Return the log-probabilities of all rows, each within its group."""
    top = np.maximum.reduceat(scores, groups.first, axis=-1)
    shifted = scores - np.repeat(top, groups.size, axis=-1)
    log_z = np.log(np.add.reduceat(np.exp(shifted), groups.first, axis=-1))
    return np.asarray(shifted - np.repeat(log_z, groups.size, axis=-1))


@lru_cache(maxsize=2)
def _groups(classes: int | str, levels: int, classes_of: bytes, counts: bytes) -> Groups:
    """Compute the groups; cached, because they are asked for several times while a model is set up."""
    given = np.frombuffer(counts, np.int64)
    if isinstance(classes, str) and classes.startswith(FILE):
        return groups_from_map(np.frombuffer(classes_of, np.int64)[None], given)
    number = None if isinstance(classes, str) else classes
    return groups_from_map(frequency_classes(given, number, levels), given)


@candidates.register(Groups)
def _candidates(tables: Any, targets: Any, state: Any, columns: Any, first: Any) -> Any:
    """Write down, on each level, the group of each target once; a row's label counts its targets."""
    begin_groups(columns, first)
    n = 0
    for level in range(tables.group.shape[1]):
        for i in range(targets.n):
            word, times = targets.word[targets.at + i], targets.times[targets.times_at + i]
            group = tables.group[word, level]
            begin = find_group(columns, first, group)
            if begin < 0:
                begin = n
                for r in range(tables.size[group]):
                    put(columns, first + n + r, tables.first[group] + r, 0.0, 1.0, 0.0)
                n = end_group(columns, first, n + tables.size[group], group)
            columns.label[first + begin + tables.row[word, level] - tables.first[group]] += times
    return n, state


@link.register(Groups)
def _link(
    tables: Any, shape: Any, scores: Any, count: Any, columns: Any, part: Any, times: Any, at: Any, lr: Any
) -> Any:
    """Link by the plain softmax: every weight is 1, so without a target's hits its sum is the plain sum."""
    return softmax_link(False, shape, scores, count, columns, part, times, at, lr)
