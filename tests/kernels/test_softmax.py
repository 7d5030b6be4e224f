"""The softmax link against its twin and at its ends."""

import numpy as np
import pytest

from unhot.kernels.jit import kernel
from unhot.kernels.simd import tiles as blocks
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.links import softmax, softmax_tile, softmax_twin
from unhot.kernels.steps import tile_room

WIDTHS = [width for width in (1, 2, 3, 6, 7, 8) if width <= blocks.MAX_WIDTH]


@kernel
def run_softmax(
    shape, scores, at, room, tiles, count, label, weight, offset, first, keep_hits, times, times_at, lr
):
    return softmax(
        shape, scores, at, room, tiles, count, label, weight, offset, first, keep_hits, times, times_at, lr
    )


@kernel
def run_softmax_tile(shape, scores, count, label, weight, offset, first, keep_hits, times, times_at, lr):
    return softmax_tile(shape, scores, count, label, weight, offset, first, keep_hits, times, times_at, lr)


def case(width, tiles, count, seed, keep_hits=True, targets=1):
    rng = np.random.default_rng(seed)
    shape, columns, first = blocks.shape(LANES, width, count), tiles * width, 2
    room = -(-count * blocks.padded_width(width) // LANES) * LANES
    size = first + columns + LANES
    label, weight, offset = (
        np.zeros(size, np.float32),
        rng.integers(0, 4, size).astype(np.float32),
        rng.normal(size=size).astype(np.float32),
    )
    weight[first] += 1  # somebody is in the sum
    label[first + rng.permutation(columns)[:targets]] = rng.integers(1, 4, min(targets, columns))
    times = np.zeros(1 + count + LANES, np.float32)
    times[1 : 1 + count] = rng.integers(1, 4, count)
    scores = rng.normal(0, 3, LANES + tiles * room + LANES).astype(np.float32)
    return (
        shape,
        scores,
        LANES,
        room,
        tiles,
        count,
        label,
        weight,
        offset,
        first,
        keep_hits,
        times,
        1,
        np.float32(0.1),
    )


@pytest.mark.parametrize("keep_hits", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_equals_twin(width, keep_hits):
    for tiles, count, targets in [(1, 1, 1), (1, 5, 1), (3, 10, 1), (40, 3, 1), (4, 1, 3)]:
        ours, theirs = (case(width, tiles, count, tiles, keep_hits, targets) for _ in range(2))
        assert run_softmax(*ours) == pytest.approx(softmax_twin(*theirs), rel=1e-5, abs=1e-5)
        padded = blocks.padded_width(width)
        for tile in range(tiles):
            for b in range(count):
                place = ours[2] + tile * ours[3] + b * padded
                np.testing.assert_allclose(
                    ours[1][place : place + width], theirs[1][place : place + width], rtol=1e-4, atol=2e-6
                )


@pytest.mark.parametrize("keep_hits", [True, False])
@pytest.mark.parametrize("width", WIDTHS)
def test_one_tile_with_one_target_equals_the_general_link(width, keep_hits):
    for count in (1, 5, 10):
        ours, theirs = (list(case(width, 1, count, 3, keep_hits)) for _ in range(2))
        for given in (ours, theirs):
            given[6] = np.minimum(given[6], 1)
        ours[1], theirs[1] = ours[1][LANES:], theirs[1][LANES:]
        theirs[2] = 0
        shape, scores, _, _, _, *rest = ours
        assert run_softmax_tile(shape, scores, *rest) == pytest.approx(
            softmax_twin(*theirs), rel=1e-5, abs=1e-5
        )
        places = np.arange(count)[:, None] * blocks.padded_width(width) + np.arange(width)
        np.testing.assert_allclose(scores[places], theirs[1][places], rtol=1e-4, atol=2e-6)
        scores[0] = np.nan
        assert np.isnan(run_softmax_tile(shape, scores, *rest))


def one_group(values, label, weight=None, keep_hits=False):
    """Loss and steps of one input and a few scores."""
    width = len(values)
    given = list(case(width, 1, 1, 0, keep_hits))
    given[1][given[2] : given[2] + width] = values
    given[6][:], given[7][:], given[8][:], given[11][:] = 0.0, 0.0, 0.0, 0.0
    given[6][2 : 2 + width], given[7][2 : 2 + width], given[11][1] = (
        label,
        1.0 if weight is None else weight,
        1.0,
    )
    given[13] = np.float32(1.0)
    loss = run_softmax(*given)
    return float(loss), given[1][given[2] : given[2] + width]


@pytest.mark.parametrize("shift", [0.0, 900.0, -900.0])
def test_large_scores_and_small_losses_keep_their_digits(shift):
    gap = 12.0
    loss, steps = one_group(np.array([shift + gap, shift]), [1, 0])
    assert loss == pytest.approx(np.log1p(np.exp(-gap)), rel=0.01)  # the sum is 1.000006, in float32
    assert steps[0] == pytest.approx(1 / (1 + np.exp(gap)), rel=0.02)  # one minus almost one, in float32
    loss, steps = one_group(np.array([shift + gap, shift]), [0, 1])
    assert loss == pytest.approx(gap + np.log1p(np.exp(-gap)), rel=1e-6)
    assert steps.tolist() == pytest.approx([-1, 1], rel=1e-4)


def test_hits_are_kept_or_left_out():
    scores, weight = np.array([0.3, -0.2]), [2.0, 1.0]  # the target was drawn twice
    e = np.exp(scores)
    kept, _ = one_group(scores, [1, 0], weight, keep_hits=True)
    dropped, _ = one_group(scores, [1, 0], weight, keep_hits=False)
    assert kept == pytest.approx(np.log(3 * e[0] + e[1]) - 0.3, rel=1e-6)
    assert dropped == pytest.approx(np.log(e[0] + e[1]) - 0.3, rel=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("label", [[1, 0], [0, 1]])
def test_a_score_that_is_not_finite_reaches_the_loss(value, label):
    assert not np.isfinite(one_group(np.array([value, 0.0]), label)[0])


@kernel
def run_room(shape, count):
    return tile_room(shape, count)


def test_tiles_lie_whole_vectors_apart():
    shape, inputs = blocks.shape(LANES, 3, 4), LANES // 4  # an input has four places
    assert [run_room(shape, count) for count in (1, inputs, inputs + 1)] == [LANES, LANES, 2 * LANES]
