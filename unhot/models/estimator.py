"""What a classifier answers, with the names of scikit-learn's estimators; scikit-learn is not imported.

`__sklearn_tags__` is the exception: only scikit-learn calls it.
"""

import dataclasses
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from unhot.errors import ConfigError, DataError
from unhot.lines.explaining import Decision, Explanation, line_pieces, shares
from unhot.lines.layer_scores import LayerScorer
from unhot.lines.predictor import LinePredictor
from unhot.models.labelled_source import KINDS
from unhot.models.learned_words import LearnedWords
from unhot.models.model import Model
from unhot.outputs import Head, OutputLayer
from unhot.vocab.vocabulary import Vocabulary

SHOWN = 20  # labels of an error


class Estimator(Model[LearnedWords]):
    """Predictions of a model that has labels, and its settings by name."""

    _estimator_type = "classifier"  # for scikit-learn before 1.6

    layer: OutputLayer
    label_kind: str  # the type that labels had in `fit`
    temperature: float  # divides scores; see `calibrating.py`

    @property
    def labels(self) -> list[str]:
        """The labels, the most frequent first."""
        return self.learned.out_vocabulary.words

    @property
    @abstractmethod
    def head(self) -> Head:
        """The trained output layer."""

    @property
    @abstractmethod
    def scorer(self) -> LayerScorer:
        """What turns the vectors of lines into probabilities of labels."""

    @property
    @abstractmethod
    def predictor(self) -> LinePredictor:
        """What predicts labels."""

    @property
    def classes_(self) -> Any:
        """The labels in order, of the type that they had in `fit`."""
        return np.array(sorted(map(KINDS[self.label_kind], self.labels)))

    def predict(self, texts: Sequence[str], k: int = 1, threshold: float = 0.0) -> Any:
        """Return the most probable label of each text, None where it is below the threshold.

        With another k, return a list of at most k labels (-1: all) for each text.
        """
        found = self.predictor.predict(_texts(texts), k, threshold)
        names = np.array([*map(KINDS[self.label_kind], self.labels)])
        if k == 1 and len(found.labels) == len(found.starts) - 1:
            return names[found.labels]
        lists = [names[part].tolist() for part in np.split(found.labels, found.starts[1:-1])]
        if k != 1:
            return lists[: len(found.starts) - 1]
        return np.array([labels[0] if labels else None for labels in lists], object)

    def predict_proba(self, texts: Sequence[str]) -> Any:
        """Return the probabilities of all labels: [texts, labels], in the order of `classes_`."""
        return self._in_order(texts, self.scorer.probabilities)

    def decision_function(self, texts: Sequence[str]) -> Any:
        """Return the scores of all labels: [texts, labels]; of two labels, how far the second is ahead."""
        scores = self._in_order(texts, self.scorer.log_weights)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, texts: Sequence[str], labels: Sequence[Any]) -> float:
        """Return the share of texts whose most probable label is right."""
        found, truth = self.predict(texts), np.asarray(labels)
        if found.shape != truth.shape or not found.size:
            raise DataError(
                f"there are {len(found)} texts, but {len(truth)} labels: give one label for each text"
            )
        return float(np.mean(found == truth))

    def explain(self, text: str, label: Any = None) -> Explanation:
        """Return the share of each word, run and n-gram in the scores that decide on a label.

        Without a label, it is the most probable one. A softmax decides by one score; hierarchical and
        class_based by one score for each node or class on the label's path.
        """
        predictor = self.predictor
        words = predictor.words_of(text)
        hidden, _ = predictor.hidden(words)
        probabilities = predictor.scorer.probabilities(hidden[None])[0]
        chosen = (
            int(probabilities.argmax()) if label is None else label_id(self.learned.out_vocabulary, label)
        )
        pieces, params = line_pieces(predictor, words), self.learned.params
        decisions = []
        for name, row, sign in self.layer.decisions(chosen, self.head.counts):
            bias = float(params.out_bias[row]) if params.out_bias.size else 0.0
            found = shares(predictor, pieces, sign * params.out_vectors[row].astype(np.float64))
            score = sign * bias + sum(piece.share for piece in found)
            decisions.append(Decision(name, score, sign * bias, found))
        return Explanation(self.labels[chosen], float(probabilities[chosen]), words, decisions)

    def _in_order(self, texts: Sequence[str], of: Any) -> Any:
        """Return numbers for each text and label, with the labels in the order of `classes_`."""
        names = [*map(KINDS[self.label_kind], self.labels)]
        order = sorted(range(len(names)), key=names.__getitem__)
        parts = [
            *self.predictor.over(
                _texts(texts), lambda hidden, _: of(hidden[:, : self.learned.params.in_vectors.shape[1]])
            )
        ]
        return np.concatenate(parts)[:, order] if parts else np.zeros((0, len(names)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

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
        return self._learned is not None

    def __sklearn_tags__(self) -> Any:
        """Describe the estimator to scikit-learn."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
        )


def label_id(labels: Vocabulary, label: Any) -> int:
    """Return the number of a label; raise a `DataError` that lists the labels if there is no such label."""
    found = labels.index.get(str(label))
    if found is None:
        rest = f" and {len(labels) - SHOWN:,} more" if len(labels) > SHOWN else ""
        known = ", ".join(map(repr, labels.words[:SHOWN]))
        raise DataError(f"{str(label)!r} is none of the {len(labels):,} labels: they are {known}{rest}")
    return found


def _texts(texts: Any) -> list[str]:
    """Return texts as a list; raise a `DataError` if they are not strings."""
    if isinstance(texts, str):
        raise DataError("texts: one string was given; give a list of texts")
    if hasattr(texts, "columns"):
        raise DataError("texts: a data frame was given; give the column of its texts, such as frame['text']")
    found = list(texts)
    for wrong in (text for text in found if not isinstance(text, str)):
        raise DataError(f"texts: {wrong!r:.80} is of type {type(wrong).__name__}: give strings")
    return found
