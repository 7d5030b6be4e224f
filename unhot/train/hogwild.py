"""Training by compiled kernels: threads that update the same matrices without locks.

The threads never run Python for long: a chunk is one call of a compiled kernel that lets go of the
interpreter. With one thread the result depends on the seed alone, byte for byte.

Reference: Niu et al., Hogwild!, 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.corpus import Corpus
from unhot.kernels.loop import Params, Room, scratch, train_chunk
from unhot.kernels.windows import Chunk, Hot, Text, Window, keep_threshold
from unhot.train.epoch_run import Plan
from unhot.train.good_state import GoodState
from unhot.train.hot_rows import HotRows
from unhot.train.params import Sizes, finite
from unhot.train.schedule import Piece, chunk_size, pieces
from unhot.train.text_run import TextRun
from unhot.types import Bytes, Counts


class Kernel(NamedTuple):
    """What is trained: a model's step and a layer's tables in a shape, over windows."""

    step: Any
    shape: Any
    tables: Any
    fresh: Callable[[Any], Any]  # the tables for the next chunk
    window: Window
    room: Room


class State(NamedTuple):
    """What changes while it trains, and what of it does not."""

    params: Params  # with padding, and the rows of the threads
    seen: Counts  # what learned noise has counted; of size zero where nothing is
    frozen: Bytes  # [input rows]: 1 where a row stays as it is; of size zero where none does
    sizes: Sizes


def warm_up(kernel: Kernel, stride: int, half: bool = False) -> None:
    """Compile the kernel, or load it from disk, by training nothing."""
    nothing, start = np.zeros(1, np.int32), np.zeros(2, np.int64)
    nothing.flags.writeable = start.flags.writeable = False  # as the shards are, which are mapped for reading
    text = Text(nothing, start, keep_threshold(np.ones(1)))
    inputs, outputs = (
        np.zeros((1, stride), np.uint16 if half else np.float32),
        np.zeros((1, stride), np.float32),
    )
    params = Params(inputs, outputs, *(np.zeros(0, np.float32) for _ in range(3)))
    chunk = Chunk(
        0, 0, 0, np.uint64(0), np.uint64(0), np.float32(0), Hot(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8)
    )
    buffers = scratch(0, kernel.window.size, kernel.room, stride)
    train_chunk(kernel.step, kernel.shape, kernel.tables, text, kernel.window, params, buffers, chunk)


class LocalRun(TextRun):
    """One training under way."""

    def __init__(self, corpus: Corpus, kernel: Kernel, state: State, plan: Plan) -> None:
        super().__init__(corpus, pieces(corpus.shards, kernel.room.scored), plan, state.sizes.threads)
        self._kernel, self._state = kernel, state
        tokens, stride = chunk_size(corpus.ids, kernel.room.scored), state.params.in_vectors.shape[1]
        self._scratch = [
            scratch(tokens, kernel.window.size, kernel.room, stride) for _ in range(state.sizes.threads)
        ]
        self._hot = HotRows(state.params, state.sizes)
        self._good = GoodState([*state.params, state.seen])

    def learn(self, epoch: int, piece: Piece, lr: float, thread: int) -> tuple[float, int]:
        """One call of the kernel."""
        kernel, chunk = (
            self._kernel,
            self.chunk(epoch, piece, lr, self._hot.places[thread], self._state.frozen),
        )
        loss, pairs = train_chunk(
            kernel.step,
            kernel.shape,
            kernel.fresh(kernel.tables),
            self.texts[piece.shard],
            kernel.window,
            self._state.params,
            self._scratch[thread],
            chunk,
        )
        self._hot.exchange(thread)
        return float(loss), int(pairs)

    def keep_state(self) -> None:
        """Copy the matrices and what was counted; the threads' own rows begin from the common ones."""
        self._good.keep()
        self._hot.refresh()

    def restore_state(self) -> None:
        """Copy them back."""
        self._good.restore()

    def finite(self) -> bool:
        """Whether the matrices are."""
        return finite(self._state.params)
