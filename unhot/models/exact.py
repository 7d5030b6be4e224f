"""Exact training: skip-gram on the counts of all word pairs, without random draws.

The loss of a whole text depends only on how often each pair of words occurs. With `on="cells"`, `SkipGram` is
trained on these counts, the cells: every epoch computes the exact loss of all pairs (train/exact_run.py).
Rows are inputs and columns are targets. The vocabulary can have thousands of words, not more.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import ConfigError, DataError
from unhot.models.cell_model import CellData, count_cells, some_cells, their_settings
from unhot.models.engine import Engine, EngineData, Wiring
from unhot.models.fitting import Reads, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.starting_point import StartingPoint
from unhot.models.text_model import encoded
from unhot.train.epoch_run import Plan
from unhot.train.exact_run import ExactRun, ExactState, check_values, new_squares, step_memory
from unhot.train.history import Position
from unhot.train.params import without_copies
from unhot.train.state_copy import kept_in_memory

LR = 0.05  # default learning rate of training on cells, see `unhot.train.exact_run`
MOST_WORDS = 10_000  # unless max_vocab allows more: every epoch computes a score for each pair of words


class OnCells(Engine):
    """The engine that trains on cells, by matrix products in NumPy."""

    def __init__(self, model: Any, wiring: Wiring, data: EngineData) -> None:
        super().__init__(model, wiring, data)
        self._sizes = self._plain_sizes()
        vectors = 4 * model.dim * (self._sizes.inputs + self._sizes.rows)
        self.memory = {
            "vectors": vectors,
            "mean squares of gradients": vectors,
            "their last good state": kept_in_memory(2 * vectors),
            "a step": step_memory(self._sizes.inputs, model.dim, model.threads),
        }

    @classmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` unless the layer's loss is a sum over cells and the device is the CPU."""
        model.layer.check_cells()
        if model.device != "cpu":
            raise ConfigError(
                f"device={model.device!r}: training on cells runs on the cpu only; leave device out"
            )

    @classmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the kernels that count cells, or load them from disk."""
        warm_up_counting()

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the params without padding, and the mean squares of gradients.

        The mean squares are saved only while the training is not complete.
        """
        model, data = self.model, self.data
        params = without_copies(self._start_params(self._sizes, start, model.dim), self._sizes, model.dim)
        squares = new_squares(params, {} if start is None else start.squares)
        self._state = ExactState(model.layer, params, squares, data.frozen)
        return LearnedWords(
            layer=model.layer,
            in_vocabulary=data.inputs,
            out_vocabulary=data.targets,
            params=params,
            seen=np.zeros(0, np.int64),
            frozen=data.frozen,
            squares={name: array for name, array in squares._asdict().items() if array.size},
        )

    def run(self, plan: Plan) -> ExactRun:
        """Make the run over blocks of rows; a new training resets the mean squares, whatever its start is."""
        if plan.history.position == Position():
            for square in self._state.squares:
                square[:] = 0.0
        return ExactRun(self.data.text, self._state, plan, self.model.threads)


@contextlib.contextmanager
def open_cells(model: Any, reads: Reads, tells: Tells) -> Iterator[CellData]:
    """Count the cells of a text, or take given cells and the settings that they were counted with."""
    most = max(model.max_vocab or 0, MOST_WORDS)
    if isinstance(reads.source, Cells):
        cells = some_cells(reads.source)
        _check_words(len(cells.vocabulary), most)
        check_values(cells)
        yield CellData(cells, _their_settings(model, cells, tells))
        return
    counted = {name: getattr(model, name) for name in ("window", "sample", "seed", "threads")}
    counted |= {"weights": "dynamic" if model.shrink else "flat", "sides": "both"}
    with encoded(model, reads, tells) as corpus:
        _check_words(len(corpus.vocabulary), most)
        with count_cells(corpus, counted, reads.directory, tells) as cells:
            yield CellData(cells, {})


def _their_settings(model: Any, cells: Cells, tells: Tells) -> dict[str, Any]:
    theirs: dict[str, Any] = {
        name: cells.settings[name] for name in ("window", "sample") if name in cells.settings
    }
    if "weights" in cells.settings:
        theirs["shrink"] = cells.settings["weights"] == "dynamic"
    chosen = their_settings(model, theirs, tells)
    for name, usual in (("weights", ("flat", "dynamic")), ("sides", ("both",))):
        if (found := cells.settings.get(name, usual[0])) not in usual:
            tells.say(f"{name}={found!r}: the cells were counted with it; training on text has no such pairs")
    return chosen


def _check_words(words: int, most: int) -> None:
    if words > most:
        raise DataError(
            f"{words:,} words, on='cells': every epoch computes a score for each pair of words, so at most "
            f"{most:,} words are allowed: encode the text with max_vocab={MOST_WORDS} (--max-vocab "
            f"{MOST_WORDS}), or set max_vocab={words} if you have the time"
        )
