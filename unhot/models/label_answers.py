"""What a classifier has learned, and what it answers: labels of texts, their probabilities, and why.

The names of its answers are those of scikit-learn's estimators. Only `__sklearn_tags__`, which only
scikit-learn calls, imports scikit-learn.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from unhot.errors import ConfigError, DataError, texts_of
from unhot.lines.choosing import PlainScores
from unhot.lines.explaining import Decision, Explanation, line_pieces, shares
from unhot.lines.line_sums import LineModel
from unhot.lines.predictor import LinePredictor, Tokenizer
from unhot.models.labelled_source import KINDS, label_id
from unhot.models.learned_words import LearnedWords
from unhot.models.model import Model
from unhot.models.word_answers import head_of
from unhot.outputs import Head
from unhot.outputs.layer import LogProbabilityLayer
from unhot.probability import log_sum_exp
from unhot.types import Doubles, Floats
from unhot.vectors.subword_vectors import SubwordVectors


@dataclass(frozen=True, kw_only=True, eq=False)
class LearnedLines(LearnedWords):
    """The words of lines, which are inputs, and their labels, which are predicted."""

    label_kind: str = "str"  # the type that labels had in `fit`
    temperature: float = 1.0  # divides scores; see `calibrating.py`

    def facts(self) -> dict[str, Any]:
        """Return how n-grams are hashed, the temperature, and the type of the labels."""
        hashing = {"scheme": "fasttext", "hashes": 1, "skips": True}
        return {**hashing, "temperature": self.temperature, "label_kind": self.label_kind}


class LayerScorer:
    """The probabilities of labels by an output layer and a temperature T.

        p = w^(1/T) / sum of w^(1/T)     w = exp(log_weight), what the layer's scores are worth
        p = sigmoid(s / T)               layers whose probabilities are independent (one_vs_all)

    T is 1 unless the model was calibrated. It never changes which label is the most probable.
    """

    floor = 0.0
    later_first = False

    def __init__(self, head: Head, out_vectors: Floats, out_bias: Floats, temperature: float) -> None:
        self._head, self._temperature = head, temperature
        self.plain: PlainScores | None = None
        layer, scale = head.layer, np.float32(1.0 / temperature)
        if layer.rows_are_words and (isinstance(layer, LogProbabilityLayer) or layer.independent):
            bias = out_bias if out_bias.size else np.zeros(len(out_vectors), np.float32)
            self.plain = PlainScores(scale * out_vectors, scale * bias, not layer.independent)

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(self._head.counts.size)

    def log_weights(self, hidden: Floats) -> Doubles:
        """Return what the temperature divides: scores if they are independent, else log-probabilities."""
        scores = self._head.scores(hidden).astype(np.float64)
        layer = self._head.layer
        return scores if layer.independent else layer.log_weight(scores, self._head.counts)

    def probabilities(self, hidden: Floats) -> Doubles:
        """Return the probabilities of all labels: [lines, dim] -> [lines, labels]."""
        weights = self.log_weights(hidden) / self._temperature
        if self._head.layer.independent:
            return np.asarray(np.exp(-np.logaddexp(0.0, -weights)))
        return np.asarray(np.exp(weights - log_sum_exp(weights)[..., None]))


class LabelAnswers:
    """Answers about texts, and about the words of a classifier."""

    def __init__(self, learned: LearnedLines, lines: LineModel, tokenizer: Tokenizer, threads: int) -> None:
        """Take what is learned, and how lines become vectors."""
        params, self.learned = learned.params, learned
        self.head, self.labels = head_of(learned), learned.out_vocabulary.words
        self.scorer = LayerScorer(self.head, params.out_vectors, params.out_bias, learned.temperature)
        self.predictor = LinePredictor(lines, self.scorer, tokenizer, threads)
        names = [*map(KINDS[learned.label_kind], self.labels)]
        self.names = np.array(names)  # the labels, of the type that they had in `fit`
        self.order = sorted(range(len(names)), key=names.__getitem__)

    @functools.cached_property
    def vectors(self) -> SubwordVectors:
        """The vectors of words, also those of unseen ones if they are made of n-grams."""
        words = self.learned.in_vocabulary
        return SubwordVectors(words.words, words.counts, self.predictor.model.rows)

    def predict(self, texts: Sequence[str], k: int, threshold: float) -> Any:
        """Return the most probable label of each text, or with another k a list of labels."""
        found = self.predictor.predict(texts_of("texts", texts), k, threshold)
        if k == 1 and len(found.labels) == len(found.starts) - 1:
            return self.names[found.labels]
        lists = [self.names[part].tolist() for part in np.split(found.labels, found.starts[1:-1])]
        if k != 1:
            return lists[: len(found.starts) - 1]
        return np.array([labels[0] if labels else None for labels in lists], object)

    def probabilities(self, texts: Sequence[str]) -> Any:
        """Return the probabilities of all labels in order: [texts, labels]."""
        return self.predictor.probabilities(texts_of("texts", texts))[:, self.order]

    def decisions(self, texts: Sequence[str]) -> Any:
        """Return the scores of all labels in order; of two labels, how far the second is ahead."""
        scores = self.predictor.scored(texts_of("texts", texts), self.scorer.log_weights)[:, self.order]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def explain(self, text: str, label: Any) -> Explanation:
        """Return the share of each word, run and n-gram in the scores that decide on a label."""
        predictor, params = self.predictor, self.learned.params
        words = predictor.words_of(text)
        hidden, _ = predictor.hidden(words)
        probabilities = self.scorer.probabilities(hidden[None])[0]
        known = self.learned.out_vocabulary
        chosen = int(probabilities.argmax()) if label is None else label_id(known, label)
        pieces, decisions = line_pieces(predictor, words), []
        for name, row, sign in self.learned.layer.decisions(chosen, self.head.counts):
            bias = float(params.out_bias[row]) if params.out_bias.size else 0.0
            found = shares(predictor, pieces, sign * params.out_vectors[row].astype(np.float64))
            score = sign * bias + sum(piece.share for piece in found)
            decisions.append(Decision(name, score, sign * bias, found))
        return Explanation(self.labels[chosen], float(probabilities[chosen]), words, decisions)


class Estimator(Model[LearnedLines, LabelAnswers]):
    """Predictions of a model that has labels, and its settings by name."""

    _estimator_type = "classifier"  # for scikit-learn before 1.6

    @property
    def labels(self) -> list[str]:
        """The labels, the most frequent first."""
        return self.learned.out_vocabulary.words

    @property
    def temperature(self) -> float:
        """What divides scores; 1 if the model is not calibrated."""
        return 1.0 if self.fit_state is None else self.fit_state.learned.temperature

    @property
    def classes_(self) -> Any:
        """The labels in order, of the type that they had in `fit`."""
        return self.answers.names[self.answers.order]

    @property
    def vectors(self) -> SubwordVectors:
        """The vectors of words, also those of unseen ones if they are made of n-grams."""
        return self.answers.vectors

    @property
    def head(self) -> Head:
        """The trained output layer."""
        return self.answers.head

    @property
    def predictor(self) -> LinePredictor:
        """What predicts labels as numbers."""
        return self.answers.predictor

    def predict(self, texts: Sequence[str], k: int = 1, threshold: float = 0.0) -> Any:
        """Return the most probable label of each text, None where it is below the threshold.

        With another k, return a list of at most k labels (-1: all) for each text.
        """
        return self.answers.predict(texts, k, threshold)

    def predict_proba(self, texts: Sequence[str]) -> Any:
        """Return the probabilities of all labels: [texts, labels], in the order of `classes_`."""
        return self.answers.probabilities(texts)

    def decision_function(self, texts: Sequence[str]) -> Any:
        """Return the scores of all labels: [texts, labels]; of two labels, how far the second is ahead."""
        return self.answers.decisions(texts)

    def score(self, texts: Sequence[str], labels: Sequence[Any]) -> float:
        """Return the share of texts whose most probable label is right."""
        found, truth = self.predict(texts), np.asarray(labels)
        if found.shape != truth.shape or not found.size:
            raise DataError(
                f"there are {len(found)} texts, but {len(truth)} labels: give one label for each text"
            )
        # labels of a table are text, whatever type they had there
        return float(np.mean(found == (truth.astype(found.dtype) if found.dtype.kind == "U" else truth)))

    def explain(self, text: str, label: Any = None) -> Explanation:
        """Return the share of each word, run and n-gram in the scores that decide on a label.

        Without a label, it is the most probable one. A softmax decides by one score; hierarchical and
        class_based by one score for each node or class on the label's path.
        """
        return self.answers.explain(text, label)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **settings: Any) -> Self:
        """Change settings and check all of them; what was learned is dropped."""
        known = self.get_params()
        if unknown := settings.keys() - known.keys():
            raise ConfigError(
                f"{', '.join(sorted(unknown))}: no such setting; the settings are {', '.join(sorted(known))}"
            )
        type(self)(**{**known, **settings})  # raises an error before anything has changed
        for name, value in settings.items():
            setattr(self, name, value)
        if settings:
            self.__post_init__()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model has learned anything."""
        return self.fit_state is not None

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )
