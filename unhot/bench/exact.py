"""The exact solution: the reference for all layers in a comparison on skip-gram.

It is the full softmax with biases, trained on the counts X of all pairs (see `unhot.train.exact_run`), on the
same lines as all layers. It has no time limit: it trains as many epochs as it takes to come close to its
minimum. It draws no random words. So a layer's distance from it is due to the layer's estimates, to the
layer's own objective, and to the time it had. Two figures give the distance:

    above exact     the layer's cross entropy on the held-out lines, minus that of the exact solution
    train above     the same on the training lines: -sum_ij X[i, j] log P(j | i) / sum_ij X[i, j], minus that
                    of the exact solution

The exact solution is the minimum of the loss on the training lines, not on the held-out lines. It memorises a
small text; then the counts alone, or a layer that was stopped early, may predict the held-out lines better.
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.bench.results import CELLS, EXACT, Measured, Settings, learned_bytes
from unhot.bench.texts import Texts
from unhot.bench.trials import Point, ignored_overflow, reason
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.errors import DataError
from unhot.evaluate.held_out import held_out
from unhot.models.exact import MOST_WORDS
from unhot.models.skipgram import SkipGram
from unhot.models.word_model import WordModel
from unhot.train.exact_run import steps_of_epoch
from unhot.train.progress import Progress

EPOCHS = 40  # at least; for 10,000 words of Wikipedia, 30 epochs gave a training loss of 6.435, 60 gave 6.430
STEPS = 1600  # at least: a small vocabulary has few steps in an epoch
PROBED = 6  # reports from the steps whose speed is measured
OUTPUT = "softmax:bias=true"
BEGUN: dict[str, Any] = {"layer": EXACT, "spec": f"{OUTPUT} on cells", "engine": CELLS}
AT_ONCE = 1 << 20  # the number of cells whose probabilities are in memory at once


class Counted(NamedTuple):
    """The cells of the training lines, how long counting took, and the speed of training on them."""

    cells: Cells | None  # None: the exact solution is not possible
    failed: str = ""  # why it is not possible
    seconds: float = 0.0  # of counting
    epoch: float = 0.0  # seconds of an epoch of the exact solution

    @property
    def epochs(self) -> int:
        """The number of epochs that come close to the minimum; 0 if it is not possible."""
        return 0 if self.cells is None else epochs_of(len(self.cells.vocabulary))


@contextlib.contextmanager
def counted_cells(settings: Settings, texts: Texts) -> Iterator[Counted]:
    """Count the cells of the training lines, and measure the speed of some steps on them.

    An error becomes part of the result. The cells stay open until the context ends.
    """
    with contextlib.ExitStack() as stack:
        try:
            with ignored_overflow():
                found = _counted(settings, texts, stack) if settings.finds_exact() else Counted(None)
        except Exception as error:  # any error, such as a lack of memory: the layers must still be measured
            found = Counted(None, reason(error))
        yield found


def _counted(settings: Settings, texts: Texts, stack: contextlib.ExitStack) -> Counted:
    words, began = len(texts.train.vocabulary), time.perf_counter()
    if words > MOST_WORDS:  # checked before the cells are counted
        raise DataError(
            f"{words:,} words: the time of the exact solution grows with their square, so at "
            f"most {MOST_WORDS:,} are allowed; lower max_vocab (--max-vocab {MOST_WORDS}), "
            "or leave the exact solution out (--no-exact)"
        )
    counting = cooccurrences(texts.train, window=settings.window, weights="flat", threads=settings.threads)
    cells = stack.enter_context(counting)
    return Counted(cells, "", time.perf_counter() - began, _epoch_seconds(settings, cells))


def epochs_of(words: int) -> int:
    """Return the number of epochs that come close to the minimum.

    >>> epochs_of(10_000), epochs_of(500)
    (40, 200)
    """
    return max(EPOCHS, STEPS // steps_of_epoch(words))


@dataclass
class ExactSolution:
    """The trial of the exact solution, and then the loss that layers are compared with."""

    settings: Settings
    texts: Texts
    counted: Counted
    epochs: int
    tell: Callable[..., None]  # called with a stage and the seconds left in it
    loss: float = math.nan  # its loss on the cells of the training lines, in nats per pair

    def above(self, model: WordModel) -> float:
        """Return a model's loss on the training lines minus that of the exact solution; NaN if it failed."""
        cells = self.counted.cells
        return math.nan if cells is None or math.isnan(self.loss) else cells_loss(model, cells) - self.loss

    def rows(self) -> Iterator[Measured]:
        """Train and measure the exact solution."""
        self.tell("preparing")
        cells, memory = self.counted.cells, 0
        began = time.perf_counter()
        if cells is None:
            raise DataError(self.counted.failed)

        def told(progress: Progress) -> None:
            nonlocal memory
            memory = progress.details.get("memory", memory)
            self.tell("training", progress.seconds_left or 0.0)

        model = _new_model(self.settings, self.epochs)
        model.fit(cells, callbacks=[told], note=lambda line: None)
        seconds = self.counted.seconds + time.perf_counter() - began
        if model.history.interrupted:
            raise KeyboardInterrupt
        self.tell("evaluating")
        look = Point(seconds, model.history.pairs, held_out(model, self.texts.curve).cross_entropy)
        self.loss = cells_loss(model, cells)
        yield Measured(
            **BEGUN,
            lr=model.first_lr,
            seconds=seconds,
            pairs=model.history.pairs,
            learned_bytes=learned_bytes(model.learned),
            training_bytes=memory,
            result=held_out(model, self.texts.held_out),
            curve=(look,),
            train_above=0.0,
        )


def _new_model(settings: Settings, epochs: int) -> SkipGram:
    same: dict[str, Any] = {name: getattr(settings, name) for name in ("dim", "window", "threads", "seed")}
    return SkipGram(output=OUTPUT, on="cells", epochs=epochs, shrink=False, sample=0.0, **same)


def _epoch_seconds(settings: Settings, cells: Cells) -> float:
    """Measure some steps, and return the seconds of an epoch."""
    ends: list[float] = []

    def told(progress: Progress) -> None:
        if progress.event in ("start", "progress"):
            ends.append(time.perf_counter())
            if len(ends) == PROBED:
                raise KeyboardInterrupt

    model = _new_model(settings, 1).fit(cells, callbacks=[told], note=lambda line: None)
    if model.history.interrupted and len(ends) < PROBED:
        raise KeyboardInterrupt  # the user interrupted, not the probe
    steady = ends[1:] if len(ends) > 2 else ends  # the first step is slower
    return (steady[-1] - steady[0]) / max(1, len(steady) - 1) * steps_of_epoch(len(cells.vocabulary))


def cells_loss(model: WordModel, cells: Cells) -> float:
    """Return the mean loss of all pairs in nats: -sum_ij X[i, j] log P(j | i) / sum_ij X[i, j]."""
    vectors = model.answers.word_inputs().vectors
    starts = cells.starts
    total, first = 0.0, 0
    while first < len(cells.vocabulary):
        last = max(first + 1, int(np.searchsorted(starts, starts[first] + AT_ONCE, side="right")) - 1)
        some = slice(starts[first], starts[last])
        rows = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(starts[first : last + 1]))
        log_prob, _ = model.head.pairs_log_prob(vectors[first:last], rows, cells.columns[some])
        total -= float(log_prob @ cells.values[some])
        first = last
    return total / float(cells.row_sums().sum())
