"""The exact solution, which all layers of a comparison of skip-gram are measured by.

The full softmax with biases, trained on the counts X of all pairs (see `unhot.train.exact_run`), on the same
lines as all layers and without a clock: as many epochs as it takes to come close to its minimum. It draws
nothing, so what a layer is behind it is due to the layer's estimates, to its own target, and to the time it
had. How far a layer is behind it:

    above exact     its cross entropy of the held-out lines, minus that of the exact solution
    train above     the same of the training lines: -sum_ij X[i, j] log P(j | i) / sum_ij X[i, j], minus that
                    of the exact solution

What it is the minimum of is the loss of the training lines. Of those that were held out it may be far from
that: a small text is learned by heart, and then counts alone, or a layer that was stopped early, predict
other lines better.
"""

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from unhot.bench.results import CELLS, EXACT, Measured, learned_bytes, reason
from unhot.bench.settings import Settings
from unhot.bench.texts import Texts
from unhot.bench.timed import Point
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.errors import DataError
from unhot.evaluate.held_out import held_out
from unhot.models.exact import MOST_WORDS
from unhot.models.skipgram import SkipGram
from unhot.models.word_model import WordModel
from unhot.train.exact_run import steps_of_epoch
from unhot.train.progress import Progress

EPOCHS = 40  # at least; of 10,000 words of Wikipedia, 30 epochs came to a training loss of 6.435, 60 to 6.430
STEPS = 1600  # at least: few words have epochs of few steps
OUTPUT = "softmax:bias=true"
AT_ONCE = 1 << 20  # cells whose probabilities are in memory


class ExactSolution(NamedTuple):
    """What came of it, and what layers are compared with."""

    measured: Measured
    cells: Cells | None  # of the training lines; None: it failed
    loss: float  # of these, nats a pair

    def above(self, model: WordModel) -> float:
        """How much more the loss of the training lines is under a model; NaN: not known."""
        return cells_loss(model, self.cells) - self.loss if self.cells is not None else math.nan


@contextlib.contextmanager
def exact_solution(settings: Settings, texts: Texts, tell: Callable[..., None]) -> Iterator[ExactSolution]:
    """Train and measure it; whatever goes wrong is written down.

    The cells are there as long as the context is.
    """
    begun: dict[str, Any] = {"layer": EXACT, "spec": f"{OUTPUT} on cells", "engine": CELLS}
    with contextlib.ExitStack() as stack:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # as for the layers
                tell("preparing")
                words = len(texts.train.vocabulary)
                if words > MOST_WORDS:  # refused before they are counted
                    raise DataError(
                        f"{words:,} words: the exact solution takes time by their square, and is found for "
                        f"at most {MOST_WORDS:,}; lower max_vocab (--max-vocab {MOST_WORDS}), "
                        "or leave it out (--no-exact)"
                    )
                began = time.perf_counter()
                counting = cooccurrences(
                    texts.train, window=settings.window, weights="flat", threads=settings.threads
                )
                found = _solve(settings, texts, stack.enter_context(counting), tell, begun, began)
        except Exception as error:  # also one of memory, say: it must not cost the results of all layers
            found = ExactSolution(Measured(**begun, failed=reason(error)), None, math.nan)
        yield found


def epochs_of(words: int) -> int:
    """As many as it takes to come close to the minimum.

    >>> epochs_of(10_000), epochs_of(500)
    (40, 200)
    """
    return max(EPOCHS, STEPS // steps_of_epoch(words))


def _solve(
    settings: Settings,
    texts: Texts,
    cells: Cells,
    tell: Callable[..., None],
    begun: dict[str, Any],
    began: float,
) -> ExactSolution:
    memory = 0

    def told(progress: Progress) -> None:
        nonlocal memory
        memory = progress.details.get("memory", memory)
        tell("training", progress.seconds_left or 0.0)

    same: dict[str, Any] = {name: getattr(settings, name) for name in ("dim", "window", "threads", "seed")}
    model = SkipGram(
        output=OUTPUT, on="cells", epochs=epochs_of(len(cells.vocabulary)), shrink=False, sample=0.0, **same
    )
    model.fit(cells, callbacks=[told], note=lambda line: None)
    seconds = time.perf_counter() - began  # counting, too
    if model.history.interrupted:
        raise KeyboardInterrupt
    tell("evaluating")
    figures: dict[str, Any] = {
        "lr": model.first_lr,
        "seconds": seconds,
        "pairs": model.history.pairs,
        "learned_bytes": learned_bytes(model.learned),
        "training_bytes": memory,
    }
    look = Point(seconds, model.history.pairs, held_out(model, texts.curve).cross_entropy)
    figures |= {"result": held_out(model, texts.held_out), "curve": (look,), "train_above": 0.0}
    return ExactSolution(Measured(**begun, **figures), cells, cells_loss(model, cells))


def cells_loss(model: WordModel, cells: Cells) -> float:
    """The mean loss of all pairs that cells hold, in nats: -sum_ij X[i, j] log P(j | i) / sum_ij X[i, j]."""
    vectors = model.word_inputs().vectors
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
