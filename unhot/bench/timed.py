"""Training for a given time, and the learning rate for it.

The clock runs while a model is trained and stands still while it is looked at: the training is cut off as by
Ctrl-C, the model is evaluated, and the training is resumed. From one look to the next the learning rate stays
as it is; in steps, it falls linearly with the time on the clock:

    lr(t) = lr (1 - t / T)        T the seconds there are, t the middle between two looks

A usual training lets it fall with the position in the text. That cannot be done here: in a minute one layer
reads the text ten times, and another one a hundredth of it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

from unhot.corpus.corpus import Corpus
from unhot.errors import Diverged
from unhot.models.word_model import WordModel
from unhot.train.progress import Progress

# as shares of the time; more at first, when much is learned
LOOKS = (0.01, 0.03, *(tenth / 10 for tenth in range(1, 11)))
TUNING_LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)
RUNG = 4.0  # from one learning rate to the next
RUNGS = 4  # up or down from the first
NOISE = 0.002  # share of the loss by which a lower rate must be better
DOWN = 2  # down from the first, as long as the training is finite

Loss: TypeAlias = Callable[[WordModel], float]
Left: TypeAlias = Callable[[float], None]


class Point(NamedTuple):
    """A look at a model while it is trained."""

    seconds: float  # of training
    pairs: int  # trained
    loss: float  # held-out, nats a pair


@dataclass
class Stopwatch:
    """A callback that ends a training as Ctrl-C would: with the first chunk that ends after some seconds."""

    seconds: float  # of the whole training
    left: Left  # told how many of them are left
    until: float = 0.0  # when it stops
    stopped: bool = False  # whether it has
    memory: int = 0  # bytes that the training plans with

    def __call__(self, progress: Progress) -> None:
        """Look at the clock."""
        self.memory = progress.details.get("memory", self.memory)
        if progress.event in ("progress", "epoch"):
            self.left(max(0.0, self.seconds - progress.seconds))
            self.stopped = progress.seconds >= self.until
            if self.stopped:
                raise KeyboardInterrupt


def train_for(model: WordModel, corpus: Corpus, watch: Stopwatch, shares: Sequence[float]) -> Iterator[None]:
    """Train for the seconds of a watch, and stop at shares of them for a look at the model.

    The model's rate is that of the beginning. A chunk that takes long may make it later: then there are fewer
    looks, and `model.history` has the time that was taken.
    """
    learn: Callable[..., Any] = model.fit
    lr = model.first_lr
    for before, share in pairwise((0.0, *shares)):
        watch.until = share * watch.seconds
        watch.stopped = False
        if model.history.seconds < watch.until:
            model.lr = lr * (1 - (before + share) / 2)
            learn(corpus, callbacks=[watch], note=lambda line: None)
            if not watch.stopped:
                raise KeyboardInterrupt  # this was not the clock
            learn = model.resume
            yield


def best_lr(loss: Callable[[float], float], first: float) -> float:
    """The learning rate with the least loss on a ladder of rates.

    From the first rate it climbs while the loss falls; if the first step is in vain, it descends, but not for
    next to nothing, and not far: in a short training of a slow layer, the less is learned the less noise
    there is, and a rate that learns nothing would win. A training that leaves the finite numbers counts as an
    infinite loss, and below it the descent goes on.
    """
    tried: dict[int, float] = {}

    def at(rung: int) -> float:
        if rung not in tried:
            try:
                found = loss(first * RUNG**rung)
            except Diverged:
                found = math.inf
            tried[rung] = found if math.isfinite(found) else math.inf
        return tried[rung]

    best = 0
    while best < RUNGS and at(best + 1) < at(best):
        best += 1
    if best == 0:
        while best > -RUNGS and (
            at(best) == math.inf or (best > -DOWN and at(best - 1) < (1 - NOISE) * at(best))
        ):
            best -= 1
    if at(best) == math.inf:
        raise Diverged(
            f"training left the finite numbers with every lr from {first * RUNG:.3g} down to "
            f"{first * RUNG**best:.3g}"
        )
    return first * RUNG**best
