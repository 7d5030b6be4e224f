"""Training with compiled kernels: threads update the same matrices without locks.

The threads hardly run Python: a chunk is one call of a compiled kernel, which releases the interpreter's
lock. With one thread the result depends on the seed alone, byte for byte.

Reference: Niu et al., Hogwild!, 2011.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from unhot.kernels.bags import NO_MIXING
from unhot.kernels.chunk import NOWHERE, UNCHANGED, How, Where
from unhot.kernels.loop import Params, Room, scratch
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.hot_rows import HotRows
from unhot.train.params import Sizes, all_finite, finite
from unhot.train.schedule import TextChunk
from unhot.types import Bytes, Counts, Floats


class Examples(Protocol):
    """The examples of an epoch, in chunks: windows of a text (chunked_text.py), lines with labels."""

    @property
    def chunks(self) -> list[TextChunk]:
        """The chunks of an epoch."""

    @property
    def size(self) -> int:
        """The positions of an epoch."""

    @property
    def words(self) -> int:
        """The words of an epoch, as progress reports count them."""

    def feeders(self) -> list[Any]:
        """Return a feeder for each shard (kernels/feeder.py)."""

    def buffers(self) -> Any:
        """Return the feeder's own buffers for one thread, large enough for every chunk."""

    def where(self, epoch: int, chunk: TextChunk) -> Where:
        """Return the place of a chunk, with its random streams."""


@dataclass(frozen=True)
class Kernel:
    """A compiled training loop, the tables of its output layer, and the memory that a thread needs."""

    train: Any  # the training loop for rows and tiles of one size (`training_kernel`)
    rows: int  # rows of the output matrix
    tables: Any
    fresh: Callable[[Any], Any]  # returns the tables for the next chunk
    room: Room


class TrainedState(NamedTuple):
    """The arrays that training changes, and the rows among them that are frozen."""

    params: Params  # with padding, and the copies of the threads
    seen: Counts  # the counts of learned noise; empty if nothing is counted
    frozen: Bytes  # [input rows] 1 if the row is frozen; empty if none is
    sizes: Sizes
    mixing: Floats = NO_MIXING  # learned weights of the rows of bags, see `Bags`


def warm_up(kernel: Kernel, feeder: Any, feed: Any, stride: int, half: bool = False) -> None:
    """Compile the kernel for a feeder and its buffers, or load it from disk, by training nothing."""
    inputs = np.zeros((1, stride), np.uint16 if half else np.float32)
    outputs, none = np.zeros((1, stride), np.float32), np.zeros(0, np.float32)
    params = Params(inputs, outputs, none, none, none)
    buffers = scratch(feed, kernel.room, stride)
    kernel.train(feeder, kernel.rows, kernel.tables, params, buffers, NOWHERE, UNCHANGED)


class HogwildRun(EpochRun[TextChunk]):
    """A training run with compiled kernels."""

    def __init__(self, examples: Examples, kernel: Kernel, state: TrainedState, plan: Plan) -> None:
        size, words = examples.size, examples.words
        arrays, threads = [*state.params, state.seen, state.mixing], state.sizes.threads
        super().__init__(examples.chunks, size, plan, arrays, words=words, threads=threads)
        self._examples, self._feeders = examples, examples.feeders()
        self._kernel, self._trained = kernel, state
        stride = state.params.in_vectors.shape[1]
        self._scratch = [scratch(examples.buffers(), kernel.room, stride) for _ in range(threads)]
        self._hot = HotRows(state.params, state.sizes)

    def learn(self, epoch: int, chunk: TextChunk, lr: float, thread: int) -> tuple[float, int]:
        """Train a chunk by one call of the kernel; return its summed loss and its number of pairs."""
        kernel, state = self._kernel, self._trained
        loss, pairs = kernel.train(
            self._feeders[chunk.shard],
            kernel.rows,
            kernel.fresh(kernel.tables),
            state.params,
            self._scratch[thread],
            self._examples.where(epoch, chunk),
            How(np.float32(lr), self._hot.places[thread], state.frozen),
        )
        self._hot.exchange(thread)
        return float(loss), int(pairs)

    def keep_state(self) -> None:
        """Copy the state, and reset the threads' hot rows to the common rows."""
        super().keep_state()
        self._hot.refresh()

    def finite(self) -> bool:
        """Return whether all numbers of the matrices are finite."""
        return finite(self._trained.params) and all_finite(self._trained.mixing)
