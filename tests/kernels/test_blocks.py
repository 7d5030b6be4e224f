"""Every block against its plain Python twin."""

import numpy as np
import pytest

from unhot.kernels.jit import kernel
from unhot.kernels.simd import ids
from unhot.kernels.simd import rows as row_blocks_module
from unhot.kernels.simd import tiles as blocks
from unhot.kernels.simd.ids import copy_words, last_match
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.links import logistic, logistic_twin
from unhot.kernels.simd.rows import add_to_rows, copy_rows, exchange_row, prefetch, sum_rows
from unhot.kernels.simd.tiles import score, update


@kernel
def run_step(shape, x, inputs, count, o, rows, first, scores, at, label, weight, offset, times, times_at, lr):
    score(shape, x, inputs, count, o, rows, first, scores, at)
    loss = logistic(shape, scores, at, count, label, weight, offset, first, times, times_at, lr)
    update(shape, x, inputs, count, o, rows, first, scores, at, x, inputs)
    return loss


def twin_step(
    shape, x, inputs, count, o, rows, first, scores, at, label, weight, offset, times, times_at, lr
):
    blocks.score_twin(shape, x, inputs, count, o, rows, first, scores, at)
    loss = logistic_twin(shape, scores, at, count, label, weight, offset, first, times, times_at, lr)
    blocks.update_twin(shape, x, inputs, count, o, rows, first, scores, at, x, inputs)
    return loss


@kernel
def run_into(shape, x, inputs, count, o, rows, first, steps, at, into, places):
    update(shape, x, inputs, count, o, rows, first, steps, at, into, places)


@kernel
def run_rows(shape, x, inputs, times, times_at, count, scale, out, copies, words, target):
    sum_rows(shape, x, inputs, times, times_at, count, scale, out)
    copy_rows(shape, x, inputs, count, copies)
    add_to_rows(shape, out, scale, x, inputs, times, times_at, count)
    copy_words(words, 3, target, 2, count)
    exchange_row(shape, x, inputs[0], inputs[1], inputs[2])
    prefetch(shape, x, inputs[0])


class Case:
    """Random matrices, with a repeated column (weight and label zero) where there is room for one."""

    def __init__(self, seed, blocks_in_row, width, inputs, count):
        rng = np.random.default_rng(seed)
        stride, self.count = blocks_in_row * LANES, count
        self.shape = blocks.shape(stride, width, inputs)
        self.x = rng.normal(0, 0.3, size=(20, stride)).astype(np.float32)
        self.o = rng.normal(0, 0.3, size=(20, stride)).astype(np.float32)
        self.inputs = np.zeros(count + LANES, np.int32)
        self.inputs[:count] = rng.permutation(20)[:count]
        self.rows = np.concatenate([[7], rng.permutation(20)[:width], np.zeros(LANES, int)]).astype(np.int32)
        self.first, self.at = 1, 2
        size = width + 1 + LANES
        self.label = rng.integers(0, 2, size).astype(np.float32)
        self.weight = rng.integers(1, 4, size).astype(np.float32)
        self.offset = rng.normal(size=size).astype(np.float32)
        if width > 2:
            self.rows[self.first + width - 1] = self.rows[self.first]
            self.label[self.first + width - 1] = self.weight[self.first + width - 1] = 0.0
        self.times = np.zeros(3 + count + LANES, np.float32)
        self.times[3 : 3 + count] = rng.integers(1, 4, count)
        self.scores = np.zeros((count + LANES) * LANES, np.float32)

    def arguments(self):
        return (
            self.shape, self.x, self.inputs, self.count, self.o, self.rows, self.first, self.scores, self.at,
            self.label, self.weight, self.offset, self.times, 3, np.float32(0.1),
        )  # fmt: skip


CASES = [(1, 1, 10), (7, 6, 10), (2, 3, 4), (3, 8, 10), (19, 4, 10), (9, 2, 1), (7, 6, 1), (1, 5, 6)]
CASES = [case for case in CASES if case[1] <= blocks.MAX_WIDTH]  # which follows the CPU


@pytest.mark.parametrize(("row_blocks", "width", "inputs"), CASES)
def test_step_equals_twin(row_blocks, width, inputs):
    for count in sorted({1, min(3, inputs), inputs}):
        ours, theirs = (
            Case(count, row_blocks, width, inputs, count),
            Case(count, row_blocks, width, inputs, count),
        )
        loss, expected = run_step(*ours.arguments()), twin_step(*theirs.arguments())
        assert loss == pytest.approx(expected, rel=1e-5)
        np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(ours.o, theirs.o, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("row_blocks", "width", "inputs"), CASES)
def test_update_into_equals_twin(row_blocks, width, inputs):
    results = []
    for run in (run_into, blocks.update_twin):
        case = Case(1, row_blocks, width, inputs, inputs)
        steps = np.random.default_rng(2).normal(size=case.scores.size).astype(np.float32)
        if width > 2:  # the repeated column carries no gradient
            padded = blocks.padded_width(width)
            steps[case.at + np.arange(inputs) * padded + width - 1] = 0.0
        into = np.ones((30, row_blocks * LANES), np.float32)
        places = np.arange(29, -1, -1, dtype=np.int32)
        before = case.x.copy()
        run(
            case.shape,
            case.x,
            case.inputs,
            inputs,
            case.o,
            case.rows,
            case.first,
            steps,
            case.at,
            into,
            places,
        )
        np.testing.assert_array_equal(case.x, before)
        results.append((case.o, into))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)


@kernel
def run_halves(shape, x, inputs, times, times_at, count, scale, out):
    sum_rows(shape, x, inputs, times, times_at, count, scale, out)
    prefetch(shape, x, inputs[0])


@kernel
def add_halves(shape, gradient, scale, x, inputs, times, times_at, count):
    add_to_rows(shape, gradient, scale, x, inputs, times, times_at, count)
    exchange_row(shape, x, inputs[0], inputs[1], inputs[1])


@pytest.mark.parametrize("row_blocks", [1, 7, 19])
def test_rows_of_16_bit_floats_are_summed(row_blocks):
    case, out = Case(5, row_blocks, 6, 10, 9), np.zeros((1, row_blocks * LANES), np.float32)
    x = case.x.astype(np.float16)
    run_halves(case.shape, x.view(np.uint16), case.inputs, case.times, 3, 9, np.float32(0.25), out)
    expected = np.zeros_like(out)
    row_blocks_module.sum_rows_twin(
        case.shape, x.view(np.uint16), case.inputs, case.times, 3, 9, np.float32(0.25), expected
    )
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    plain = 0.25 * sum(case.times[3 + b] * x[case.inputs[b]].astype(np.float64) for b in range(9))
    np.testing.assert_allclose(out[0], plain, rtol=1e-5, atol=1e-5)


def test_16_bit_floats_are_rounded_at_random_and_right_in_the_mean():
    """Steps of a tenth of what two neighbouring floats are apart.

    Rounded to the nearest, they would never be seen.
    """
    rng, rows, steps = np.random.default_rng(2), 400, 100
    shape = blocks.shape(LANES, 1, 1)
    x = np.full((rows, LANES), 1.5, np.float16)
    apart = float(np.spacing(np.float16(1.5)))
    inputs, times = np.arange(rows + LANES, dtype=np.int32), np.ones(rows + LANES, np.float32)
    asked = np.zeros(LANES)
    for _ in range(steps):
        gradient = (apart * (0.1 + rng.uniform(-0.05, 0.05, (1, LANES)))).astype(np.float32)
        asked += gradient[0] / apart
        add_halves(shape, gradient, np.float32(1.0), x.view(np.uint16), inputs, times, 0, rows)
    moved = (x.astype(np.float64) - 1.5) / apart
    deviation = np.sqrt(steps * 0.1 * 0.9 / rows)  # of the mean over the rows of as many draws with p = 0.1
    assert np.abs(moved.mean(axis=0) - asked).max() < 5 * deviation
    assert moved.std() > 1  # rows are rounded apart from each other


def test_16_bit_floats_are_rounded_as_by_the_twin():
    case, scale = Case(5, 7, 6, 10, 9), np.float32(0.25)
    x, gradient = case.x.astype(np.float16), case.o[:1] * np.float32(1e-3)
    twin = x.copy()
    add_halves(case.shape, gradient, scale, x.view(np.uint16), case.inputs, case.times, 3, 9)
    row_blocks_module.add_to_rows_twin(
        case.shape, gradient, scale, twin.view(np.uint16), case.inputs, case.times, 3, 9
    )
    row_blocks_module.exchange_row_twin(case.shape, twin.view(np.uint16), *case.inputs[[0, 1, 1]])
    assert (x != twin).mean() < 0.01  # the last bit of a fused product


def test_16_bit_floats_that_a_step_does_not_change_stay():
    shape = blocks.shape(2 * LANES, 1, 1)
    x = np.arange(4 * LANES, dtype=np.uint16).reshape(2, -1) * 300  # many exponents
    before = x.copy()
    add_halves(
        shape,
        np.zeros((1, 2 * LANES), np.float32),
        np.float32(1.0),
        x,
        np.zeros(LANES, np.int32),
        np.ones(LANES, np.float32),
        0,
        1,
    )
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("row_blocks", [1, 7, 19])
def test_row_blocks_equal_twins(row_blocks):
    case, twin = Case(5, row_blocks, 6, 10, 9), Case(5, row_blocks, 6, 10, 9)
    stride, count, scale = row_blocks * LANES, 9, np.float32(0.25)
    words = np.arange(60, dtype=np.int32)
    out, copies, target = (
        np.zeros((1, stride), np.float32),
        np.zeros((9, stride), np.float32),
        np.zeros(60, np.int32),
    )
    run_rows(case.shape, case.x, case.inputs, case.times, 3, count, scale, out, copies, words, target)
    expected, expected_copies = np.zeros_like(out), np.zeros_like(copies)
    row_blocks_module.sum_rows_twin(twin.shape, twin.x, twin.inputs, twin.times, 3, count, scale, expected)
    row_blocks_module.copy_rows_twin(twin.shape, twin.x, twin.inputs, count, expected_copies)
    row_blocks_module.add_to_rows_twin(twin.shape, expected, scale, twin.x, twin.inputs, twin.times, 3, count)
    row_blocks_module.exchange_row_twin(twin.shape, twin.x, *twin.inputs[:3])
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(copies, expected_copies)
    np.testing.assert_allclose(case.x, twin.x, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(target[2 : 2 + count], words[3 : 3 + count])


@kernel
def run_match(words, first, count, wanted):
    return last_match(words, first, count, wanted)


@pytest.mark.parametrize("count", [0, 1, 5, LANES - 1, LANES, LANES + 1, 3 * LANES + 2])
def test_last_match_equals_twin(count):
    rng = np.random.default_rng(count)
    for _ in range(20):
        words = rng.integers(0, 12, count + 3 + LANES).astype(np.int32)
        wanted = np.int32(rng.integers(0, 14))
        assert run_match(words, 3, count, wanted) == ids.last_match_twin(words, 3, count, wanted)


def test_offsets_beyond_32_bits(tmp_path):
    """Rows that begin beyond 2**32 floats are the rows that are trained.

    The files are sparse: they take no room.
    """
    stride = 7 * LANES
    far = 2**32 // stride + 1  # row * stride needs 33 bits
    x, o = (np.memmap(tmp_path / name, np.float32, "w+", shape=(far + 4, stride)) for name in "xo")
    shape = blocks.shape(stride, 2, 2)
    inputs, rows = (
        np.array([far + 1, far + 3] + [far] * LANES, np.int32),
        np.array([far + 2, far] + [0] * LANES, np.int32),
    )
    x[inputs[:2]], o[rows[:2]] = 0.5, 0.25
    ones, zeros = np.ones(2 * LANES, np.float32), np.zeros(2 * LANES, np.float32)
    scores = np.zeros(4 * LANES, np.float32)
    run_step(
        shape,
        x,
        inputs,
        2,
        o,
        rows,
        0,
        scores,
        0,
        ones,
        ones,
        zeros,
        ones * (np.arange(2 * LANES) < 2),
        0,
        np.float32(1.0),
    )
    error = 1 / (1 + np.exp(0.125 * stride))
    np.testing.assert_allclose(x[inputs[:2]], 0.5 + 2 * 0.25 * error, rtol=1e-6)
    np.testing.assert_allclose(o[rows[:2]], 0.25 + 2 * 0.5 * error, rtol=1e-6)
    assert not x[:100].any()  # where the product would land if it were cut to 32 bits
    assert not o[:100].any()


@kernel
def run_logistic(shape, scores, count, label, weight, offset, times):
    return logistic(shape, scores, 0, count, label, weight, offset, 0, times, 0, np.float32(1.0))


def link_of(value, label=0.0, weight=1.0):
    """Loss and step of one score."""
    shape = blocks.shape(LANES, 1, 1)
    scores, zeros = np.zeros(2 * LANES, np.float32), np.zeros(LANES, np.float32)
    scores[0], times = value, np.zeros(LANES, np.float32)
    times[0] = 1.0
    columns = [np.full(LANES, v, np.float32) for v in (label, weight)]
    loss = run_logistic(shape, scores, 1, *columns, zeros, times)
    return float(loss), float(scores[0])


@pytest.mark.parametrize("value", [-80.0, -30.0, -10.0, -1.5, -1e-3, 0.0, 1e-3, 0.7, 5.0, 17.0, 60.0, 100.0])
def test_logistic_is_exact_at_both_ends(value):
    negative, step = link_of(value)
    positive, other = link_of(value, label=1.0)
    assert negative == pytest.approx(np.logaddexp(0.0, value), rel=3e-6, abs=1e-37)
    assert positive == pytest.approx(np.logaddexp(0.0, -value), rel=3e-6, abs=1e-37)
    assert step == pytest.approx(-1 / (1 + np.exp(-value)), rel=3e-6, abs=1e-37)
    assert other == pytest.approx(1 / (1 + np.exp(value)), abs=1e-7)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_not_finite_reaches_the_loss(value):
    assert not np.isfinite(link_of(value)[0])
    assert not np.isfinite(link_of(value, label=1.0)[0])
