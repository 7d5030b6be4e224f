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
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unhot.errors import ConfigError, whole
from unhot.evaluate.bootstrap import Interval, bootstrap
from unhot.evaluate.figures import FiguresWithIntervals, share
from unhot.evaluate.label_counts import LabelCounts, LabelLists, matched, quotients
from unhot.largest import largest
from unhot.probability.calibration import ReliabilityBin, expected_calibration_error, reliability
from unhot.types import Counts, Doubles

WIDEST = 10_000  # labels of a confusion table, which then takes 800 MB


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

    >>> from unhot.evaluate.label_counts import label_lists
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
