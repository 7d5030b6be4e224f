"""The interface of engines, which train models that have an output layer: by kernels, PyTorch or NumPy.

An engine is made for the settings of a model, its `Wiring`, and what it learns from. It first says how much
memory it will need, then makes the initial params (`begin`), then the run that trains them (`run`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.kernels.window_lists import WindowList
from unhot.kernels.windows import Window, no_text
from unhot.models.learned_words import NO_FROZEN, NO_WEIGHTS, LearnedWords
from unhot.models.ngram_rows import NgramRows
from unhot.models.starting_point import StartingPoint
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import FirstRows, HotSizes, Sizes, finite, start_params
from unhot.train.torch_batches import ExampleArrays
from unhot.types import Bytes, Floats, Ids
from unhot.vocab.vocabulary import Vocabulary


class Wiring(NamedTuple):
    """How a model connects inputs to targets, and the largest size of a training step."""

    feeder: Callable[..., Any]  # makes the examples in kernels (kernels/feeder.py), of a text and its window
    examples: Callable[[WindowList], ExampleArrays] | None = None  # makes them as arrays; None: no batches
    window: Window = Window(1, False)  # what is near in a text; labelled lines have no windows
    inputs: int = 1  # inputs of a step, at most
    targets: int = 1  # targets of a step, at most
    rounds: int = 1  # sets of draws in a step
    given: int = 0  # columns that the feeder adds to a step, at most
    listed: int = 0  # rows of an input, or targets, that a step writes into a list, at most
    combine: str | None = None  # how context words become one input: mean or sum; None: one input for each
    first_rows: FirstRows = FirstRows()
    no_text: Callable[[], Any] = no_text  # makes an empty text to compile with
    engine: Any = None  # the `Engine` that trains it; None: the one that the settings name


@dataclass(frozen=True, kw_only=True)
class EngineData:
    """What an engine learns from."""

    text: Any  # a Corpus, walks, Cells, or labelled lines
    inputs: Vocabulary  # what has an input row
    targets: Vocabulary  # what is predicted
    frozen: Bytes = field(default_factory=lambda: NO_FROZEN)  # [input rows] 1 where the row must not change
    rows: NgramRows | None = None  # the input rows that make up each word; None: one row for each word
    shared: str = "n-gram buckets"  # what the rows are called that several words have
    # for each shard a number for each sentence, which feeders find in `Text.beside`
    beside: Sequence[Ids] = ()
    # [input rows] their weights in a line; empty: all are 1
    weights: Floats = field(default_factory=lambda: NO_WEIGHTS)


def near_words(text: Any, inputs: Vocabulary | None = None, **more: Any) -> EngineData:
    """Return what an engine learns from the windows of a text; by default its words are the inputs."""
    return EngineData(text=text, inputs=inputs or text.vocabulary, targets=text.vocabulary, **more)


class Engine(ABC):
    """Base class of engines; an engine is made for the settings of a model, its wiring and its data."""

    memory: dict[str, int]  # bytes by purpose

    def __init__(self, model: Any, wiring: Wiring, data: EngineData) -> None:
        self.model, self.data = model, data
        self._wiring = wiring

    @classmethod
    @abstractmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` if the engine cannot train the model."""

    @classmethod
    def check_machine(cls, model: Any) -> None:
        """Raise an error if this machine cannot train the model; called before a long text is read."""
        return

    @classmethod
    @abstractmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the kernels, or load them from disk, before the data is known."""

    @abstractmethod
    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the initial params; the run changes their arrays in place."""

    @abstractmethod
    def run(self, plan: Plan) -> EpochRun[Any]:
        """Make the run that trains the params that `begin` has made."""

    def _plain_sizes(self) -> Sizes:
        """Return the numbers of input and output rows, without copies for threads."""
        layer, data = self.model.layer, self.data
        rows = layer.rows(data.targets.counts)
        return Sizes(len(data.inputs), rows, layer.biases(), HotSizes(0, 0), 0, 0)

    def _start_params(self, sizes: Sizes, start: StartingPoint | None, stride: int) -> Params:
        """Make random initial params, then overwrite the rows that the starting point has."""
        model, first = self.model, self._wiring.first_rows
        params = start_params(sizes, model.dim, stride, model.seed, first)
        if params.out_bias.size:
            params.out_bias[: sizes.rows] = model.layer.start_bias(self.data.targets.counts)
        if start is not None:
            if start.out_rows.size not in (0, sizes.rows):
                raise DataError(
                    f"the model to start from has {start.out_rows.size} output rows, but "
                    f"{model.layer.spec()} has {sizes.rows} for its words: its files are damaged, or a "
                    "file that the layer names has changed; train again from the text"
                )
            with np.errstate(over="ignore"):
                start.fill(params)
            if first.half and not finite(params):
                raise DataError(
                    "start: some of its numbers are not finite as 16-bit floats, whose largest is 65504: "
                    "leave float16 out"
                )
        return params
