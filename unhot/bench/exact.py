"""The exact solution, which all layers of a comparison of skip-gram are measured by.

The full softmax with biases, trained on the counts of all pairs (see `unhot.train.on_cells`), on the same lines as all layers and without a
clock: as many epochs as it takes to come close to its minimum. It draws nothing, so what a layer is behind it is due to the layer's
estimates, to its own target, and to the time it had. How far a layer is away from it:

    above exact     its cross entropy of the held-out lines, minus that of the exact solution
    KL              sum_w N_w KL(P_exact(. | w) || P_layer(. | w)) / sum_w N_w          N_w: how often w occurs in the training lines

The sum is over all inputs w of a small vocabulary; of a large one, over words at even steps through the tokens in the order of their ids,
the same words for every layer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unhot.bench.results import EXACT, Measured, learned_bytes
from unhot.bench.settings import Settings
from unhot.bench.texts import Texts
from unhot.bench.timed import Point
from unhot.errors import UnhotError
from unhot.evaluate.held_out import held_out
from unhot.models.skipgram import SkipGram
from unhot.models.words import WordModel
from unhot.train.progress import Progress
from unhot.types import Counts, Doubles, Ids

EPOCHS = 40  # of 10,000 words of Wikipedia, 30 epochs came to a training loss of 6.435, 60 to 6.430
OUTPUT = "softmax:bias=true"
INPUTS = 300  # words that predictions are compared for
AT_ONCE = 64  # of them together


class Exact(NamedTuple):
    """What came of it, and what it predicts."""

    measured: Measured
    inputs: Ids  # words to compare predictions for; none if it failed
    weight: Doubles  # of each, summing to one
    log_prob: Doubles  # [inputs, words]

    def divergence(self, model: WordModel) -> float:
        """The mean KL divergence of a model's predictions from the exact ones."""
        total, vectors, head = 0.0, model.word_inputs().vectors, model.head
        for first in range(0, self.inputs.size, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            exact = self.log_prob[some]
            apart = exact - head.log_prob(vectors[self.inputs[some]])
            total += float(self.weight[some] @ (np.exp(exact) * apart).sum(axis=1))
        return total if self.inputs.size else np.nan


def exact_solution(settings: Settings, texts: Texts, tell: Callable[..., None]) -> Exact:
    """Train and measure it; whatever goes wrong is written down."""
    begun: dict[str, Any] = {"layer": EXACT, "spec": f"{OUTPUT} on cells", "engine": "cells"}
    try:
        return _solve(settings, texts, tell, begun)
    except UnhotError as error:
        nothing = np.zeros(0)
        return Exact(Measured(**begun, failed=" ".join(str(error).split())), np.zeros(0, np.int32), nothing, nothing.reshape(0, 0))


def _solve(settings: Settings, texts: Texts, tell: Callable[..., None], begun: dict[str, Any]) -> Exact:
    memory = 0

    def told(progress: Progress) -> None:
        nonlocal memory
        memory = progress.details.get("memory", memory)
        tell("training", progress.seconds_left or 0.0)

    same: dict[str, Any] = {name: getattr(settings, name) for name in ("dim", "window", "threads", "seed")}
    model = SkipGram(output=OUTPUT, on="cells", epochs=EPOCHS, shrink=False, sample=0.0, **same)
    tell("preparing")
    began = time.perf_counter()
    model.fit(texts.train, callbacks=[told], note=lambda line: None)
    seconds = time.perf_counter() - began  # counting, too
    if model.history.interrupted:
        raise KeyboardInterrupt
    tell("evaluating")
    inputs, weight = chosen_inputs(texts.train.vocabulary.counts, INPUTS)
    figures: dict[str, Any] = {
        "lr": model.lr,
        "seconds": seconds,
        "pairs": model.history.pairs,
        "learned_bytes": learned_bytes(model.learned),
        "training_bytes": memory,
    }
    loss = held_out(model, texts.curve).cross_entropy
    result, curve = held_out(model, texts.held_out), (Point(seconds, model.history.pairs, loss),)
    measured = Measured(**begun, **figures, result=result, curve=curve, divergence=0.0)
    return Exact(measured, inputs, weight, model.head.log_prob(model.word_inputs().vectors[inputs]))


def chosen_inputs(counts: Counts, most: int) -> tuple[Ids, Doubles]:
    """Words and their weights: all, or those at even steps through the tokens.

    >>> chosen_inputs(np.array([6, 2]), 2)
    (array([0, 1], dtype=int32), array([0.75, 0.25]))
    >>> chosen_inputs(np.array([90, 60, 30, 10, 10]), 4)
    (array([0, 1, 2], dtype=int32), array([0.5 , 0.25, 0.25]))
    """
    if counts.size <= most:
        return np.arange(counts.size, dtype=np.int32), counts / counts.sum()
    ends = np.cumsum(counts)
    inputs, times = np.unique(np.searchsorted(ends, (np.arange(most) + 0.5) * (ends[-1] / most), side="right"), return_counts=True)
    return inputs.astype(np.int32), times / most
