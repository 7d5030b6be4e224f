"""A model with the methods of fastText's Python module: read from a fastText file, or trained by unhot."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from unhot.compat.fasttext.meter import Meter
from unhot.compat.fasttext.model_parts import LONG_MODELS, Parts, open_parts, trained_parts
from unhot.compat.fasttext.queries import Queries, ended, shown
from unhot.compat.fasttext.settings import Unsupervised
from unhot.errors import ConfigError, DataError
from unhot.lines.choosing import LabelScorer, check_asked, choose
from unhot.lines.fasttext_losses import FastTextScorer
from unhot.lines.line_rows import classifier_lines
from unhot.types import Counts, Floats
from unhot.vectors.formats.fasttext.model_file import matrix_rows
from unhot.vocab.vocabulary import decode_word

if TYPE_CHECKING:
    from unhot.models import fasttext as models

PathLike = str | os.PathLike[str]


def load_model(path: PathLike) -> FastText:
    """Open a `.bin` or `.ftz` file that fastText wrote, memory-mapped."""
    return FastText(open_parts(Path(path)))


def of_trained(model: models.FastText, given: Unsupervised) -> FastText:
    """Wrap a trained model; its training parameters become attributes, as in fastText."""
    front = FastText(trained_parts(model, given))
    for name, value in given._asdict().items():
        setattr(front, name, value)
    return front


class Predictions(NamedTuple):
    """Predicted labels, the most probable first, and their probabilities."""

    labels: list[str]
    probabilities: Floats


class FastText(Queries):
    """A fastText model: words, their vectors and, if it is supervised, predictions.

    `load_model` and `train_unsupervised` return it.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._scorer: LabelScorer | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy the parts and the training parameters; what is made of them is made again."""
        given = {name: value for name, value in self.__dict__.items() if not name.startswith("_")}
        return type(self), (self._parts,), given

    def save_model(self, path: PathLike) -> None:
        """Write a `.bin` (or `.ftz`) file that fastText can read.

        An existing file is replaced only when the new one is complete.
        """
        self._parts.write(Path(path))

    def get_line(self, text: str | list[str], on_unicode_error: str = "strict") -> Any:
        """Return the words of a line, including its end `</s>`, and the labels that the model knows.

        For a list of lines, return lists of both.
        """
        if isinstance(text, list):
            pairs = [self.get_line(line, on_unicode_error) for line in text]
            return [words for words, _ in pairs], [labels for _, labels in pairs]
        line = self._lines.split(ended(text, "get_line"))
        return shown(line.words, on_unicode_error), shown(line.labels, on_unicode_error)

    def predict(
        self, text: str | list[str], k: int = 1, threshold: float = 0.0, on_unicode_error: str = "strict"
    ) -> Any:
        """Predict at most k labels of a line (-1: all) with a probability of at least the threshold.

        Return labels and probabilities; for a list of lines, lists of both.
        """
        if isinstance(text, list):
            found = [self.predict_line(ended(line, "predict"), k, threshold) for line in text]
            labels = [shown(one.labels, on_unicode_error) for one in found]
            return labels, [one.probabilities for one in found]
        one = self.predict_line(ended(text, "predict"), k, threshold)
        return tuple(shown(one.labels, on_unicode_error)), one.probabilities.astype(np.float64)

    def predict_line(self, line: str, k: int = 1, threshold: float = 0.0) -> Predictions:
        """Predict labels for a line as it is in a file: with its line feed, if it has one."""
        return self._predict(self._lines.rows(self._lines.split(line).words), k, threshold)

    def _predict(self, rows: Counts, k: int, threshold: float) -> Predictions:
        scorer = self._open_scorer()
        check_asked(k, threshold)
        if not len(rows):
            return Predictions([], np.empty(0, np.float32))
        found = choose(scorer, self._parts.rows.composed(rows)[None], k, threshold)
        labels = self._parts.dictionary.labels
        return Predictions([labels[id] for id in found.labels], found.probabilities.astype(np.float32))

    def _open_scorer(self) -> LabelScorer:
        if not self.is_supervised:
            raise ConfigError(
                f"predict: this is a {LONG_MODELS[self._parts.header.model]} model; "
                "only supervised models predict labels"
            )
        if self._scorer is None:
            counts = self._parts.dictionary.label_counts
            rows = matrix_rows(self._parts.output, np.arange(counts.size))
            self._scorer = FastTextScorer(self._parts.header.loss, rows, counts)
        return self._scorer

    def test(self, path: PathLike, k: int = 1, threshold: float = 0.0) -> tuple[int, float, float]:
        """Return the number of lines with labels in a file, and precision and recall of predictions."""
        meter = self.measured(lines_of(path), k, threshold)
        return meter.examples, meter.precision(), meter.recall()

    def test_label(self, path: PathLike, k: int = 1, threshold: float = 0.0) -> dict[str, dict[str, float]]:
        """Return precision, recall and F1 of each label."""
        meter = self.measured(lines_of(path), k, threshold)
        figures = {"precision": meter.precision, "recall": meter.recall, "f1score": meter.f1}
        labels = self._parts.dictionary.labels
        return {label: {name: figure(label) for name, figure in figures.items()} for label in labels}

    def measured(self, lines: Iterable[str], k: int, threshold: float) -> Meter:
        """Compare predictions with labels; lines without a label or a word are left out."""
        meter = Meter()
        for text in lines:
            words, labels = self._lines.split(text)
            rows = self._lines.rows(words)
            if labels and len(rows):
                meter.add(labels, self._predict(rows, k, threshold).labels)
        return meter

    def quantize(self, *arguments: Any, **parameters: Any) -> NoReturn:
        """Raise a `ConfigError`: unhot reads quantised files, but cannot make them yet."""
        raise ConfigError("quantize: unhot reads quantised models (.ftz), but cannot make them yet")


def lines_of(path: PathLike) -> Iterable[str]:
    """Yield the lines of a file for a classifier, with their ends."""
    try:
        with Path(path).open("rb") as file:
            yield from classifier_lines(map(decode_word, file))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
