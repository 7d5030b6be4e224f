"""Measure predictions: precision and recall, for all labels together and for each.

    precision = right predictions / predictions
    recall    = right predictions / labels in the text
    F1        = 2 right predictions / (predictions + labels in the text)

A quotient with denominator 0 is NaN.

Labels count as fastText counts them: one that stands twice in a line counts twice, and one that the model
does not know is ignored. `unhot.evaluate.LabelCounts` counts the first once and the second as missed, so it
cannot give fastText's figures.
"""

from collections import Counter
from collections.abc import Iterable

from unhot.evaluate.figures import share


class Meter:
    """Count predicted labels, true labels, and labels that are both."""

    def __init__(self) -> None:
        self.examples = 0
        self._predicted: Counter[str] = Counter()
        self._true: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, labels: Iterable[str], predicted: Iterable[str]) -> None:
        """Add one line: its true labels and its predicted labels."""
        labels, predicted = list(labels), list(predicted)
        self.examples += 1
        self._predicted.update(predicted)
        self._true.update(labels)
        self._right.update(label for label in predicted if label in labels)

    def precision(self, label: str | None = None) -> float:
        """Return the precision of one label, or of all labels together."""
        return share(self._of(self._right, label), self._of(self._predicted, label))

    def recall(self, label: str | None = None) -> float:
        """Return the recall of one label, or of all labels together."""
        return share(self._of(self._right, label), self._of(self._true, label))

    def f1(self, label: str) -> float:
        """Return the F1 of one label."""
        return share(2 * self._right[label], self._predicted[label] + self._true[label])

    def _of(self, counts: Counter[str], label: str | None) -> int:
        return counts.total() if label is None else counts[label]
