"""Weights of labels: how much a line counts by its label."""

from typing import Any

import numpy as np

from unhot.errors import ConfigError, at_least
from unhot.models.labelled_source import label_id
from unhot.types import Floats
from unhot.vocab.vocabulary import Vocabulary


def given_weights(given: Any) -> dict[str, float] | None:
    """Return the weights of labels that were given by name; None: none, or balanced."""
    if given in ("none", "balanced", None):
        return None
    pairs = given
    if isinstance(given, str):
        pairs = dict(pair.rpartition("=")[::2] for pair in given.split(","))
    try:
        return {str(label): at_least("class_weights", float(weight), 0) for label, weight in pairs.items()}
    except (AttributeError, TypeError, ValueError):
        raise ConfigError(
            f"class_weights={given!r:.80}: must be none, balanced, or weights by label: a dict, in the shell "
            "LABEL=WEIGHT,LABEL=WEIGHT"
        ) from None


def label_weights(given: Any, labels: Vocabulary) -> Floats:
    """Return the weight of each label: 1, or so that all labels count alike, or as given."""
    weights = np.ones(len(labels), np.float32)
    named = given_weights(given)
    if named is not None:
        for label, weight in named.items():
            weights[label_id(labels, label)] = weight
    elif given == "balanced":
        weights[:] = labels.counts.sum() / (len(labels) * np.maximum(labels.counts, 1))
    return weights
