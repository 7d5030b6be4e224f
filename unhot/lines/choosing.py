"""Choose the labels of lines from their probabilities: at most k, the most probable first."""

from typing import NamedTuple, Protocol

import numpy as np

from unhot.errors import ConfigError, finite, whole
from unhot.largest import largest
from unhot.types import Doubles, Floats, Ids, Starts

ALL = -1  # this k asks for all labels


class PlainScores(NamedTuple):
    """Scores that belong to labels: s = h . o + bias, and their probabilities (predictor.py)."""

    out_vectors: Floats  # [labels, dim]
    bias: Floats  # [labels]
    softmax: bool  # else each label has a probability of its own


class LabelScorer(Protocol):
    """What turns the vectors of lines into probabilities of labels."""

    floor: float  # what is added to each probability that is reported
    later_first: bool  # of equally probable labels, the one with the greater number comes first
    plain: PlainScores | None  # a quicker way to the best label; None: there is none

    @property
    def labels(self) -> int:
        """The number of labels."""

    def probabilities(self, hidden: Floats) -> Doubles:
        """Return the probabilities of all labels: [lines, dim] -> [lines, labels]."""


class Chosen(NamedTuple):
    """The labels of lines: line i has those at [starts[i], starts[i + 1]), the most probable first."""

    starts: Starts  # [lines + 1]
    labels: Ids
    probabilities: Doubles


def check_asked(k: int, threshold: float) -> None:
    """Raise a `ConfigError` if k or threshold is out of range."""
    finite("threshold", threshold)
    if whole("k", k, ALL) == 0:
        raise ConfigError("k=0: must be 1 or more, or -1 for all labels")


def choose(scorer: LabelScorer, hidden: Floats, k: int, threshold: float) -> Chosen:
    """Return the best labels of lines, at most k, whose probability is at least the threshold."""
    probabilities = scorer.probabilities(hidden)  # [lines, labels]
    most = scorer.labels if k == ALL else min(k, scorer.labels)
    ranked = probabilities[:, ::-1] if scorer.later_first else probabilities
    order = np.argmax(ranked, axis=1)[:, None] if most == 1 else largest(ranked, most)
    best = scorer.labels - 1 - order if scorer.later_first else order
    found = np.take_along_axis(probabilities, best, axis=1)
    enough = found >= threshold + scorer.floor  # not if it is NaN
    starts = np.zeros(len(hidden) + 1, np.int64)
    np.cumsum(enough.sum(axis=1), out=starts[1:])
    return Chosen(starts, best[enough].astype(np.int32), found[enough])
