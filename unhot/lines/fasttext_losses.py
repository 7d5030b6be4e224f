"""Compute fastText's predictions: from the means of lines' rows to the probabilities of labels.

The roundings are fastText's. h is the mean, and s_i = h . o_i is the score of output row i. For a label with
probability p, fastText reports

    loss       p                          reported
    softmax    exp(s_i) / sum exp(s)      p + 1e-5
    ns, ova    sigmoid(s_i)               p + 1e-5; the sigmoid is from a table of 512 steps over [-8, 8],
                                          rounded down
    hs         a path in a binary tree    the product over its nodes of sigmoid(+-s) + 1e-5

So a reported probability can be slightly above 1. A label is left out if p is below the threshold; with hs,
if the product is below the threshold + 1e-5. Labels of equal probability are frequent, because of the table.
Of these, the later label comes first, as in fastText for k = 1; for greater k, fastText's order is arbitrary.
"""

from typing import TYPE_CHECKING

import numpy as np

from unhot.lines.choosing import PlainScores
from unhot.types import Counts, Doubles, Floats

if TYPE_CHECKING:
    from unhot.tree.paths import Paths

FLOOR = 1e-5  # the number that fastText adds to probabilities
STEPS, LARGEST = 512, 8.0  # steps of the table, and the largest score in it

SIGMOIDS: Doubles = 1.0 / (1.0 + np.exp(-(np.arange(STEPS + 1) * 2 * LARGEST / STEPS - LARGEST)))


class FastTextScorer:
    """Probabilities of labels from the output rows of a supervised model, in the way of its loss."""

    floor = FLOOR
    later_first = True

    def __init__(self, loss: str, output: Floats, counts: Counts) -> None:
        self._loss, self._output = loss, output
        self._paths: Paths | None = None
        if loss == "hs":
            from unhot.tree.huffman import word2vec_tree  # loads the compiler, which takes a while

            self._paths, joins = word2vec_tree(counts)
            self._output = np.zeros_like(output)  # one row is no join
            self._output[joins] = output[: joins.size]  # in the file, row i belongs to the i-th join
        zeros = np.zeros(len(output), np.float32)
        self.plain = PlainScores(output, zeros, True) if loss == "softmax" else None

    @property
    def labels(self) -> int:
        """The number of labels."""
        return len(self._output)

    def probabilities(self, hidden: Floats) -> Doubles:
        """Return the probabilities of all labels as fastText reports them: [..., dim] -> [..., labels]."""
        scores = (hidden @ self._output.T).astype(np.float64)
        if self._paths is not None:
            return path_products(scores, self._paths)
        if self._loss == "softmax":
            weights = np.exp(scores - scores.max(axis=-1, initial=-np.inf, keepdims=True))
            return np.asarray(weights / weights.sum(axis=-1, keepdims=True) + FLOOR)
        return table_sigmoid(scores) + FLOOR


def table_sigmoid(scores: Doubles) -> Doubles:
    """Return the sigmoid of scores with the rounding of fastText's table."""
    place = (np.clip(np.nan_to_num(scores), -LARGEST, LARGEST) + LARGEST) * STEPS / LARGEST / 2
    special = [scores < -LARGEST, scores > LARGEST, np.isnan(scores)]
    return np.select(special, [0.0, 1.0, np.nan], SIGMOIDS[place.astype(np.int64)])


def path_products(scores: Doubles, paths: "Paths") -> Doubles:
    """Return, for each label, the product of the decisions on its path; a node scores going right."""
    if paths.node.size == 0:
        return np.ones((*scores.shape[:-1], paths.start.size - 1))
    with np.errstate(over="ignore"):  # exp may overflow to inf, and 1 / inf = 0 is right
        right = 1.0 / (1.0 + np.exp(-scores))[..., paths.node]
    steps = np.where(paths.code, right, 1.0 - right) + FLOOR
    return np.asarray(np.multiply.reduceat(steps, paths.start[:-1], axis=-1))
