"""What gives labels to texts: a classifier of unhot, or one in a file of fastText."""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from unhot.errors import ConfigError, FormatError
from unhot.lines.answers import AnswerWriter
from unhot.lines.choosing import Chosen
from unhot.lines.fasttext_model import fasttext_predictor
from unhot.lines.line_rows import LABEL
from unhot.lines.predictor import LinePredictor, block_of
from unhot.models.classifier import Classifier
from unhot.models.load import load_saved
from unhot.models.model import Model
from unhot.rows.labelled import LabelledRows, labelled_rows
from unhot.rows.writers import BREAKS
from unhot.threads import in_order
from unhot.types import Doubles
from unhot.vectors.formats.remote_folder import local_copy
from unhot.vectors.formats.sniff import is_fasttext
from unhot.vocab.vocabulary import encode_word


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
        return labelled_rows(source, labels, label_column=self.label_column, prefix=self.prefix, **how)


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
