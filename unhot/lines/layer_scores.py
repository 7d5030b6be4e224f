"""Probabilities of labels from a trained output layer.

    p = w^(1/T) / sum of w^(1/T)     w = exp(log_weight), what the layer's scores are worth
    p = sigmoid(s / T)               layers whose probabilities are independent (one_vs_all)

The temperature T is 1 unless the model was calibrated. It never changes which label is the most probable.
"""

import numpy as np

from unhot.lines.choosing import PlainScores
from unhot.outputs.head import Head
from unhot.outputs.layer import LogProbabilityLayer
from unhot.probability import log_sum_exp
from unhot.types import Doubles, Floats


class LayerScorer:
    """The probabilities of labels by an output layer and a temperature."""

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
