"""Exact training: skip-gram on the counts of pairs, without a draw.

The loss of a whole text depends only on how often each pair of words occurs. With `on="cells"` these counts,
the cells, are what `SkipGram` is trained on: every pair in every epoch, the exact loss (train/exact_run.py).
Rows are inputs and columns targets, and it takes a vocabulary of thousands of words, not more.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import warm_up_counting
from unhot.errors import ConfigError, DataError
from unhot.models.cell_model import count_cells, some_cells, take_settings
from unhot.models.engine import Engine, Task, TaskData
from unhot.models.fitting import Reads, Tells
from unhot.models.learned_words import LearnedWords
from unhot.models.starting_point import StartingPoint
from unhot.models.text_model import TextModel
from unhot.train.epoch_run import Plan
from unhot.train.exact_run import ExactRun, ExactState, check_values, new_squares, step_memory
from unhot.train.good_state import kept_in_memory
from unhot.train.history import Position
from unhot.train.params import without_copies

LR = 0.05  # what a step on cells is good with, see `unhot.train.exact_run`
MOST_WORDS = 10_000  # unless max_vocab allows more: every epoch computes a score for each pair of them


class OnCells(Engine):
    """Matrix products on the counts of pairs."""

    def __init__(self, task: Task, data: TaskData) -> None:
        super().__init__(task, data)
        self._sizes = self._plain_sizes()
        vectors = 4 * task.dim * (self._sizes.inputs + self._sizes.rows)
        self.memory = {
            "vectors": vectors,
            "mean squares of gradients": vectors,
            "their last good state": kept_in_memory(2 * vectors),
            "a step": step_memory(self._sizes.inputs, task.dim, task.threads),
        }

    @classmethod
    def check(cls, task: Task) -> None:
        """The layer's loss of a whole text is a sum over cells."""
        task.layer.check_cells()
        if task.device != "cpu":
            raise ConfigError(
                f"device={task.device!r}: on cells NumPy computes, on the cpu; leave device out"
            )

    @classmethod
    def warm_up(cls, task: Task) -> None:
        """Compile what counts the cells."""
        warm_up_counting()

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Rows without padding, and their squares: these are saved as long as the training goes on."""
        task, data = self._task, self._data
        params = without_copies(self._start_params(self._sizes, start, task.dim), self._sizes, task.dim)
        squares = new_squares(params, {} if start is None else start.squares)
        self._state = ExactState(task.layer, params, squares, data.frozen)
        return LearnedWords(
            layer=task.layer,
            in_vocabulary=data.in_vocabulary,
            out_vocabulary=data.out_vocabulary,
            params=params,
            seen=np.zeros(0, np.int64),
            frozen=data.frozen,
            squares={name: array for name, array in squares._asdict().items() if array.size},
        )

    def run(self, plan: Plan) -> ExactRun:
        """Block after block of rows; a training that begins anew has no squares, whatever it starts from."""
        if plan.history.position == Position():
            for square in self._state.squares:
                square[:] = 0.0
        return ExactRun(self._data.data, self._state, plan, self._task.threads)


@contextlib.contextmanager
def open_cells(model: TextModel[Any], counted: dict[str, Any], reads: Reads, tells: Tells) -> Iterator[Cells]:
    """The cells of a text, counted with these settings.

    Or those that are given: their settings are taken, too.
    """
    most = max(model.max_vocab or 0, MOST_WORDS)
    if isinstance(reads.source, Cells):
        cells = some_cells(reads.source)
        _check_words(len(cells.vocabulary), most)
        check_values(cells)
        _take_settings(model, cells, tells)
        yield cells
        return
    with model.open_text(reads, tells) as corpus:
        _check_words(len(corpus.vocabulary), most)
        with count_cells(corpus, {**counted, "sides": "both"}, reads.directory, tells) as cells:
            yield cells


def _take_settings(model: TextModel[Any], cells: Cells, tells: Tells) -> None:
    theirs: dict[str, Any] = {
        name: cells.settings[name] for name in ("window", "sample") if name in cells.settings
    }
    if "weights" in cells.settings:
        theirs["shrink"] = cells.settings["weights"] == "dynamic"
    take_settings(model, theirs, tells)
    for name, usual in (("weights", ("flat", "dynamic")), ("sides", ("both",))):
        if (found := cells.settings.get(name, usual[0])) not in usual:
            tells.say(f"{name}={found!r}: as the cells were counted; no training on text has such pairs")


def _check_words(words: int, most: int) -> None:
    if words > most:
        raise DataError(
            f"{words:,} words, on='cells': every epoch computes a score for each pair of words, so at most "
            f"{most:,} are taken: encode the text with max_vocab={MOST_WORDS} (--max-vocab {MOST_WORDS}), or "
            f"set max_vocab={words} if you have the time"
        )
