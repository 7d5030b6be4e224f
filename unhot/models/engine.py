"""What trains a word model: compiled kernels, PyTorch, or matrix products on the cells of a text.

An engine is made for a task and for what it is trained on. It says how much memory it will need before it
takes any, makes what a training begins with, and the training itself.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.kernels.windows import Window
from unhot.models.learned_words import LearnedWords
from unhot.models.ngram_rows import NgramRows
from unhot.models.starting_point import StartingPoint
from unhot.models.wiring import Wiring
from unhot.outputs import OutputLayer
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import HotSizes, Sizes, finite, start_params
from unhot.types import Bytes
from unhot.vocab.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Task:
    """The settings of a model that engines need."""

    name: str  # of the model
    layer: OutputLayer
    wiring: Wiring
    window: Window
    sample: float  # threshold of sub-sampling
    dim: int
    seed: int
    threads: int
    device: str
    batch: int


@dataclass(frozen=True, kw_only=True)
class TaskData:
    """What a task is trained on."""

    data: Any  # a Corpus, or Cells
    in_vocabulary: Vocabulary  # what goes in
    out_vocabulary: Vocabulary  # what is predicted
    frozen: Bytes  # [words] 1 where an input vector stays as it is; of size zero where none does
    rows: NgramRows | None = None  # what words are made of; None: of a row each


class Engine(ABC):
    """Made for a task and its data."""

    memory: dict[str, int]  # bytes by purpose

    def __init__(self, task: Task, data: TaskData) -> None:
        self._task, self._data = task, data

    @classmethod
    @abstractmethod
    def check(cls, task: Task) -> None:
        """Raise a `ConfigError` for what it cannot train."""

    @classmethod
    def check_machine(cls, task: Task) -> None:
        """Raise an error for what it cannot train here: better before a long text is read than after it."""
        return

    @classmethod
    @abstractmethod
    def warm_up(cls, task: Task) -> None:
        """Compile or load what a task will be trained with, before its data is known."""

    @abstractmethod
    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """What a training begins with; its arrays change while it is trained."""

    @abstractmethod
    def run(self, plan: Plan) -> EpochRun[Any]:
        """The training of what `begin` has made."""

    def _plain_sizes(self) -> Sizes:
        """Rows as they are, without those of threads."""
        layer, data = self._task.layer, self._data
        rows = layer.rows(data.out_vocabulary.counts)
        return Sizes(len(data.in_vocabulary), rows, layer.biases(), HotSizes(0, 0), 0, 0)

    def _start_params(self, sizes: Sizes, start: StartingPoint | None, stride: int) -> Params:
        """New rows, then those that there are already."""
        task, first = self._task, self._task.wiring.first_rows
        params = start_params(sizes, task.dim, stride, task.seed, first)
        if params.out_bias.size:
            params.out_bias[: sizes.rows] = task.layer.start_bias(self._data.out_vocabulary.counts)
        if start is not None:
            with np.errstate(over="ignore"):
                start.fill(params)
            if first.half and not finite(params):
                raise DataError(
                    "start: it holds numbers that are not finite as 16-bit floats, which end at 65504: "
                    "leave float16 out"
                )
        return params
