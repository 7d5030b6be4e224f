"""Blocks over all rows against their twins."""

import numpy as np
import pytest

from unhot.kernels.jit import kernel
from unhot.kernels.simd import ranges
from unhot.kernels.simd import tiles as blocks
from unhot.kernels.simd.lanes import LANES


@kernel
def run_score(shape, x, number, o, rows, scores):
    ranges.score_all(shape, x, number, o, rows, scores)


@kernel
def run_update(shape, x, number, o, rows, steps, gradient):
    ranges.update_all(shape, x, number, o, rows, steps, gradient)


@kernel
def run_softmax(scores, count, factor):
    top = ranges.largest(scores, count)
    total = ranges.exponentials(scores, count, top)
    ranges.scale_all(scores, count, factor)
    return top, total


@kernel
def run_logistic(scores, count, weight, lr):
    return ranges.logistic_all(scores, count, weight, lr)


ROWS = [1, LANES - 1, LANES, LANES + 1, 5 * LANES + 3]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("row_blocks", [1, 7, 19])
def test_score_and_update_equal_twins(row_blocks, rows):
    rng = np.random.default_rng(rows)
    shape, stride = blocks.shape(row_blocks * LANES, 1, 1), row_blocks * LANES
    x, o = rng.normal(size=(3, stride)).astype(np.float32), rng.normal(size=(rows, stride)).astype(np.float32)
    scores, expected = np.zeros(rows + 2 * LANES, np.float32), np.zeros(rows + 2 * LANES, np.float32)
    run_score(shape, x, 1, o, rows, scores)
    ranges.score_all_twin(shape, x, 1, o, rows, expected)
    np.testing.assert_allclose(scores[:rows], expected[:rows], rtol=1e-4, atol=1e-4)
    ours, gradient, twin, twin_gradient = (
        o.copy(),
        np.ones((1, stride), np.float32),
        o.copy(),
        np.ones((1, stride), np.float32),
    )
    run_update(shape, x, 1, ours, rows, expected, gradient)
    ranges.update_all_twin(shape, x, 1, twin, rows, expected, twin_gradient)
    np.testing.assert_allclose(ours, twin, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(gradient, twin_gradient, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("rows", ROWS)
def test_links_equal_twins(rows):
    rng = np.random.default_rng(rows)
    scores = rng.normal(-50, 5, rows + 2 * LANES).astype(np.float32)
    ours, twin = scores.copy(), scores.copy()
    top, total = run_softmax(ours, rows, np.float32(-0.5))
    assert top == ranges.largest_twin(twin, rows)
    assert total == pytest.approx(ranges.exponentials_twin(twin, rows, top), rel=1e-6)
    ranges.scale_all_twin(twin, rows, -0.5)
    np.testing.assert_allclose(ours[:rows], twin[:rows], rtol=1e-5)
    ours, twin = scores.copy() / 10, scores.copy() / 10
    assert run_logistic(ours, rows, np.float32(3.0), np.float32(0.1)) == pytest.approx(
        ranges.logistic_all_twin(twin, rows, 3.0, 0.1), rel=1e-5
    )
    np.testing.assert_allclose(ours[:rows], twin[:rows], rtol=1e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, LANES])
def test_a_score_that_is_not_finite_is_noticed(value, place):
    scores = np.zeros(4 * LANES, np.float32)
    scores[place] = value
    assert not np.isfinite(run_logistic(scores.copy(), LANES + 1, np.float32(1.0), np.float32(1.0)))
    assert not np.isfinite(run_softmax(scores, LANES + 1, np.float32(1.0))[1])
