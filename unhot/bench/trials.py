"""Run the trials of a comparison: train for a given time, and find the learning rate for it.

The clock runs while a model is trained and stops while it is evaluated: the training is interrupted as by
Ctrl-C, the model is evaluated, and the training is resumed. The learning rate is constant between two
evaluations and falls from one to the next, linearly with the time on the clock:

    lr(t) = lr (1 - t / T)        T the total seconds, t the middle between two evaluations

In normal training the rate falls with the position in the text. That does not work here: in a minute one
layer reads the text ten times, and another a hundredth of it.
"""

import contextlib
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from unhot.corpus.corpus import Corpus
from unhot.errors import Diverged, UnhotError
from unhot.models.word_model import WordModel
from unhot.train.progress import Progress

# when to evaluate, as shares of the time; more often at first, when the model learns fastest
LOOKS = (0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
TUNING_LOOKS = (0.4, 0.8, 1.0)
# share of the time that each tried learning rate gets; a shorter training would favour low rates
TUNING_SHARE = 0.25
RUNG = 4.0  # factor from one learning rate to the next
RUNGS = 4  # the most steps up or down from the first rate
NOISE = 0.002  # share of the loss by which a lower rate must be better
DOWN = 2  # the most steps down from the first rate, unless the training diverges
USUAL_TRIALS = 3.5  # rates that are tried: the first, one up and one down, and often one more
MOST_TRIALS = 2 + RUNGS  # the first, one up, all down

Row = TypeVar("Row")  # the results of a trial
Left: TypeAlias = Callable[[float], None]


class Point(NamedTuple):
    """An evaluation of a model during training."""

    seconds: float  # of training so far
    pairs: int  # trained so far
    loss: float  # held-out loss in nats per pair


@dataclass
class Stopwatch:
    """A callback that interrupts a training, as Ctrl-C would, at the first chunk that ends after a share."""

    seconds: float  # of the whole training; 0: its length is the number of its words
    left: Left = lambda seconds: None  # called with the seconds left
    shares: Sequence[float] = ()  # at which it interrupts
    stopped: bool = False  # whether it has interrupted
    memory: int = 0  # planned memory of the training in bytes

    def __call__(self, progress: Progress) -> None:
        """Check the time, and interrupt the training if it is up."""
        self.memory = progress.details.get("memory", self.memory)
        if progress.event == "progress" or (progress.event == "epoch" and self.seconds):
            self.left(max(0.0, self.seconds - progress.seconds))
            done = progress.seconds / self.seconds if self.seconds else progress.words / progress.total_words
            later = [share for share in self.shares if share > done]
            self.stopped = len(later) < len(self.shares)
            self.shares = later
            if self.stopped:
                raise KeyboardInterrupt


def pieces(model: Any, corpus: Corpus, watch: Stopwatch) -> Iterator[None]:
    """Train a model, and yield at each share of the watch and at the end, for the caller to evaluate it."""
    learn: Callable[..., Any] = model.fit
    while True:
        watch.stopped = False
        learn(corpus, callbacks=[watch], note=lambda line: None)
        if model.history.interrupted and not watch.stopped:
            raise KeyboardInterrupt  # the user interrupted, not the clock
        yield
        if model.complete:
            return
        learn = model.resume


def train_for(model: WordModel, corpus: Corpus, watch: Stopwatch, shares: Sequence[float]) -> Iterator[None]:
    """Train for the seconds of a watch, and yield at shares of them, for the caller to evaluate the model.

    The model's rate is the initial one. After a long chunk the time may be past several shares: then there
    are fewer evaluations; `model.history` has the actual time.
    """
    lr, training = model.first_lr, pieces(model, corpus, watch)
    for before, share in pairwise((0.0, *shares)):
        if model.history.seconds < share * watch.seconds:
            watch.shares = [share]
            model.lr = lr * (1 - (before + share) / 2)
            yield next(training)


def best_lr(loss: Callable[[float], float], first: float) -> float:
    """Find the learning rate with the lowest loss on a ladder of rates.

    From the first rate the search goes up while the loss falls. If the first step up does not help, it goes
    down, but only for a clear gain and only a few steps: in a short training of a slow layer, learning less
    also means less noise, so a rate that learns nothing would win. A diverging training counts as an infinite
    loss; from there the search continues downwards.
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
            f"training diverged (infinite or NaN numbers) with every lr from {first * RUNG:.3g} down to "
            f"{first * RUNG**best:.3g}"
        )
    return first * RUNG**best


@dataclass(frozen=True)
class Trial(Generic[Row]):
    """What is compared: a model with its settings."""

    rows: Callable[[], Iterator[Row]]  # trains and measures it; yields one result, or one for each seed
    failed: Callable[..., Row]  # returns the result of a trial that failed, with the reason as `failed`


def run_trials(trials: Iterable[Trial[Row]], rows: list[Row], told: Callable[[Row], None]) -> bool:
    """Append the results of all trials to `rows`; return whether Ctrl-C ended the comparison.

    Ctrl-C keeps the results so far. Any other error becomes the result of its trial, as a model may come from
    a plugin: the others must still be measured. `told` is called with each result.
    """
    try:
        for trial in trials:
            for row in _results(trial):
                rows.append(row)
                told(row)
    except KeyboardInterrupt:  # may also come between two trials
        return True
    return False


def _results(trial: Trial[Row]) -> Iterator[Row]:
    try:
        with ignored_overflow():
            yield from trial.rows()
    except KeyboardInterrupt:
        yield trial.failed(failed="interrupted")
        raise
    except Exception as error:
        yield trial.failed(failed=reason(error))


def reason(error: BaseException) -> str:
    """Return the message of an error on one line."""
    why = str(error) if isinstance(error, UnhotError) else f"{type(error).__name__}: {error}"
    return " ".join(why.split())


@contextlib.contextmanager
def ignored_overflow() -> Iterator[None]:
    """Ignore the warnings of NumPy: too high a rate makes numbers overflow, which is handled."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
