"""Training in count space: the exact loss of a whole text, from its co-occurrence cells, without sampling.

A step takes some input rows i and all targets j. With H the vectors of these rows, O the output vectors of
all words, and G = dL/ds (`outputs/count_losses.py`), it computes

    S = H O' + biases,   dL/dH = G O,   dL/dO = G' H

for blocks of rows, as matrix products of NumPy's BLAS. Every learned number x, with its gradient g, then
moves by

    r <- 0.99 r + 0.01 g^2,   x <- x - lr g / sqrt(r)

where r is corrected for its bias towards zero, and lr falls to 0. So a rare word's vector moves as far as a
frequent one's. Short trials on 3,000 words of Wikipedia, not all tuned alike, led to this rule. At the same
rate, 20 epochs with a first moment of 0.9 (Adam) reached a loss of 5.817, without it 5.810. L-BFGS reached
5.820 at best in 40 passes, AdaGrad by rows (one rate tried) 5.836 in 40. A natural gradient was quicker from
a spectral start (5.799 in 30), but diverged from the usual start.

An epoch visits every row once. Draws from the seed spread words of every frequency evenly over the steps. The
loss of an epoch is the sum of its rows' exact losses, each at the time of its visit, divided by the number of
pairs.

The result does not depend on the number of threads, provided that BLAS, which has threads of its own, gives
the same results for any number of them.

References: Tieleman & Hinton, Lecture 6.5: RMSProp, 2012; Kingma & Ba, Adam, 2015.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unhot.corpus.cells import Cells
from unhot.errors import DataError
from unhot.kernels.loop import Params
from unhot.outputs import OutputLayer
from unhot.outputs.count_losses import RowCells
from unhot.threads import in_order
from unhot.train.epoch_run import EpochRun, Plan
from unhot.train.params import finite
from unhot.train.schedule import Chunk, even_chunks
from unhot.types import Bytes, Doubles, Floats, Ids, Starts

MOST_ROWS = 256  # rows of a step, at most
MOST_SCORES = 1 << 22  # scores of a step, at most
FEWEST_STEPS = 8  # steps of an epoch, at least, if there are that many words
LINK_SCORES = 1 << 17  # scores linked at a time: they stay in the cache
TOGETHER = 1 << 16  # numbers moved at a time, for the same reason
DECAY = 0.99  # the decay of the mean squares
TINY = 1e-8  # added to the roots of the mean squares


class ExactState(NamedTuple):
    """The arrays that training changes, and the rows among them that are frozen."""

    layer: OutputLayer
    params: Params  # without padding
    squares: Params  # mean squares of the gradients of `params`
    frozen: Bytes  # [words] 1 if the input row is frozen; empty if none is


def new_squares(params: Params, saved: Mapping[str, Any]) -> Params:
    """Return the mean squares for a training: those saved in a checkpoint, otherwise zeros."""
    squares = Params(*(np.zeros_like(array) for array in params))
    for name, array in squares._asdict().items():
        found = saved.get(name)
        if found is not None and found.shape == array.shape:
            array[:] = found
    return squares


def check_values(cells: Cells) -> None:
    """Raise a `DataError` for cells that are not counts."""
    if len(cells) and float(cells.values.min()) < 0:
        raise DataError(
            f"a cell of {float(cells.values.min()):g}: cells to train on are counts of pairs, which are not "
            "below zero"
        )


def rows_of_step(words: int) -> int:
    """Return the largest number of rows in a step."""
    return max(1, min(MOST_ROWS, MOST_SCORES // words, -(-words // FEWEST_STEPS)))


def steps_of_epoch(words: int) -> int:
    """Return the number of steps that visit all rows once."""
    return -(-words // rows_of_step(words))


def step_memory(words: int, dim: int, threads: int) -> int:
    """Return the bytes that a step takes: scores, the links' temporaries, the output rows' gradient."""
    scores = words * rows_of_step(words)
    linked = max(words, min(scores, LINK_SCORES)) * threads
    return 4 * (scores + 5 * linked + words * dim)


def mixed_rows(words: int, steps: int, seed: int, epoch: int) -> list[Ids]:
    """Return the rows of each step of an epoch.

    Words are grouped by frequency, `steps` to a group; each step takes one word of every group.

    >>> sorted(sum((step.tolist() for step in mixed_rows(5, 2, seed=1, epoch=0)), []))
    [0, 1, 2, 3, 4]
    """
    strata = -(-words // steps)
    places = np.arange(strata * steps).reshape(strata, steps)
    drawn = np.random.default_rng([seed, epoch]).permuted(places, axis=1)
    return [column[column < words].astype(np.int32) for column in drawn.T]


class ExactRun(EpochRun[Chunk]):
    """A training run in count space."""

    paced = True  # a step moves all vectors, and callbacks may read them

    def __init__(self, cells: Cells, state: ExactState, plan: Plan, threads: int) -> None:
        words = len(cells.vocabulary)
        self._steps = steps_of_epoch(words)
        arrays, told = [*state.params, *state.squares], max(1, cells.words)
        super().__init__(even_chunks(self._steps, words), words, plan, arrays, words=told)
        self._cells, self._state = cells, state
        self._workers = threads
        self._loss = state.layer.count_loss(cells.vocabulary.counts)
        self._row_sums, self._column_sums = cells.row_sums(), cells.column_sums()
        self._total = float(self._row_sums.sum())
        # weighted pairs are reported as a whole number
        self._pairs = max(1, round(self._total)) if self._total else 0
        self._epoch: tuple[int, list[Ids], Starts] = (-1, [], np.zeros(0, np.int64))
        self._scores = np.empty((rows_of_step(words), words), np.float32)

    @np.errstate(over="ignore", invalid="ignore")  # a number that is not finite ends the training
    def learn(self, epoch: int, chunk: Chunk, lr: float, thread: int) -> tuple[float, int]:
        """Take one step; return its summed loss and its number of pairs."""
        rows, pairs = self._rows_of(epoch, chunk)
        params, hidden = self._state.params, self._state.params.in_vectors[rows]
        scores = self._scores[: rows.size]
        np.matmul(hidden, params.out_vectors.T, out=scores)
        add_biases(scores, params, rows)
        loss = self._link(rows, scores)
        gradient = gradient_of(scores, hidden, params)
        self._descend_inputs(gradient, rows, lr, epoch + 1)
        self._descend_outputs(gradient, lr, epoch * self._steps + chunk.number + 1)
        return loss * self._pairs / (self._total or 1.0), pairs

    def _rows_of(self, epoch: int, chunk: Chunk) -> tuple[Ids, int]:
        """Return the rows of a step and its number of pairs; these sum to the pairs of the epoch."""
        if self._epoch[0] != epoch:
            steps = mixed_rows(len(self._cells.vocabulary), self._steps, self._plan.seed, epoch)
            upto = np.cumsum([0.0, *(self._row_sums[rows].sum() for rows in steps)]) * (
                self._pairs / (self._total or 1.0)
            )
            self._epoch = epoch, steps, np.rint(upto).astype(np.int64)
        _, steps, ends = self._epoch
        return steps[chunk.number], int(ends[chunk.number + 1] - ends[chunk.number])

    def _link(self, rows: Ids, scores: Floats) -> float:
        """Return the loss of the rows, computed a few at a time; replace their scores by dL/ds."""

        def link(first: int) -> float:
            part = rows[first : first + some]
            return self._loss.link(scores[first : first + some], row_cells(self._cells, part, self._row_sums))

        some = max(1, LINK_SCORES // scores.shape[1])
        return float(sum(self._map(link, range(0, rows.size, some))))

    def _descend_inputs(self, gradient: Params, rows: Ids, lr: float, times: int) -> None:
        """Move the input rows of a step, except frozen ones.

        A row's gradient is that of the mean over its own pairs, so `TINY` is small compared to any of them.
        """
        params, squares = self._state.params, self._state.squares
        frozen = self._state.frozen
        moves = frozen[rows] == 0 if frozen.size else np.ones(rows.size, bool)
        moving, share = rows[moves], mean_of(self._row_sums[rows])
        for array, square, slope in zip(params, squares, gradient, strict=True):
            if array.size and (array is params.in_vectors or array is params.in_bias):
                some, mean = array[moving], square[moving]
                descend(some, mean, (slope.T * share).T[moves], lr, times)
                array[moving], square[moving] = some, mean

    def _descend_outputs(self, gradient: Params, lr: float, times: int) -> None:
        """Move all output rows, their biases, and ln Z."""
        params, squares = self._state.params, self._state.squares
        share = mean_of(self._column_sums / self._steps)
        some = max(1, TOGETHER // params.out_vectors.shape[1])

        def move(first: int) -> None:
            part = slice(first, first + some)
            slope = gradient.out_vectors[part] * share[part, None]
            descend(params.out_vectors[part], squares.out_vectors[part], slope, lr, times)

        list(self._map(move, range(0, len(params.out_vectors), some)))
        if params.out_bias.size:
            descend(params.out_bias, squares.out_bias, gradient.out_bias * share, lr, times)
        if params.ln_z.size:
            descend(
                params.ln_z,
                squares.ln_z,
                gradient.ln_z * mean_of(np.array([self._total / self._steps])),
                lr,
                times,
            )

    def _map(self, work: Callable[[int], Any], items: Iterable[int]) -> Iterable[Any]:
        """Call `work` for each item on the threads; yield the results in the order of the items."""
        return map(work, items) if self._workers == 1 else in_order(items, work, self._workers)

    def finite(self) -> bool:
        """Return whether all learned numbers and their mean squares are finite."""
        return finite(self._state.params) and finite(self._state.squares)


def add_biases(scores: Floats, params: Params, rows: Ids) -> None:
    """Add the biases, and subtract ln Z, in the scores of some rows."""
    if params.out_bias.size:
        scores += params.out_bias
    if params.in_bias.size:
        scores += params.in_bias[rows, None]
    if params.ln_z.size:
        scores -= params.ln_z[0]


def gradient_of(slopes: Floats, hidden: Floats, params: Params) -> Params:
    """Return dL/dH, dL/dO and the gradients of the biases from dL/ds; a missing bias has an empty one."""
    none = np.zeros(0, np.float32)
    return Params(
        in_vectors=slopes @ params.out_vectors,
        out_vectors=slopes.T @ hidden,
        out_bias=slopes.sum(axis=0) if params.out_bias.size else none,
        in_bias=slopes.sum(axis=1) if params.in_bias.size else none,
        ln_z=-slopes.sum(dtype=np.float64, keepdims=True).reshape(1).astype(np.float32)
        if params.ln_z.size
        else none,
    )


def row_cells(cells: Cells, rows: Ids, row_sums: Doubles) -> RowCells:
    """Return the cells of some rows, with their places among the scores of these rows."""
    parts = [slice(cells.starts[row], cells.starts[row + 1]) for row in rows]
    lengths = [part.stop - part.start for part in parts]
    columns = np.concatenate([cells.columns[part] for part in parts])
    values = np.concatenate([cells.values[part] for part in parts])
    first = np.repeat(np.arange(rows.size) * len(cells.vocabulary), lengths)
    return RowCells(first + columns, values.astype(np.float32), row_sums[rows])


@np.errstate(over="ignore", invalid="ignore")
def descend(array: Floats, squares: Floats, gradient: Floats, lr: float, times: int) -> None:
    """Move some numbers by their step number `times`; the gradient is overwritten."""
    squares *= np.float32(DECAY)
    squares += np.float32(1.0 - DECAY) * gradient * gradient
    root = np.sqrt(squares * np.float32(1.0 / (1.0 - DECAY**times)))
    root += np.float32(TINY)
    gradient *= np.float32(lr)
    gradient /= root
    array -= gradient


def mean_of(sums: Doubles) -> Floats:
    """Return the factors that turn sums over that many pairs into means."""
    return np.asarray(1.0 / np.maximum(sums, 1.0), np.float32)
