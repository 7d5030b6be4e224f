"""Training by compiled kernels: threads that update the same matrices without locks.

The threads never run Python for long: a chunk is one call of a compiled kernel that lets go of the
interpreter. With one thread the result depends on the seed alone, byte for byte.

Reference: Niu et al., Hogwild!, 2011.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unhot.kernels.chunk import NOWHERE, UNCHANGED, How
from unhot.kernels.loop import Params, Room, scratch
from unhot.train.chunked_text import ChunkedText
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.hot_rows import HotRows
from unhot.train.params import Sizes, finite
from unhot.train.schedule import TextChunk
from unhot.types import Bytes, Counts


@dataclass(frozen=True)
class Kernel:
    """What trains: a layer's tables in the shape of a step, and the room that a thread needs for it."""

    train: Any  # the training loop for rows and tiles of one size (`training_kernel`)
    rows: int  # of the output matrix
    tables: Any
    fresh: Callable[[Any], Any]  # the tables for the next chunk
    room: Room
    feed: Callable[[int, int], Any]  # the buffers of a feeder, for chunks of so many positions and pieces


class TrainedState(NamedTuple):
    """What changes while it trains, and what of it does not."""

    params: Params  # with padding, and the rows of the threads
    seen: Counts  # what learned noise has counted; of size zero where nothing is
    frozen: Bytes  # [input rows]: 1 where a row stays as it is; of size zero where none does
    sizes: Sizes


def warm_up(kernel: Kernel, feeder: Any, stride: int, half: bool = False) -> None:
    """Compile the kernel for a feeder, or load it from disk, by training nothing."""
    inputs = np.zeros((1, stride), np.uint16 if half else np.float32)
    outputs, none = np.zeros((1, stride), np.float32), np.zeros(0, np.float32)
    params = Params(inputs, outputs, none, none, none)
    buffers = scratch(kernel.feed(0, 1), kernel.room, stride)
    kernel.train(feeder, kernel.rows, kernel.tables, params, buffers, NOWHERE, UNCHANGED)


class HogwildRun(EpochRun[TextChunk]):
    """One training under way."""

    def __init__(
        self, text: ChunkedText, feeders: Sequence[Any], kernel: Kernel, state: TrainedState, plan: Plan
    ) -> None:
        """`feeders` has one for each shard of the text."""
        ids, words = text.corpus.ids, text.corpus.words
        threads = state.sizes.threads
        super().__init__(text.chunks, ids, plan, [*state.params, state.seen], words=words, threads=threads)
        self._text, self._feeders = text, feeders
        self._kernel, self._trained = kernel, state
        stride = state.params.in_vectors.shape[1]
        feeds = (kernel.feed(text.longest, text.most_pieces) for _ in range(threads))
        self._scratch = [scratch(feed, kernel.room, stride) for feed in feeds]
        self._hot = HotRows(state.params, state.sizes)

    def learn(self, epoch: int, chunk: TextChunk, lr: float, thread: int) -> tuple[float, int]:
        """One call of the kernel."""
        kernel, state = self._kernel, self._trained
        loss, pairs = kernel.train(
            self._feeders[chunk.shard],
            kernel.rows,
            kernel.fresh(kernel.tables),
            state.params,
            self._scratch[thread],
            self._text.where(epoch, chunk),
            How(np.float32(lr), self._hot.places[thread], state.frozen),
        )
        self._hot.exchange(thread)
        return float(loss), int(pairs)

    def keep_state(self) -> None:
        """The threads' own rows begin from the common ones."""
        super().keep_state()
        self._hot.refresh()

    def finite(self) -> bool:
        """Whether the matrices are."""
        return finite(self._trained.params)
