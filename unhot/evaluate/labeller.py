"""What gives labels to texts: a classifier of unhot, or one in a file of fastText.

It is tested, and a classifier of unhot is calibrated, on lines with labels.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from unhot.errors import ConfigError, DataError, FormatError
from unhot.evaluate.classification import (
    UNKNOWN,
    WIDEST,
    Classification,
    LabelCounts,
    classification,
    confusion,
    label_lists,
)
from unhot.lines.answers import AnswerWriter
from unhot.lines.choosing import Chosen
from unhot.lines.fasttext_model import fasttext_predictor
from unhot.lines.line_rows import LABEL
from unhot.lines.predictor import LinePredictor, block_of
from unhot.models.calibrating import scored_lines, set_temperature
from unhot.models.classifier import Classifier
from unhot.models.load import load_saved
from unhot.models.model import Model
from unhot.rows.labelled import LabelledRows
from unhot.rows.writers import BREAKS
from unhot.threads import in_order
from unhot.types import Counts, Doubles
from unhot.vectors.formats import is_fasttext
from unhot.vectors.formats.remote_folder import local_copy
from unhot.vocab.vocabulary import encode_word

AT_ONCE = 1 << 14  # lines that are tested at a time

Rows = Iterable[tuple[str, list[str]]]


class LabelPredictor(Protocol):
    """What every classifier answers with; labels are numbers."""

    threads: int

    def predict(self, texts: Sequence[str], k: int = 1, threshold: float = 0.0) -> Chosen:
        """Return the best labels of texts: at most k (-1: all), with probabilities from `threshold` on."""

    def probabilities(self, texts: Sequence[str]) -> Doubles:
        """Return the probabilities of all labels: [texts, labels]."""


class Labeller(NamedTuple):
    """What predicts labels, the names of the labels, and how label lines and tables are read."""

    predictor: LabelPredictor
    labels: list[str]
    prefix: str = LABEL
    label_column: str | None = None

    def columns(self, texts: Sequence[str], k: int, threshold: float) -> list[list[Any]]:
        """Return two columns: the labels of texts and their probabilities; lists unless k is 1."""
        found = self.predictor.predict(texts, k, threshold)
        names = [self.labels[label] for label in found.labels]
        numbers = [round(float(p), 6) for p in found.probabilities]
        places = list(zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True))
        if k != 1:
            return [[names[a:b] for a, b in places], [numbers[a:b] for a, b in places]]
        return [[column[a] if b > a else None for a, b in places] for column in (names, numbers)]

    def answers(self, blocks: Iterable[bytes], threshold: float) -> Iterator[bytes]:
        """Yield a line `label<TAB>score` for each line of blocks of lines, by a `LinePredictor`."""
        predictor = self.predictor
        assert isinstance(predictor, LinePredictor)
        write = AnswerWriter([encode_word(label.translate(BREAKS)) for label in self.labels])
        predictor.compile()

        def work(block: bytes) -> bytes:
            sums = predictor.sums(block_of(block, block.count(b"\n")))
            return write(predictor.choose(*sums, 1, threshold))

        yield from in_order(blocks, work, predictor.threads)

    def rows_of(self, source: Any, labels: Any = None, **how: Any) -> LabelledRows:
        """Return texts with labels."""
        return LabelledRows(source, labels, label_column=self.label_column, prefix=self.prefix, **how)


def labeller_of(model: Any) -> Labeller:
    """Return a trained model of the family `classify` as a labeller."""
    return Labeller(model.predictor, model.labels, model.label_prefix, model.label_column)


def open_labeller(path: str | os.PathLike[str], threads: int = 2) -> Labeller:
    """Open a saved classifier, or a .bin or .ftz of fastText."""
    path = local_copy(path)
    if path.is_file() and is_fasttext(path):
        return Labeller(*fasttext_predictor(path, threads))
    labeller = labeller_of(_open(path))
    labeller.predictor.threads = threads
    return labeller


def open_classifier(path: str | os.PathLike[str]) -> Classifier:
    """Open a saved `Classifier`; raise a `ConfigError` for others, which can only predict and be tested."""
    path = local_copy(path)
    fasttext = path.is_file() and is_fasttext(path)
    model = None if fasttext else _open(path)
    if not isinstance(model, Classifier):
        what = "file of fastText" if model is None else f"{model.name} model"
        raise ConfigError(
            f"{path}: is a {what}, which can predict and be tested, but nothing else; give a folder that "
            "`unhot classify train` wrote"
        )
    return model


def _open(path: str | os.PathLike[str]) -> Model[Any, Any]:
    """Open a saved model of the family `classify`; raise a `FormatError` for any other model."""
    model = load_saved(path)
    if model.family != "classify":
        raise FormatError(
            f"{path}: is a model of kind {model.name!r}, not a classifier; give a folder that "
            "`unhot classify train` wrote"
        )
    return model


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
