"""The compiled engine: trains a task with compiled kernels on the threads of this machine."""

import numpy as np

from unhot.errors import ConfigError
from unhot.kernels.columns import candidates
from unhot.kernels.loop import Room, scratch_bytes, training_kernel
from unhot.kernels.simd.tiles import shape
from unhot.kernels.steps import link, step_shape
from unhot.kernels.windows import kept_buffer, no_text
from unhot.models.engine import Engine, Task, TaskData
from unhot.models.learned_words import LearnedWords
from unhot.models.ngram_rows import NO_KEYS
from unhot.models.starting_point import StartingPoint
from unhot.train.chunked_text import ChunkedText
from unhot.train.epoch_run import Plan
from unhot.train.good_state import kept_in_memory
from unhot.train.hogwild import HogwildRun, Kernel, TrainedState, warm_up
from unhot.train.hot_rows import hot_rows
from unhot.train.params import HotSizes, Sizes, check_seen, frozen_rows, padded, without_copies
from unhot.train.schedule import text_chunks
from unhot.types import Counts
from unhot.vocab.subsampling import keep_probability


def make_kernel(task: Task, counts: Counts | None) -> Kernel:
    """Make the training kernel of a task whose targets have these counts.

    With counts=None, before the text is read, the kernel is only good for compiling.
    """
    layer, wiring = task.layer, task.wiring
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
        rows = layer.rows(counts)
    fixed = layer.fixed_columns() if wiring.targets == 1 else None
    stride = padded(task.dim)
    tile = shape(stride) if layer.all_rows else step_shape(stride, fixed, wiring.inputs)
    scored = rows if layer.all_rows else columns
    return Kernel(
        train=training_kernel(tile, layer.all_rows),
        rows=rows,
        tables=tables,
        fresh=layer.fresh,
        room=Room(columns, tile.width, scored, wiring.inputs, wiring.listed),
        feed=lambda positions, pieces: kept_buffer(positions, task.window.size, pieces),
    )


class Compiled(Engine):
    """The engine that trains with compiled kernels on threads of this machine."""

    def __init__(self, task: Task, data: TaskData) -> None:
        super().__init__(task, data)
        self._kernel = make_kernel(task, data.out_vocabulary.counts)
        keep = keep_probability(data.in_vocabulary.counts, task.sample)
        chunks = text_chunks(data.data.shards, self._kernel.room.scored)
        self._text = ChunkedText(data.data, keep, task.seed, chunks)
        self._sizes = self._make_sizes()
        self.memory = self._memory_plan()

    @classmethod
    def check(cls, task: Task) -> None:
        """Raise a `ConfigError` unless the layer has a kernel and the device is the CPU."""
        task.layer.check_compiled()
        if task.device != "cpu":
            raise ConfigError(
                f"device={task.device!r}: the compiled engine runs on the cpu only; for other devices set "
                "engine='torch'"
            )

    @classmethod
    def warm_up(cls, task: Task) -> None:
        """Compile the training kernel, or load it from disk."""
        feeder = task.wiring.feeder(no_text(), task.window)
        warm_up(make_kernel(task, None), feeder, padded(task.dim), task.wiring.first_rows.half)

    def _make_sizes(self) -> Sizes:
        """Return the numbers of input and output rows, including the threads' copies of hot rows."""
        task, data = self._task, self._data
        inputs = len(data.in_vocabulary) if data.rows is None else data.rows.keys.size
        threads = min(task.threads, len(self._text.chunks))  # more threads would have nothing to do
        rows = task.layer.rows(data.out_vocabulary.counts)
        hot = HotSizes(hot_rows(inputs, threads), 0 if task.layer.all_rows else hot_rows(rows, threads))
        aside = 2 * task.window.size if data.frozen.size else 0
        return Sizes(inputs, rows, task.layer.biases(), hot, aside, threads)

    def _memory_plan(self) -> dict[str, int]:
        """Return the bytes that training will need, by purpose."""
        task, rows = self._task, self._data.rows
        sizes, kernel = self._sizes, self._kernel
        stride = padded(task.dim)
        row = stride * (2 if task.wiring.first_rows.half else 4)
        used = 0 if rows is None else int(np.count_nonzero(rows.keys >= 0))
        vectors = row * (sizes.in_rows - used) + 4 * stride * sizes.out_rows
        plan = {"vectors": vectors}
        if rows is not None:
            plan[f"rows of {used:,} n-gram buckets"] = row * used
            plan["n-grams of words"] = rows.bags.rows.nbytes + rows.bags.starts.nbytes
        buffers = scratch_bytes(kernel.feed(self._text.longest, self._text.most_pieces), kernel.room, stride)
        plan["their last good state"] = kept_in_memory(vectors + row * used)
        plan["tables"] = sum(array.nbytes for array in kernel.tables if isinstance(array, np.ndarray))
        plan["buffers"] = sizes.threads * buffers
        return plan

    def begin(self, start: StartingPoint | None) -> LearnedWords:
        """Make the params; what is learned is a view of them without padding and without threads' copies."""
        task, data = self._task, self._data
        sizes = self._sizes
        params = self._start_params(sizes, start, padded(task.dim))
        seen = task.layer.seen(self._kernel.tables)
        if start is not None and start.seen.size:
            check_seen(task.layer.spec(), start.seen.size, seen.size)
            seen[:] = start.seen
        self._state = TrainedState(params, seen, frozen_rows(sizes, data.frozen), sizes)
        return LearnedWords(
            layer=task.layer,
            in_vocabulary=data.in_vocabulary,
            out_vocabulary=data.out_vocabulary,
            params=without_copies(params, sizes, task.dim),
            seen=seen,
            frozen=data.frozen,
            keys=NO_KEYS if data.rows is None else data.rows.keys,
        )

    def run(self, plan: Plan) -> HogwildRun:
        """Make the run that trains on all threads."""
        feeders = [self._task.wiring.feeder(text, self._task.window) for text in self._text.texts()]
        return HogwildRun(self._text, feeders, self._kernel, self._state, plan)
