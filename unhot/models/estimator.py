"""What a classifier is asked, with the names of scikit-learn's estimators; scikit-learn is not imported.

`__sklearn_tags__` is the exception: only scikit-learn calls it.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from unhot.errors import ConfigError, DataError
from unhot.lines.explaining import Explanation
from unhot.lines.predictor import LinePredictor
from unhot.models.label_answers import LabelAnswers, LearnedLines
from unhot.models.model import Model
from unhot.outputs import Head
from unhot.vectors.subword_vectors import SubwordVectors


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
        return float(np.mean(found == truth))

    def explain(self, text: str, label: Any = None) -> Explanation:
        """Return the share of each word, run and n-gram in the scores that decide on a label.

        Without a label, it is the most probable one. A softmax decides by one score; hierarchical and
        class_based by one score for each node or class on the label's path.
        """
        return self.answers.explain(text, label)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name."""
        return super().settings()

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
