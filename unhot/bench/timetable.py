"""How long a comparison takes, and how long each layer trains.

Once the text is read, two probes measure the speed of this machine: of scoring all words (`score_seconds`),
and of a step of the exact solution (`unhot.bench.exact`). With r learning rates tried, a layer takes

    START + (LOOKS + r) look + end + (LOOKS + r TUNING_LOOKS) PIECE + (1 + r TUNING_SHARE) seconds

where `look` is the time to measure the lines of the curve, and `end` the time to measure the held-out lines
and the training lines. Either the training time `seconds` is given, or it is the longest with which all
layers are done after `minutes`, although each tries the most rates. The exact solution has as many epochs as
it needs or, if `seconds` is not given, as many as fit into a share of the minutes.
"""

import math
import time
from typing import NamedTuple

import numpy as np

from unhot.bench.results import Settings
from unhot.bench.texts import Sentences, Texts
from unhot.bench.trials import LOOKS, MOST_TRIALS, TUNING_LOOKS, TUNING_SHARE, USUAL_TRIALS
from unhot.outputs import parse_output
from unhot.outputs.head import Head

EXACT_SHARE = 0.2  # share of the minutes for the exact solution
FEWEST_EPOCHS = 10  # of the exact solution
LEAST = 2.0  # seconds of training; after less, most layers know no more than the counts of the words
START = 2.0  # seconds to load or compile the kernels of a layer, or to start torch
PIECE = 0.1  # seconds to begin and to end a piece of training
DEARER = 1.5  # most layers are dearer to measure than the softmax, which the probe measures
ROWS = 256  # hidden vectors of the probe


class Timetable(NamedTuple):
    """How long a comparison takes; all times are in seconds."""

    layers: int
    seconds: float  # the training time of each layer
    epochs: int  # of the exact solution; 0: it is not wanted, or not possible
    exact: float  # what the exact solution takes
    each: float  # what a layer takes if it tries the usual number of rates
    most: float  # what a layer takes if it tries the most rates

    @property
    def about(self) -> float:
        """The time that is left, usually."""
        return self.exact + self.layers * self.each

    @property
    def latest(self) -> float:
        """The time that is left, if every layer tries the most rates."""
        return self.exact + self.layers * self.most


class Speeds(NamedTuple):
    """The speed of this machine, from probes."""

    score: float  # seconds to score a word for a hidden vector, and to normalise
    epoch: float = 0.0  # seconds of an epoch of the exact solution; 0: there is none


def score_seconds(words: int, dim: int) -> float:
    """Measure the time per score of the full softmax, normalised: the best of three."""
    rng = np.random.default_rng(1)
    counts = np.ones(words, np.int64)
    out_vectors, hidden = (rng.random((rows, dim), np.float32) for rows in (words, ROWS))
    head = Head(parse_output("softmax"), counts, out_vectors)
    none = np.zeros(0, np.int32)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        head.pairs_log_prob(hidden, none, none)
        times.append(time.perf_counter() - began)
    return min(times) / (ROWS * words)


def make_timetable(
    settings: Settings, texts: Texts, layers: int, speeds: Speeds, epochs: int, gone: float
) -> Timetable:
    """Timetable a comparison.

    layers      the number of layers, without the exact solution
    epochs      of the exact solution, if it has the time it needs; 0: there is none
    gone        seconds that have passed since the comparison began
    """
    budget = 60 * settings.minutes - gone
    if settings.seconds is None and epochs:
        fit = int(EXACT_SHARE * 60 * settings.minutes / max(speeds.epoch, 1e-9))
        epochs = min(epochs, max(fit, FEWEST_EPOCHS))
    exact = epochs * speeds.epoch
    tried: list[float] = [0, 0] if settings.lr else [USUAL_TRIALS, MOST_TRIALS]
    usual, most = (_around(settings, texts, speeds, trials, bool(epochs)) for trials in tried)
    usual_share, most_share = (1 + trials * TUNING_SHARE for trials in tried)
    seconds = settings.seconds
    if seconds is None:
        longest = ((budget - exact) / layers - most) / most_share
        seconds = max(LEAST, math.floor(10 * longest) / 10)  # rounded down, to stay within the minutes
    return Timetable(
        layers, seconds, epochs, exact, usual + usual_share * seconds, most + most_share * seconds
    )


def _around(settings: Settings, texts: Texts, speeds: Speeds, trials: float, exact: bool) -> float:
    """Return the seconds of a layer beside its training, with some rates tried."""
    words = len(texts.train.vocabulary)
    each = settings.model == "skipgram"
    curve, end = (_inputs(lines, each) for lines in (texts.curve, texts.held_out))
    measured = (len(LOOKS) + trials) * curve + end + (words if exact else 0)
    pieces = len(LOOKS) + trials * len(TUNING_LOOKS)
    return START + DEARER * measured * words * speeds.score + pieces * PIECE


def _inputs(lines: Sentences, each: bool) -> int:
    """Return the number of hidden vectors of some lines: a word has one, or each of its places has."""
    return len({word for line in lines for word in line}) if each else sum(map(len, lines))
