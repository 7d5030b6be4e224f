"""Fit the temperature of a classifier on lines that it did not learn from."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.models.label_answers import Estimator, LabelAnswers
from unhot.models.labelled_source import FEWEST, Row
from unhot.probability import softmax
from unhot.probability.calibration import (
    COOLEST,
    HOTTEST,
    bin_sums,
    expected_calibration_error,
    fit_confidence,
    fit_temperature,
)
from unhot.types import Doubles

WIDEST = 1 << 25  # probabilities of all lines and labels that are in memory at once


class ScoredLines(NamedTuple):
    """What a temperature divides, for each line and label, and the true labels."""

    log_weights: Doubles  # [lines, labels]
    truth: Doubles  # [lines, labels] 1: the line has this label
    independent: bool

    def temperature(self) -> float:
        """Return the temperature that fits best."""
        if self.independent:
            return fit_temperature(self.log_weights, self.truth, independent=True)
        return fit_confidence(self.log_weights, self._right())

    def error(self, temperature: float) -> float:
        """Return the expected calibration error of the first labels."""
        first = self.log_weights.max(axis=1) / temperature
        if self.independent:
            confidence = np.exp(-np.logaddexp(0.0, -first))
        else:
            confidence = softmax(self.log_weights / temperature).max(axis=1)
        return expected_calibration_error(bin_sums(confidence, self._right()))

    def _right(self) -> Doubles:
        lines = np.arange(len(self.truth))
        return np.asarray(self.truth[lines, self.log_weights.argmax(axis=1)])


def scored_lines(answers: LabelAnswers, rows: Iterable[Row]) -> ScoredLines:
    """Score lines; those without a label that the model knows are left out."""
    index, labels = answers.learned.out_vocabulary.index, len(answers.labels)
    found = [(text, [index[name] for name in names if name in index]) for text, names in rows]
    known = [(text, ids) for text, ids in found if ids][: WIDEST // labels]
    if not known:
        raise DataError(f"none of the {len(found):,} lines has a label that the model knows")
    weights = answers.predictor.scored([text for text, _ in known], answers.scorer.log_weights)
    truth = np.zeros((len(known), labels))
    for line, (_, ids) in enumerate(known):
        truth[line, ids] = 1.0
    return ScoredLines(weights, truth, answers.learned.layer.independent)


def set_temperature(model: Estimator, temperature: float) -> None:
    """Let a trained model divide its scores by a temperature."""
    learned = replace(model.learned, temperature=temperature)
    assert model.fit_state is not None
    model.fit_state = replace(model.fit_state, learned=learned, made={})


def temperature_after_training(answers: LabelAnswers, rows: list[Row]) -> tuple[float, str]:
    """Fit a temperature, which is 1 if the rows are too few; say in one line what came of it."""
    if len(answers.labels) < 2:
        return 1.0, "no temperature: there is only one label"
    most = min(len(rows), WIDEST // len(answers.labels))
    if most < FEWEST:
        return 1.0, (
            f"no temperature: it needs {FEWEST} held-out lines, and there are {most:,}; probabilities may be "
            "too high or too low (unhot classify calibrate fits one on other lines)"
        )
    lines = scored_lines(answers, rows)
    temperature = lines.temperature()
    if not COOLEST < temperature < HOTTEST:
        return 1.0, f"no temperature: none fits the {len(lines.truth):,} held-out lines"
    return temperature, (
        f"calibrated on {len(lines.truth):,} held-out lines: temperature {temperature:.3f}, expected "
        f"calibration error {lines.error(temperature):.1%} (without it {lines.error(1.0):.1%})"
    )
