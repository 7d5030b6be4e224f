"""The interface of engines, which train models that have an output layer: by kernels, PyTorch or NumPy.

An engine is made for a task and its training data. It first says how much memory it will need, then makes
the initial params (`begin`), then the run that trains them (`run`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.kernels.windows import Window
from unhot.models.learned_words import NO_WEIGHTS, LearnedWords
from unhot.models.ngram_rows import NgramRows
from unhot.models.starting_point import StartingPoint
from unhot.models.wiring import Wiring
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import HotSizes, Sizes, finite, start_params
from unhot.types import Bytes, Floats, Ids
from unhot.vocab.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Task:
    """The settings of a model that all engines need."""

    name: str  # of the model
    layer: OutputLayer
    wiring: Wiring
    dim: int
    seed: int
    threads: int


@dataclass(frozen=True, kw_only=True)
class WindowTask(Task):
    """The settings of a model that learns from the windows of a text."""

    window: Window
    sample: float  # threshold of sub-sampling
    device: str
    batch: int
    engine: Any  # the `Engine` that trains it


AnyTask = TypeVar("AnyTask", bound=Task)


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """The training data of a task."""

    data: Any  # a Corpus, or Cells
    in_vocabulary: Vocabulary  # the words that are inputs
    out_vocabulary: Vocabulary  # the words that are predicted
    frozen: Bytes  # [input rows] 1 where the row must not change; size zero: all rows are trained
    rows: NgramRows | None = None  # the input rows that make up each word; None: one row for each word
    shared: str = ""  # what rows are called that several words have
    beside: Sequence[Ids] = ()  # of each shard: a number for each sentence; see `Text.beside`
    # [input rows] their weights in a line; empty: all are 1
    weights: Floats = field(default_factory=lambda: NO_WEIGHTS)


class Engine(ABC, Generic[AnyTask]):
    """Base class of engines; an engine is made for one task and its data."""

    memory: dict[str, int]  # bytes by purpose

    def __init__(self, task: AnyTask, data: TaskData) -> None:
        self._task, self._data = task, data

    @classmethod
    @abstractmethod
    def check(cls, task: AnyTask) -> None:
        """Raise a `ConfigError` if the engine cannot train the task."""

    @classmethod
    def check_machine(cls, task: AnyTask) -> None:
        """Raise an error if this machine cannot train the task; called before a long text is read."""
        return

    @classmethod
    @abstractmethod
    def warm_up(cls, task: AnyTask) -> None:
        """Compile the kernels of a task, or load them from disk, before the data is known."""

    @abstractmethod
    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the initial params; the run changes their arrays in place."""

    @abstractmethod
    def run(self, plan: Plan) -> EpochRun[Any]:
        """Make the run that trains the params that `begin` has made."""

    def _plain_sizes(self) -> Sizes:
        """Return the numbers of input and output rows, without copies for threads."""
        layer, data = self._task.layer, self._data
        rows = layer.rows(data.out_vocabulary.counts)
        return Sizes(len(data.in_vocabulary), rows, layer.biases(), HotSizes(0, 0), 0, 0)

    def _start_params(self, sizes: Sizes, start: StartingPoint | None, stride: int) -> Params:
        """Make random initial params, then overwrite the rows that the starting point has."""
        task, first = self._task, self._task.wiring.first_rows
        params = start_params(sizes, task.dim, stride, task.seed, first)
        if params.out_bias.size:
            params.out_bias[: sizes.rows] = task.layer.start_bias(self._data.out_vocabulary.counts)
        if start is not None:
            if start.out_rows.size not in (0, sizes.rows):
                raise DataError(
                    f"the model to start from has {start.out_rows.size} output rows, but {task.layer.spec()} "
                    f"has {sizes.rows} for its words: its files are damaged, or a file that the layer names "
                    "has changed; train again from the text"
                )
            with np.errstate(over="ignore"):
                start.fill(params)
            if first.half and not finite(params):
                raise DataError(
                    "start: some of its numbers are not finite as 16-bit floats, whose largest is 65504: "
                    "leave float16 out"
                )
        return params
