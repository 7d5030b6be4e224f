"""Classification: measure predicted labels against true labels.

    precision = right predictions / predictions
    recall    = right predictions / true labels
    F1        = 2 right predictions / (predictions + true labels)
    accuracy  = examples whose predicted labels are exactly their true labels / examples

The first three are computed for each label, for all labels together (micro), and as means over the labels
that occur (macro). With one true label an example and one prediction, the micro figures are the accuracy.

A true label that the model never saw is always missed, so it counts in recall, F1 and accuracy, but not in
the macro means. A quotient with denominator 0 is NaN; in the macro means it counts as 0, as in scikit-learn.

The intervals are bootstraps over examples. Examples with equal numbers (right, predicted, true) are counted
together, so a million examples take no longer than a thousand.

Lists of labels are a pair of arrays: example i has the labels `ids[starts[i]:starts[i + 1]]`. A label that
stands twice in a list counts once. An id of -1 is a true label that the model never saw; each of them counts.
`LabelCounts` keeps no examples, so test files of any size stream through.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from unhot.errors import ConfigError, DataError, whole
from unhot.evaluate.figures import FiguresWithIntervals, Interval, bootstrap, share
from unhot.largest import largest
from unhot.probability.calibration import (
    BINS,
    ReliabilityBin,
    bin_sums,
    expected_calibration_error,
    reliability,
)
from unhot.types import Counts, Doubles, Ids, Starts

WIDEST = 10_000  # labels of a confusion table, which then takes 800 MB
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


@dataclass(frozen=True, kw_only=True)
class LabelFigures:
    """How well one label is predicted; NaN if a figure is not defined."""

    label: str
    examples: int  # that have this label
    predicted: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, kw_only=True)
class Classification(FiguresWithIntervals):
    """How well labels are predicted, and how it was measured; a figure that is not defined is NaN."""

    k: int  # the most predictions for an example
    threshold: float  # the least probability of a prediction
    examples: int
    unknown_labels: int  # true labels that the model never saw; all are missed
    accuracy: float
    accuracy_interval: Interval
    precision: float
    precision_interval: Interval
    recall: float
    recall_interval: Interval
    f1: float
    f1_interval: Interval
    macro_precision: float
    macro_recall: float
    macro_f1: float
    log_loss: float  # mean, in nats; NaN if it was not measured
    expected_calibration_error: float
    reliability: list[ReliabilityBin]  # empty if there are no confidences
    labels: list[LabelFigures]  # those that occur, in the order of their ids


@dataclass(frozen=True)
class Mistake:
    """A label that is taken for another one."""

    label: str
    predicted: str
    examples: int
    share: float  # of the examples of the label


def classification(
    counts: LabelCounts, names: Sequence[str], *, k: int = 1, threshold: float = 0.0, seed: int = 1
) -> Classification:
    """Return the figures of counted examples.

    names            the name of each label, by id
    k, threshold     how many labels were predicted at most, and their least probability
    seed             seed of the intervals
    """
    if len(names) != counts.by_label.shape[1]:
        raise ConfigError(f"names: {len(names)} for {counts.by_label.shape[1]} labels; each label needs one")
    rows = sorted(counts.rows)
    right, predicted, true = np.array(rows, np.float64).reshape(-1, 3).T
    exact = ((right == predicted) & (right == true)).astype(np.float64)
    wholes = (np.ones(len(rows)), predicted, true, predicted + true)
    times = np.array([counts.rows[row] for row in rows], np.int64)
    values, intervals = zip(
        *(_ratio(times, *both, seed) for both in zip((exact, right, right, 2 * right), wholes, strict=True)),
        strict=True,
    )
    occur = np.flatnonzero(counts.by_label.any(axis=0))
    figures = [each[occur] for each in counts.figures()]
    # NaN counts as 0
    macro = [share(float(np.nansum(each)), occur.size) for each in figures]
    columns = (occur, *counts.by_label[[2, 1]][:, occur], *figures)
    return Classification(
        k=k,
        threshold=threshold,
        seed=seed,
        examples=counts.examples,
        unknown_labels=counts.unknown,
        accuracy=values[0],
        accuracy_interval=intervals[0],
        precision=values[1],
        precision_interval=intervals[1],
        recall=values[2],
        recall_interval=intervals[2],
        f1=values[3],
        f1_interval=intervals[3],
        macro_precision=macro[0],
        macro_recall=macro[1],
        macro_f1=macro[2],
        log_loss=share(counts.loss, counts.losses),
        expected_calibration_error=expected_calibration_error(counts.sums),
        reliability=reliability(counts.sums) if counts.sums.any() else [],
        labels=[
            LabelFigures(label=names[i], examples=true, predicted=said, precision=p, recall=r, f1=f)
            for i, true, said, p, r, f in zip(*(column.tolist() for column in columns), strict=True)
        ],
    )


def _ratio(times: Counts, part: Doubles, of: Doubles, seed: int) -> tuple[float, Interval]:
    """Return the sum of parts over the sum of wholes, and its interval; row i occurs times[i] times."""

    def figure(weights: Doubles) -> Doubles:
        return quotients(weights @ part, weights @ of)

    return float(figure(times.astype(np.float64))), bootstrap(times, figure, seed)


def confusion(truth: LabelLists, predicted: LabelLists, labels: int) -> Counts:
    """Return how often a label was taken for another one: [true label, first predicted label].

    Only examples with one true label, which the model knows, and with a prediction count. Tables of several
    batches can be added.

    >>> confusion(label_lists([[0], [1], [1], [0, 1]]), label_lists([[0], [0], [1], [0]]), 2)
    array([[1, 0],
           [1, 1]])
    """
    true, unknown, _, first = matched(truth, predicted, whole("labels", labels, 1, WIDEST))
    single = np.bincount(np.append(true // labels, unknown), minlength=len(truth[0])) == 1
    only = true[single[true // labels]]
    _, i, j = np.intersect1d(only // labels, first // labels, assume_unique=True, return_indices=True)
    cells = only[i] % labels * labels + first[j] % labels
    return np.bincount(cells, minlength=labels**2).reshape(labels, labels)


def most_confused(table: Counts, names: Sequence[str], n: int = 10) -> list[Mistake]:
    """Return the n most frequent mistakes of a table that `confusion` made."""
    true, predicted = np.nonzero(table * ~np.eye(len(table), dtype=bool))
    order = largest(table[true, predicted], whole("n", n, 0))
    return [
        Mistake(names[a], names[b], int(table[a, b]), float(table[a, b] / table[a].sum()))
        for a, b in zip(true[order], predicted[order], strict=True)
    ]
