"""Bayes: naive Bayes, which multiplies the probabilities of a text's words given a label."""

import contextlib
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np

from unhot.lines.choosing import choose
from unhot.models.labelled_source import LabelledSource
from unhot.models.model import model, shaped_tensor
from unhot.models.settings import Range
from unhot.models.state import AtOnce
from unhot.models.text_model import LABELS, TextModel, encoded
from unhot.probability import softmax
from unhot.rows.labelled import LabelledRows
from unhot.vocab.vocabulary import Vocabulary


class LearnedBayes(NamedTuple):
    in_vocabulary: Vocabulary
    out_vocabulary: Vocabulary
    together: Any  # [labels, words]: how often they occur together

    def tensors(self, *, complete):
        return {"together": self.together}

    def facts(self):
        return {}


@model("bayes", family="classify")
@dataclass(kw_only=True)
class Bayes(TextModel[LearnedBayes]):
    min_count: Annotated[int, Range(1)] = 1  # words that occur less often are left out
    label_prefix: str = "__label__"  # what a token begins with if it is a label
    label_column: str | None = None  # the column of the labels, in tables
    added: Annotated[float, Range(0)] = 1.0  # added to every count

    @contextlib.contextmanager
    def prepare(self, reads, begins, tells):
        columns = {"column": reads.column, "label_column": self.label_column}
        rows = LabelledRows(reads.source, reads.labels, prefix=self.label_prefix, **columns)
        source = LabelledSource(rows, 0.0, 0.0, seed=1)
        text = replace(reads, source=source.texts(), labels=source.labels, column=None)
        with encoded(self, text, tells) as corpus:
            yield corpus

    def training(self, data, begins, tells):
        return AtOnce(lambda: counted(data), begins.history, data.words)

    def make_answers(self, learned):
        return BayesPredictor(learned, self.added)

    def restore(self, saved):
        words, labels = saved.vocabulary, saved.out_vocabulary
        together = shaped_tensor(saved, "together", (len(labels), len(words)))
        return LearnedBayes(words, labels, together)

    @property
    def labels(self):
        return self.learned.out_vocabulary.words

    @property
    def predictor(self):
        return self.answers


def counted(corpus):
    words, labels = corpus.vocabulary, corpus.beside[LABELS].vocabulary
    together = np.zeros((len(labels), len(words)), np.int64)
    for text, beside in corpus.aligned(0, corpus.sentences, LABELS):
        for i in range(text.starts.size - 1):
            for label in beside.ids[beside.starts[i] : beside.starts[i + 1]]:
                np.add.at(together[label], text.ids[text.starts[i] : text.starts[i + 1]], 1)
    return LearnedBayes(words, labels, together)


class BayesPredictor:
    floor, later_first, threads = 0.0, False, 1

    def __init__(self, learned, added):
        raised = learned.together + added
        self.log_p = np.log(raised / raised.sum(axis=1, keepdims=True))
        self.index, self.labels = learned.in_vocabulary.index, len(raised)

    def probabilities(self, texts):
        ids = [[self.index[word] for word in text.split() if word in self.index] for text in texts]
        return softmax(np.array([self.log_p[:, own].sum(axis=1) for own in ids]))

    def predict(self, texts, k=1, threshold=0.0):
        return choose(self, texts, k, threshold)
