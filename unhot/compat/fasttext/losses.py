"""What fastText predicts: from the mean of a line's rows to the probabilities of labels.

The roundings are its own. With h the mean and s_i = h . o_i the score of output row i, fastText reports, for
a label with

    softmax    exp(s_i) / sum exp(s)      p + 1e-5
    ns, ova    sigmoid(s_i)               p + 1e-5; the sigmoid from a table of 512 steps over [-8, 8],
                                          rounded down
    hs         a path in a binary tree    the product over its nodes of sigmoid(+-s) + 1e-5

so that probabilities can be a little above 1. A label is left out whose p is below the threshold; with hs, if
the product is below the threshold + 1e-5. Of labels with equal probability, which the table makes frequent,
the later comes first: so it is in fastText for k = 1, while for greater k its heap leaves them in no
particular order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from unhot.errors import ConfigError, finite, whole
from unhot.types import Counts, Doubles, Floats
from unhot.vectors.queries import best

if TYPE_CHECKING:
    from unhot.tree.paths import Paths

FLOOR = 1e-5
STEPS, LARGEST = 512, 8.0  # of the table
ALL = -1  # labels

SIGMOIDS: Doubles = 1.0 / (1.0 + np.exp(-(np.arange(STEPS + 1) * 2 * LARGEST / STEPS - LARGEST)))


class Predictor:
    """The output rows of a supervised model, and how its loss reads them."""

    def __init__(self, loss: str, output: Floats, counts: Counts) -> None:
        self._loss, self._output = loss, output
        self._paths: Paths | None = None
        if loss == "hs":
            from unhot.tree.huffman import word2vec_tree  # loads the compiler, which takes a while

            self._paths, joins = word2vec_tree(counts)
            self._output = np.empty_like(output)
            self._output[joins] = output[: joins.size]  # row i is of the i-th join

    def __call__(self, hidden: Floats, k: int, threshold: float) -> tuple[list[int], Doubles]:
        """The best labels, at most k, and their probabilities."""
        probabilities = self.probabilities(hidden)
        probabilities[~(probabilities >= threshold + FLOOR)] = -np.inf
        last = probabilities.size - 1
        labels = last - best(probabilities[::-1], last + 1 if k == ALL else k)
        return labels.tolist(), probabilities[labels]

    def probabilities(self, hidden: Floats) -> Doubles:
        """Of all labels, as fastText reports them."""
        scores = (self._output @ hidden).astype(np.float64)
        if self._paths is not None:
            return path_products(scores, self._paths)
        if self._loss == "softmax":
            weights = np.exp(scores - scores.max(initial=-np.inf))
            return np.asarray(weights / weights.sum() + FLOOR)
        return table_sigmoid(scores) + FLOOR


def check_asked(k: int, threshold: float) -> None:
    """Raise a `ConfigError` unless so many labels can be asked for, with such a probability."""
    finite("threshold", threshold)
    if whole("k", k, ALL) == 0:
        raise ConfigError("k=0: must be 1 or higher, or -1 for all labels")


def table_sigmoid(scores: Doubles) -> Doubles:
    """The sigmoid as fastText's table has it."""
    place = (np.clip(np.nan_to_num(scores), -LARGEST, LARGEST) + LARGEST) * STEPS / LARGEST / 2
    special = [scores < -LARGEST, scores > LARGEST, np.isnan(scores)]
    return np.select(special, [0.0, 1.0, np.nan], SIGMOIDS[place.astype(np.int64)])


def path_products(scores: Doubles, paths: Paths) -> Doubles:
    """The product of the decisions on the path of each label; a node scores the way to the right."""
    if paths.node.size == 0:
        return np.ones(paths.start.size - 1)
    with np.errstate(over="ignore"):  # 1 / inf is the 0 that it should be
        right = 1.0 / (1.0 + np.exp(-scores))[paths.node]
    return np.asarray(
        np.multiply.reduceat(np.where(paths.code, right, 1.0 - right) + FLOOR, paths.start[:-1])
    )
