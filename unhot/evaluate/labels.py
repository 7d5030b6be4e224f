"""Test and calibrate classifiers on lines with labels."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.evaluate.classification import (
    UNKNOWN,
    WIDEST,
    Classification,
    LabelCounts,
    classification,
    confusion,
    label_lists,
)
from unhot.evaluate.labeller import Labeller
from unhot.models.calibrating import scored_lines, set_temperature
from unhot.models.classifier import Classifier
from unhot.types import Counts, Doubles

AT_ONCE = 1 << 14  # lines that are tested at a time

Rows = Iterable[tuple[str, list[str]]]


class LabelTest(NamedTuple):
    """The figures of a test, and which labels were taken for which."""

    figures: Classification
    confusion: Counts  # [true label, first predicted label]; empty if there are too many labels
    labels: list[str]


def measure_labels(
    labeller: Labeller, rows: Rows, *, k: int = 1, threshold: float = 0.0, seed: int = 1
) -> LabelTest:
    """Compare the predictions for lines with their labels; lines stream through."""
    labels = labeller.labels
    index, counts = {label: id for id, label in enumerate(labels)}, LabelCounts(len(labels))
    table = np.zeros((len(labels),) * 2 if len(labels) <= WIDEST else (0, 0), np.int64)
    each = iter(rows)
    while some := list(islice(each, AT_ONCE)):
        truth = label_lists([index.get(name, UNKNOWN) for name in names] for _, names in some)
        starts, ids, confidence = labeller.predictor.predict([text for text, _ in some], k, threshold)
        first = np.where(
            np.diff(starts) > 0, np.append(confidence, 0.0)[np.minimum(starts[:-1], len(ids))], 0.0
        )
        losses = _log_losses(labeller, [text for text, _ in some], truth)
        counts.add(truth, (starts, ids), np.minimum(first, 1.0), losses)
        if table.size:
            table += confusion(truth, (starts, ids), len(labels))
    if not counts.examples:
        raise DataError("no line has a label, so there is nothing to test: check the file and the prefix")
    return LabelTest(classification(counts, labels, k=k, threshold=threshold, seed=seed), table, labels)


def _log_losses(labeller: Labeller, texts: list[str], truth: Any) -> Doubles:
    """Return -log of the mean probability of each line's known labels; of none, that of one in a million."""
    probabilities = labeller.predictor.probabilities(texts)
    starts, ids = truth
    owner = np.repeat(np.arange(len(texts)), np.diff(starts))[ids >= 0]
    sums = np.bincount(owner, probabilities[owner, ids[ids >= 0]], len(texts))
    sizes = np.maximum(np.bincount(owner, minlength=len(texts)), 1)
    return np.asarray(-np.log(np.maximum(sums / sizes, 1e-6)))


def calibrate(model: Classifier, rows: Rows) -> float:
    """Fit the model's temperature on lines that it was not trained on, and return it; `save` keeps it.

    The temperature divides all scores: it changes how sure the model is, but never which label is first.
    """
    temperature = scored_lines(model.answers, rows).temperature()
    set_temperature(model, temperature)
    return temperature
