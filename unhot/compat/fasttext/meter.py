"""How good predictions are: precision and recall, of all labels together and of each.

    precision = right predictions / predictions
    recall    = right predictions / labels in the text
    F1        = 2 right predictions / (predictions + labels in the text)

A quotient of nothing is NaN.
"""

from collections import Counter
from collections.abc import Iterable

from unhot.evaluate.figures import share


class Meter:
    """Counts of what was predicted, of what is true, and of what is both."""

    def __init__(self) -> None:
        self.examples = 0
        self._predicted: Counter[str] = Counter()
        self._true: Counter[str] = Counter()
        self._right: Counter[str] = Counter()

    def add(self, labels: Iterable[str], predicted: Iterable[str]) -> None:
        """One line: its labels, and what was predicted."""
        labels, predicted = list(labels), list(predicted)
        self.examples += 1
        self._predicted.update(predicted)
        self._true.update(labels)
        self._right.update(label for label in predicted if label in labels)

    def precision(self, label: str | None = None) -> float:
        """Of one label, or of all."""
        return share(self._of(self._right, label), self._of(self._predicted, label))

    def recall(self, label: str | None = None) -> float:
        """Of one label, or of all."""
        return share(self._of(self._right, label), self._of(self._true, label))

    def f1(self, label: str) -> float:
        """Of one label."""
        return share(2 * self._right[label], self._predicted[label] + self._true[label])

    def _of(self, counts: Counter[str], label: str | None) -> int:
        return counts.total() if label is None else counts[label]
