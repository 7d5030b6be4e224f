"""Count labels: predicted ones, true ones, and those that are both, in batches of examples.

Lists of labels are a pair of arrays: example i has the labels `ids[starts[i]:starts[i + 1]]`. A label that
stands twice in a list counts once. An id of -1 is a true label that the model never saw; each of them counts.

`LabelCounts` keeps no examples, so test files of any size stream through.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import DataError, whole
from unhot.probability.calibration import BINS, bin_sums
from unhot.types import Counts, Doubles, Ids, Starts

LabelLists: TypeAlias = tuple[Starts, Ids]  # starts [examples + 1], ids of labels
UNKNOWN = -1  # the id of a true label that the model never saw


class LabelCounts:
    """Count predicted labels, true labels, and labels that are both.

    >>> counts = LabelCounts(2)
    >>> counts.add(label_lists([[0, 1], [1]]), label_lists([[0], [0]]))
    >>> counts.by_label.tolist()
    [[1, 0], [2, 0], [1, 2]]
    >>> precision, recall, f1 = counts.figures()
    >>> precision.tolist(), recall.tolist()
    ([0.5, nan], [1.0, 0.0])
    """

    def __init__(self, labels: int, bins: int = BINS) -> None:
        self.examples = self.unknown = self.losses = 0
        self.loss = 0.0  # the sum of all losses, of which there are self.losses
        self.by_label = np.zeros((3, whole("labels", labels, 1)), np.int64)  # right, predicted, true
        self.rows: Counter[tuple[int, ...]] = Counter()  # (right, predicted, true) of an example: how often
        self.sums = np.zeros((whole("bins", bins, 1), 3))  # see `bin_sums`

    def add(
        self,
        truth: LabelLists,
        predicted: LabelLists,
        confidence: ArrayLike | None = None,
        log_loss: ArrayLike | None = None,
    ) -> None:
        """Count a batch of examples.

        truth        true labels; -1: one that the model never saw
        predicted    predicted labels, the most probable first
        confidence   the probability of the first predicted label [examples]; any number where there is none
        log_loss     the loss of the true labels [examples], in nats
        """
        labels, n = self.by_label.shape[1], len(truth[0]) - 1
        true, unknown, said, first = matched(truth, predicted, labels)
        if confidence is not None:
            right = np.isin(first, true, assume_unique=True)
            self.sums += bin_sums(
                _one_each("confidence", confidence, n)[first // labels], right, len(self.sums)
            )
        if log_loss is not None:
            self.loss += float(_one_each("log_loss", log_loss, n).sum())
            self.losses += n
        rows = np.zeros((3, n), np.int64)  # right, predicted, true
        rows[2] = np.bincount(unknown, minlength=n)
        for i, keys in enumerate((np.intersect1d(true, said, assume_unique=True), said, true)):
            rows[i] += np.bincount(keys // labels, minlength=n)
            self.by_label[i] += np.bincount(keys % labels, minlength=labels)
        self.rows.update(zip(*rows.tolist(), strict=True))
        self.examples += n
        self.unknown += unknown.size

    def figures(self) -> tuple[Doubles, Doubles, Doubles]:
        """Return precision, recall and F1 of each label; NaN where the denominator is 0."""
        right, predicted, true = self.by_label
        return quotients(right, predicted), quotients(right, true), quotients(2 * right, predicted + true)


def label_lists(lists: Iterable[Sequence[int]]) -> LabelLists:
    """Return lists of label ids as arrays.

    >>> label_lists([[3, 5], [], [-1]])
    (array([0, 2, 2, 3]), array([ 3,  5, -1], dtype=int32))
    """
    kept = list(lists)
    starts = np.cumsum([0, *map(len, kept)], dtype=np.int64)
    return starts, np.fromiter(chain.from_iterable(kept), np.int32)


def matched(truth: LabelLists, predicted: LabelLists, labels: int) -> tuple[Counts, Counts, Counts, Counts]:
    """Return true labels, the examples of unknown ones, predicted labels, and those predicted first.

    A label of an example is one number, example * labels + id. All are different and sorted.
    """
    if len(truth[0]) != len(predicted[0]):
        raise DataError(
            f"{len(truth[0]) - 1} examples, {len(predicted[0]) - 1} with predictions: must be equal"
        )
    true, unknown = _keys("truth", truth, labels, UNKNOWN)
    said, _ = _keys("predicted", predicted, labels, 0)
    some = np.flatnonzero(np.diff(predicted[0]))
    return true, unknown, said, some * labels + predicted[1][predicted[0][some]]


def _keys(name: str, lists: LabelLists, labels: int, least: int) -> tuple[Counts, Counts]:
    starts, ids = (np.asarray(each, np.int64) for each in lists)
    sizes = np.diff(starts)
    if starts.size == 0 or starts[0] != 0 or starts[-1] != ids.size or (sizes < 0).any():
        raise DataError(f"{name}: starts must rise from 0 to the number of ids, {ids.size}")
    if ids.size and not least <= ids.min() <= ids.max() < labels:
        raise DataError(
            f"{name} has ids from {ids.min()} to {ids.max()}: must be from {least} to {labels - 1}"
        )
    owners, known = np.repeat(np.arange(sizes.size), sizes), ids >= 0
    keys = np.sort(owners[known] * labels + ids[known])  # numpy.unique takes fifty times as long
    return keys[np.diff(keys, prepend=-1) > 0], owners[~known]


def _one_each(name: str, values: ArrayLike, n: int) -> Doubles:
    numbers = np.asarray(values, np.float64)
    if numbers.shape != (n,):
        raise DataError(f"{name} has shape {numbers.shape}: must have one number for each of {n} examples")
    return numbers


def quotients(part: Counts | Doubles, of: Counts | Doubles) -> Doubles:
    """Return part / of for each element; NaN where both are 0."""
    with np.errstate(invalid="ignore"):
        return np.true_divide(part, of, dtype=np.float64)
