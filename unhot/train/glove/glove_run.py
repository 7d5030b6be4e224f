"""Training on cells: GloVe's kernel on the blocks of a file; threads do not change the result."""

import os
import threading
from typing import NamedTuple

import numpy as np

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.simd.tiles import shape
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.glove.blocks import BlockReader, Blocks, block_of, order, warm_up_arranging
from unhot.train.glove.step import BIASES, FIXED, Side, learn_cells
from unhot.train.params import BLOCK, padded
from unhot.train.schedule import Chunk, even_chunks
from unhot.types import Doubles

LOSS_UNITS = 1 << 20  # losses are rounded to multiples of 1 / LOSS_UNITS
START = 2.0  # vectors start uniformly in (-START, START) / sqrt(dim)


class Sides(NamedTuple):
    """The learned rows of words and of contexts."""

    words: Side
    contexts: Side


def stride_of(dim: int) -> int:
    """Return the number of floats in a row: a vector, its biases, and padding."""
    return padded(dim + BIASES)


def start_sides(words: int, dim: int, seed: int, biases: tuple[Doubles, Doubles]) -> Sides:
    """Return random vectors, uniform in (-2, 2) / sqrt(dim), with the given biases of words and contexts."""
    random, sides = np.random.default_rng(seed), []
    for own, other, bias in ((dim, dim + 1, biases[0]), (dim + 1, dim, biases[1])):
        rows, squares = aligned_zeros((words, stride_of(dim))), aligned_zeros((words, stride_of(dim)))
        for first in range(0, words, BLOCK):
            block = rows[first : first + BLOCK, :dim]
            block[:] = random.random(block.shape, dtype=np.float32) - np.float32(0.5)
            block *= np.float32(2 * START / dim**0.5)
        squares[:] = 1.0
        rows[:, own], rows[:, other] = bias, 1.0
        squares[:, other] = FIXED
        sides.append(Side(rows, squares))
    return Sides(*sides)


def warm_up(dim: int) -> None:
    """Compile the kernels, or load them from disk, by training nothing."""
    warm_up_arranging()
    nothing, sides = np.zeros(4, np.int32), start_sides(1, dim, 0, (np.zeros(1), np.zeros(1)))
    learn_cells(shape(stride_of(dim)), block_of(nothing, 0), sides.words, sides.contexts, np.float32(0))


def rounded(loss: float) -> float:
    """Round a loss to about a millionth: sums, up to about 8e9, then do not depend on their order."""
    return round(loss * LOSS_UNITS) / LOSS_UNITS if np.isfinite(loss) else loss


class GloVeRun(EpochRun[Chunk]):
    """A training run of GloVe, in which a chunk is a block of cells."""

    def __init__(self, blocks: Blocks, sides: Sides, plan: Plan, threads: int) -> None:
        cells = int(blocks.counts.sum())
        chunks = even_chunks(blocks.counts.size, cells)
        super().__init__(chunks, cells, plan, [*sides.words, *sides.contexts], threads=threads)
        self._blocks, self._sides = blocks, sides
        self._readers = [BlockReader(blocks) for _ in range(threads)]
        if os.name == "posix":
            blocks.close()  # open files stay readable, and nothing is left behind after a crash
        self._shape = shape(sides.words.rows.shape[1])
        self._order: list[tuple[int, int]] = []
        # the number of finished blocks of each strip of rows, and of columns
        self._rounds = np.zeros((2, blocks.strips), np.int64)
        self._free = threading.Condition()

    def close(self) -> None:
        """Close the file."""
        for reader in self._readers:
            reader.close()
        self._blocks.close()

    def rate(self, epoch: int, chunk: Chunk) -> float:
        """Return the same rate for all chunks: AdaGrad slows down by itself."""
        return self._plan.lr

    def learn(self, epoch: int, chunk: Chunk, lr: float, thread: int) -> tuple[float, int]:
        """Wait for the earlier blocks that share rows or columns, then train a block by one kernel call."""
        strips = self._blocks.strips
        row, column = self._order[chunk.number]
        turn = chunk.number // strips
        with self._free:
            self._free.wait_for(lambda: self._rounds[0, row] == turn == self._rounds[1, column])
        try:
            cells = self._readers[thread].read(row * strips + column)
            return rounded(
                float(learn_cells(self._shape, cells, *self._sides, np.float32(lr)))
            ), cells.words.size
        finally:
            with self._free:
                self._rounds[0, row] += 1
                self._rounds[1, column] += 1
                self._free.notify_all()

    def keep_state(self) -> None:
        """Copy the rows, and draw the order of the epoch that starts or resumes."""
        super().keep_state()
        at = self.history.position
        self._order = order(self._blocks.strips, self._plan.seed, at.epoch)
        self._rounds[:] = 0
        for row, column in self._order[: at.chunk]:
            self._rounds[0, row] += 1
            self._rounds[1, column] += 1
