"""Models that predict words near each other in a text: skip-gram, CBOW, fastText."""

import contextlib
import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.corpus import Corpus
from unhot.errors import ConfigError
from unhot.kernels.bags import Bags
from unhot.models.engine import EngineData, Wiring, near_words
from unhot.models.fitting import Begins, InEpochs, Reads, Tells
from unhot.models.learned_words import LearnedWords, learned_from
from unhot.models.model import Model
from unhot.models.settings import TextFields, WindowFields
from unhot.models.text_model import encoded, fit_text
from unhot.models.windows import (
    check_machine,
    check_start,
    check_windows,
    warm_up_windows,
    window_training,
    words_of,
)
from unhot.models.word_answers import WordAnswers
from unhot.outputs import Head, parse_output
from unhot.types import Floats
from unhot.vectors.formats.directory import SavedModel
from unhot.vectors.store import Vectors


@dataclasses.dataclass(kw_only=True)
class WordModel(WindowFields, TextFields, Model[LearnedWords, WordAnswers]):
    """Settings of a word model; after `fit` or `load`, also its state."""

    starts = True
    use = "query it with: unhot neighbors {} WORD"
    default_lr: ClassVar[float]

    fit = fit_text
    warm_up = warm_up_windows

    def check(self) -> None:
        """Raise a `ConfigError` if settings contradict each other; find the output layer."""
        self.layer = parse_output(self.output)
        check_windows(self)

    @abstractmethod
    def wiring(self, bags: Bags | None = None) -> Wiring:
        """Return which words predict which; `bags` are the rows of each word if it has several."""

    @property
    def usual_lr(self) -> float:
        """The model's default learning rate."""
        return self.default_lr

    @property
    def first_lr(self) -> float:
        """The initial learning rate: `lr`, or the model's default."""
        return self.lr or self.usual_lr

    def prepare(self, reads: Reads, begins: Begins, tells: Tells) -> contextlib.AbstractContextManager[Any]:
        """Check what is given, then encode the text."""
        check_cells(self.name, reads)
        check_start(self, begins)
        return encoded(self, self.grown(reads, begins), tells)

    def grown(self, reads: Reads, begins: Begins) -> Reads:
        """Check the machine; let the words of a model to start from stay in the vocabulary."""
        check_machine(self)
        old = words_of(begins.start)
        if old is None or reads.counts is not None or reads.encoded:
            return reads
        self.layer.grown_rows(np.zeros(0, np.int32))  # raises now, not after a long text is read
        return dataclasses.replace(reads, known=old.in_vocabulary)

    def training(self, data: Corpus, begins: Begins, tells: Tells) -> InEpochs[LearnedWords]:
        """Return a training on the windows of the text."""
        return self.windows(near_words(data), begins, tells)

    def windows(
        self, data: EngineData, begins: Begins, tells: Tells, **chosen: Any
    ) -> InEpochs[LearnedWords]:
        """Return a training on windows; `chosen`: settings that are not those of the model."""
        wiring = self.wiring(None if data.rows is None else data.rows.bags)
        return window_training(self, wiring, data, begins, tells, usual_lr=self.usual_lr, chosen=chosen)

    def make_answers(self, learned: LearnedWords) -> WordAnswers:
        """Return what answers questions about the words."""
        return WordAnswers(learned)

    def restore(self, saved: SavedModel) -> LearnedWords:
        """Return what a saved model had learned."""
        return learned_from(saved, self.layer, self.dim)

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain data."""
        return super().settings() | {"output": self.layer.spec(), "lr": self.first_lr}

    @property
    def vectors(self) -> Vectors:
        """The word vectors."""
        return self.answers.vectors

    @property
    def out_vectors(self) -> Vectors:
        """The output vectors; raises a `ConfigError` unless the layer has one for each word."""
        return self.answers.out_vectors

    @property
    def head(self) -> Head:
        """The trained output layer, which gives the probabilities of all words for a hidden vector."""
        return self.answers.head

    def hidden(self, words: Sequence[str]) -> Floats:
        """Return the hidden vector of several words together: the mean of their vectors, or their sum."""
        return self.answers.hidden(words)

    def predict_word(self, context: Sequence[str], topn: int = 10) -> list[tuple[str, float]]:
        """Return the words most likely to stand near the given ones, with their probabilities."""
        return self.answers.predict_word(context, topn)


def check_cells(name: str, reads: Reads) -> None:
    """Raise a `ConfigError` if the source of a model that learns from text is cells."""
    if isinstance(reads.source, Cells):
        raise ConfigError(
            f"Cells as a source: {name} learns from text; only glove, svd, and skipgram with "
            "on='cells' learn from Cells"
        )
