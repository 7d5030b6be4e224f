"""GloVe's step: the kernel against its twin, and both against the gradient of the formula."""

import numpy as np
import pytest

from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.simd.tiles import shape
from unhot.models.glove import reference
from unhot.train.glove.glove_run import START, start_sides, stride_of
from unhot.train.glove.step import FIXED, CellBlock, Side, glove_step_twin, learn_cells

RNG = np.random.default_rng(5)
WORDS, DIM = 7, 20


def sides(seed=3, words=WORDS, dim=DIM):
    out = start_sides(words, dim, seed, (RNG.normal(size=words), RNG.normal(size=words)))
    for side in out:
        side.rows[:, :dim] = RNG.normal(size=(words, dim)) / (2 * dim**0.5)
    return out


def copies(given):
    out = []
    for side in given:
        arrays = [aligned_zeros(array.shape) for array in side]
        for copy, array in zip(arrays, side, strict=True):
            copy[:] = array
        out.append(Side(*arrays))
    return out


def cells(count, words=WORDS):
    ids = RNG.integers(0, words, (2, count)).astype(np.int32)
    return CellBlock(
        ids[0], ids[1], RNG.normal(size=count).astype(np.float32), RNG.random(count).astype(np.float32)
    )


@pytest.mark.parametrize("dim", [1, 14, 15, 20, 100, 300])
def test_kernel_is_its_twin(dim):
    """Repeated words and contexts included: cells are learned one after another."""
    begun = sides(dim=dim)
    kernel, twin = copies(begun), copies(begun)
    block = cells(60)
    sizes = shape(stride_of(dim), 1, 1)
    loss = learn_cells(sizes, block, *kernel, np.float32(0.3))
    expected = 0.5 * sum(
        glove_step_twin(sizes, *twin[0], i, *twin[1], j, target, weight, 0.3)
        for i, j, target, weight in zip(*block, strict=True)
    )
    assert loss == pytest.approx(expected, rel=1e-5)
    for got, wanted in zip(kernel, twin, strict=True):
        np.testing.assert_allclose(got.rows, wanted.rows, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(got.squares, wanted.squares, rtol=2e-5)


def test_a_step_is_the_gradient():
    """With all G at 1, a step is lr times the gradient of J, biases included, and loss is J.

    The gradient is taken by central differences.
    """
    lr, x, x_max, alpha = 1e-3, 3.0, 10.0, 0.75
    words, contexts = sides()
    before = [side.rows.astype(np.float64) for side in (words, contexts)]
    block = CellBlock(
        np.array([2], np.int32),
        np.array([4], np.int32),
        *(np.array([v], np.float32) for v in (np.log(x), (x / x_max) ** alpha)),
    )

    def loss(u, v):
        return reference(np.array([x]), np.array([u @ v]), x_max, alpha)

    got = learn_cells(shape(stride_of(DIM), 1, 1), block, words, contexts, np.float32(lr))
    u, v = before[0][2], before[1][4]
    assert got == pytest.approx(loss(u, v), rel=1e-5)
    for which, side, row in ((0, words, 2), (1, contexts, 4)):
        gradient = np.zeros(u.size)
        for place in range(DIM + 2):
            step = np.zeros(u.size)
            step[place] = 1e-6
            ends = [loss(u + sign * step, v) if which == 0 else loss(u, v + sign * step) for sign in (1, -1)]
            gradient[place] = (ends[0] - ends[1]) / 2e-6
        gradient[DIM + 1 - which] = 0.0  # the place of the other side's bias is 1, and stays
        moved = side.rows[row] - before[which][row]
        np.testing.assert_allclose(moved, -lr * gradient, rtol=2e-3, atol=2e-7)
        np.testing.assert_allclose(
            np.where(side.squares[row] >= FIXED, 1, side.squares[row]), 1 + (lr * gradient) ** 2, rtol=1e-5
        )
    for side, old in zip((words, contexts), before, strict=True):
        others = np.delete(np.arange(WORDS), 2 if side is words else 4)
        np.testing.assert_array_equal(side.rows[others], old[others])


def test_vectors_start_uniformly():
    biases = RNG.normal(size=(2, 3000))
    for side, bias, place in zip(
        start_sides(3000, DIM, 1, (biases[0], biases[1])), biases, (0, 1), strict=True
    ):
        numbers = side.rows[:, :DIM] * DIM**0.5 / START
        assert np.abs(numbers).max() <= 1
        assert np.quantile(numbers, [0.25, 0.5, 0.75]) == pytest.approx([-0.5, 0, 0.5], abs=0.02)
        np.testing.assert_array_equal(side.rows[:, DIM + place], bias.astype(np.float32))
        np.testing.assert_array_equal(side.rows[:, DIM + 1 - place], np.float32(1))


def test_what_never_moves_stays():
    words, contexts = sides()
    for _ in range(20):
        learn_cells(shape(stride_of(DIM), 1, 1), cells(500), words, contexts, np.float32(0.5))
    assert (words.rows[:, DIM + 1] == 1).all()
    assert (contexts.rows[:, DIM] == 1).all()
    for side in (words, contexts):
        assert (side.rows[:, DIM + 2 :] == 0).all()


def test_a_number_that_is_not_finite_reaches_the_loss():
    words, contexts = sides()
    words.rows[0, 0] = np.nan
    block = CellBlock(*(np.zeros(1, np.int32),) * 2, *(np.ones(1, np.float32),) * 2)
    assert np.isnan(learn_cells(shape(stride_of(DIM), 1, 1), block, words, contexts, np.float32(0.1)))
