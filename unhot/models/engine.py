"""Engines, which train models that have an output layer: by kernels on threads, PyTorch or NumPy.

An engine is made for the settings of a model, its `Wiring`, and what it learns from. It first says how much
memory it will need, then makes the initial params (`begin`), then the run that trains them (`run`). The
compiled engines are here; torch_engine.py and exact.py have the others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.indexed_folder import read_only
from unhot.errors import ConfigError, DataError
from unhot.kernels.bags import NO_MIXING
from unhot.kernels.columns import candidates
from unhot.kernels.loop import Params, Room, scratch_bytes, training_kernel
from unhot.kernels.simd.tiles import shape
from unhot.kernels.steps import link, step_shape
from unhot.kernels.window_lists import WindowList
from unhot.kernels.windows import Window, kept_buffer, no_text
from unhot.models.learned_words import NO_FROZEN, NO_WEIGHTS, LearnedWords
from unhot.models.ngram_rows import NO_KEYS, NgramRows
from unhot.models.starting_point import StartingPoint
from unhot.train.chunked_text import WindowExamples
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.hogwild import Examples, HogwildRun, Kernel, TrainedState, warm_up
from unhot.train.hot_rows import hot_rows
from unhot.train.params import (
    FirstRows,
    HotSizes,
    Sizes,
    check_seen,
    finite,
    frozen_rows,
    padded,
    start_params,
    without_copies,
)
from unhot.train.schedule import text_chunks
from unhot.train.state_copy import kept_in_memory
from unhot.train.torch_batches import ExampleArrays
from unhot.types import Bytes, Counts, Floats, Ids
from unhot.vocab.subsampling import keep_probability
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


def by_shard(text: Any, numbers: Ids) -> list[Ids]:
    """Return a number for each line of a text by its shards, as `EngineData.beside` takes them."""
    edges = np.cumsum([shard.starts.size - 1 for shard in text.shards])[:-1]
    return [read_only(part) for part in np.split(numbers, edges)]


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


def make_kernel(model: Any, wiring: Wiring, counts: Counts | None) -> Kernel:
    """Make the training kernel of a model whose targets have these counts.

    With counts=None, before the text is read, the kernel is only good for compiling.
    """
    layer = model.layer
    layer.check_compiled()
    tables = layer.sketch() if counts is None else layer.tables(counts)
    for needed in (candidates, link):
        if not needed.knows(type(tables)):
            name = needed.__name__  # type: ignore[attr-defined]
            raise ConfigError(
                f"{layer.name}: no {name} function is registered for its {type(tables).__name__}; register "
                "both candidates and link"
            )
    columns = rows = 1
    if counts is not None:
        columns = layer.columns(counts, wiring.targets) + (wiring.rounds - 1) * layer.set_of_draws()
        columns += wiring.given
        rows = layer.rows(counts)
    fixed = layer.fixed_columns() if wiring.targets == 1 else None
    stride = padded(model.dim)
    tile = shape(stride) if layer.all_rows else step_shape(stride, fixed, wiring.inputs)
    scored = rows if layer.all_rows else columns
    return Kernel(
        train=training_kernel(tile, layer.all_rows),
        rows=rows,
        tables=tables,
        fresh=layer.fresh,
        room=Room(columns, tile.width, scored, wiring.inputs, wiring.listed),
    )


class CompiledEngine(Engine):
    """The base of engines with compiled kernels; a subclass says where the examples come from."""

    def __init__(self, model: Any, wiring: Wiring, data: EngineData) -> None:
        super().__init__(model, wiring, data)
        self._kernel = make_kernel(model, wiring, data.targets.counts)
        self._examples = self.examples(self._kernel.room.scored)
        self._sizes = self._make_sizes()
        self.memory = self._memory_plan()

    @abstractmethod
    def examples(self, columns: int) -> Examples:
        """Return the examples of an epoch, in chunks for steps of so many columns."""

    @abstractmethod
    def most_frozen(self) -> int:
        """Return the largest number of frozen input rows that a step can have."""

    def _make_sizes(self) -> Sizes:
        """Return the numbers of input and output rows, including the threads' copies of hot rows."""
        layer, data = self.model.layer, self.data
        inputs = len(data.inputs) if data.rows is None else data.rows.keys.size
        # more threads would have nothing to do
        threads = min(self.model.threads, len(self._examples.chunks))
        rows = layer.rows(data.targets.counts)
        hot = HotSizes(hot_rows(inputs, threads), 0 if layer.all_rows else hot_rows(rows, threads))
        aside = self.most_frozen() if data.frozen.size else 0
        return Sizes(inputs, rows, layer.biases(), hot, aside, threads)

    def _memory_plan(self) -> dict[str, int]:
        """Return the bytes that training will need, by purpose."""
        rows, stride = self.data.rows, padded(self.model.dim)
        sizes, kernel = self._sizes, self._kernel
        row = stride * (2 if self._wiring.first_rows.half else 4)
        used = 0 if rows is None else int(np.count_nonzero(rows.keys >= 0))
        vectors = row * (sizes.in_rows - used) + 4 * stride * sizes.out_rows
        plan = {"vectors": vectors}
        if rows is not None:
            plan[f"rows of {used:,} {self.data.shared}"] = row * used
            plan["lists of rows"] = rows.bags.rows.nbytes + rows.bags.starts.nbytes
        buffers = scratch_bytes(self._examples.buffers(), kernel.room, stride)
        plan["their last good state"] = kept_in_memory(vectors + row * used)
        plan["tables"] = sum(array.nbytes for array in kernel.tables if isinstance(array, np.ndarray))
        plan["buffers"] = sizes.threads * buffers
        return plan

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the params; what is learned is a view of them without padding and without threads' copies."""
        model, data = self.model, self.data
        sizes = self._sizes
        params = self._start_params(sizes, start, padded(model.dim))
        seen = model.layer.seen(self._kernel.tables)
        if start is not None and start.seen.size:
            check_seen(model.layer.spec(), start.seen.size, seen.size)
            seen[:] = start.seen
        mixing = NO_MIXING if data.rows is None else data.rows.bags.mixing
        self._state = TrainedState(params, seen, frozen_rows(sizes, data.frozen), sizes, mixing)
        return LearnedWords(
            layer=model.layer,
            in_vocabulary=data.inputs,
            out_vocabulary=data.targets,
            params=without_copies(params, sizes, model.dim),
            seen=seen,
            frozen=data.frozen,
            keys=NO_KEYS if data.rows is None else data.rows.keys,
            weights=data.weights,
            mixing=mixing,
        )

    def run(self, plan: Plan) -> HogwildRun:
        """Make the run that trains on all threads."""
        return HogwildRun(self._examples, self._kernel, self._state, plan)


class Compiled(CompiledEngine):
    """The engine that trains on the windows of a text with compiled kernels."""

    @classmethod
    def check(cls, model: Any, wiring: Wiring) -> None:
        """Raise a `ConfigError` unless the layer has a kernel and the device is the CPU."""
        model.layer.check_compiled()
        if model.device != "cpu":
            raise ConfigError(
                f"device={model.device!r}: the compiled engine runs on the cpu only; for other devices set "
                "engine='torch'"
            )

    @classmethod
    def warm_up(cls, model: Any, wiring: Wiring) -> None:
        """Compile the training kernel, or load it from disk."""
        feeder = wiring.feeder(wiring.no_text(), wiring.window)
        feed, half = kept_buffer(0, wiring.window.size), wiring.first_rows.half
        warm_up(make_kernel(model, wiring, None), feeder, feed, padded(model.dim), half)

    def examples(self, columns: int) -> WindowExamples:
        """Return the windows of the text."""
        model, text = self.model, self.data.text
        keep = keep_probability(text.vocabulary.counts, model.sample)
        chunks = text_chunks(text.sizes, columns, whole=text.whole)
        near: dict[str, Any] = {"window": self._wiring.window, "feeder": self._wiring.feeder}
        return WindowExamples(text, keep, model.seed, chunks, self.data.beside, **near)

    def most_frozen(self) -> int:
        """Return the words of a whole window without its centre."""
        return 2 * self._wiring.window.size
