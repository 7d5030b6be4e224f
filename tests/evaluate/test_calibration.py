"""Bins by brute force; temperatures against a fine grid, closed forms and planted ones."""

import math

import numpy as np
import pytest
from grids import crossed
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.probability.calibration import (
    COOLEST,
    HOTTEST,
    bin_sums,
    expected_calibration_error,
    fit_confidence,
    fit_temperature,
    reliability,
)

EXAMPLES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=40)


@given(EXAMPLES, st.integers(1, 20))
def test_bins_by_hand(examples, bins):
    sums = bin_sums([c for c, _ in examples], [r for _, r in examples], bins)
    found = reliability(sums)
    assert (found[0].low, found[-1].high) == (0, 1)
    error = 0.0
    for i, each in enumerate(found):
        inside = [(c, r) for c, r in examples if min(int(c * bins), bins - 1) == i]
        assert each.examples == len(inside)
        if inside:
            assert each.low - 1e-9 <= each.confidence <= each.high + 1e-9
            assert each.confidence == pytest.approx(sum(c for c, _ in inside) / len(inside))
            assert each.accuracy == pytest.approx(sum(r for _, r in inside) / len(inside))
            error += abs(each.confidence - each.accuracy) * len(inside) / len(examples)
        else:
            assert math.isnan(each.confidence)
            assert math.isnan(each.accuracy)
    assert sum(each.examples for each in found) == len(examples)
    if examples:
        assert expected_calibration_error(sums) == pytest.approx(error)
    else:
        assert math.isnan(expected_calibration_error(sums))


@given(EXAMPLES, st.integers(0, 40))
def test_batches_add_up(examples, cut):
    confidence, right = [c for c, _ in examples], [r for _, r in examples]
    parts = bin_sums(confidence[:cut], right[:cut]) + bin_sums(confidence[cut:], right[cut:])
    np.testing.assert_allclose(parts, bin_sums(confidence, right))


def test_calibrated_draws_have_a_small_error():
    rng = np.random.default_rng(1)
    confidence = rng.random(200_000)
    right = rng.random(200_000) < confidence
    # a bin of 13,333 examples is off by at most 0.0043 on average
    assert expected_calibration_error(bin_sums(confidence, right)) < 0.005
    # sqrt(c) where c is right: off by the mean of sqrt(c) - c, 2/3 - 1/2
    assert expected_calibration_error(bin_sums(np.sqrt(confidence), right)) == pytest.approx(1 / 6, abs=0.003)


@pytest.mark.parametrize("bad", [math.nan, -0.1, 1.1])
def test_bad_confidences(bad):
    with pytest.raises(DataError, match=r"confidence has .* at \[1\]"):
        bin_sums([0.5, bad], [True, True])


def test_rounding_is_forgiven():
    assert bin_sums([1.00001, -1e-9], [True, False])[[0, -1], 0].tolist() == [1, 1]


def loss(scores, truth, t, independent):
    """The mean log loss, written down anew."""
    z = np.asarray(scores) / t
    if independent:
        return np.mean(np.sum(np.logaddexp(0, np.where(truth, -z, z)), axis=1))
    return -np.mean(np.log(np.exp(z)[np.arange(len(z)), truth] / np.exp(z).sum(axis=1)))


def draw(seed, independent, t, n=400, labels=6):
    """Scores, and truth drawn from their probabilities at temperature t."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (n, labels))
    if independent:
        return scores, rng.random(scores.shape) < 1 / (1 + np.exp(-scores / t))
    return scores, np.argmax(scores / t + rng.gumbel(size=scores.shape), axis=1)


@pytest.mark.parametrize(("seed", "independent"), crossed(range(5), [False, True]))
def test_no_temperature_of_a_fine_grid_is_better(seed, independent):
    scores, truth = draw(seed, independent, t=[0.3, 0.8, 1.0, 2.0, 5.0][seed])
    found = fit_temperature(scores, truth, independent)
    grid = np.exp(np.linspace(math.log(0.1), math.log(30), 4_000))
    losses = [loss(scores, truth, t, independent) for t in grid]
    assert found == pytest.approx(grid[np.argmin(losses)], rel=2e-3)  # the step of the grid is 0.0014
    assert loss(scores, truth, found, independent) <= min(losses) + 1e-12


@pytest.mark.parametrize("independent", [False, True])
def test_the_planted_temperature_is_found(independent):
    scores, truth = draw(9, independent, t=1.7, n=60_000)
    assert fit_temperature(scores, truth, independent) == pytest.approx(1.7, rel=0.03)


@pytest.mark.parametrize("independent", [False, True])
@pytest.mark.parametrize("factor", [3.0, 0.25])
def test_scaled_scores_need_the_scaled_temperature(factor, independent):
    scores, truth = draw(3, independent, t=1.3)
    one = fit_temperature(scores, truth, independent)
    assert fit_temperature(factor * scores, truth, independent) == pytest.approx(factor * one, rel=1e-9)
    assert fit_temperature(scores, truth, independent) == one


def test_an_added_constant_changes_nothing():
    scores, truth = draw(4, False, t=1.3)
    shift = np.linspace(-500, 800, len(scores))[:, None]
    assert fit_temperature(scores + shift, truth) == pytest.approx(fit_temperature(scores, truth), rel=1e-9)


@pytest.mark.parametrize("right", [6, 7, 9])
def test_two_labels_in_closed_form(right):
    """If a share a is right and all margins are m, exp(m / T) = a / (1 - a)."""
    scores, truth = np.tile([2.5, 0.0], (10, 1)), np.repeat([0, 1], [right, 10 - right])
    wanted = 2.5 / math.log(right / (10 - right))
    assert fit_temperature(scores, truth) == pytest.approx(wanted, rel=1e-9)
    both = fit_temperature(np.full((10, 1), 2.5), (truth == 0)[:, None], independent=True)
    assert both == pytest.approx(wanted, rel=1e-9)


def test_degenerate_inputs_have_bounded_answers():
    scores = np.random.default_rng(5).normal(size=(30, 4))
    assert fit_temperature(scores, scores.argmax(axis=1)) == COOLEST
    assert fit_temperature(scores, scores.argmin(axis=1)) == HOTTEST
    assert fit_temperature(scores[:, :1], np.zeros(30)) == 1  # one label
    assert fit_temperature(np.ones((30, 4)), np.arange(30) % 4) == 1  # all labels are equal
    assert fit_temperature(scores, scores > 0, independent=True) == COOLEST
    assert fit_temperature(scores, scores < 0, independent=True) == HOTTEST
    assert fit_temperature([[1.0, -np.inf]] * 2, [0, 1]) == HOTTEST  # what is impossible is true
    assert fit_temperature(1e9 * scores, scores.argmin(axis=1)) == HOTTEST


def test_impossible_labels_do_no_harm():
    scores, truth = draw(6, False, t=1.3)
    wider = np.hstack([scores, np.full((len(scores), 1), -np.inf)])
    assert fit_temperature(wider, truth) == pytest.approx(fit_temperature(scores, truth), rel=1e-9)
    true = np.random.default_rng(6).random(scores.shape) < 0.5
    extra = np.hstack([true, np.zeros((len(scores), 1))])
    one, other = fit_temperature(scores, true, True), fit_temperature(wider, extra, True)
    assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize(
    ("scores", "truth", "independent", "message"),
    [
        (np.zeros((0, 3)), [], False, "must be"),
        (np.zeros(3), [0], False, "must be"),
        (np.zeros((3, 0)), [0, 0, 0], False, "at least one"),
        ([[np.nan, 1.0]], [0], False, "NaN"),
        ([[-np.inf, -np.inf]], [0], False, "only -inf"),
        ([[0.0, 1.0]], [2], False, "id of a label"),
        ([[0.0, 1.0]], [-1], False, "id of a label"),
        ([[0.0, 1.0]], [0.5], False, "id of a label"),
        ([[0.0, 1.0]], [0, 1], False, "same shape"),
        ([[0.0, 1.0]], [0], True, "same shape"),
        ([[0.0, 1.0]], [[0, 2]], True, "0 or 1"),
    ],
)
def test_bad_inputs(scores, truth, independent, message):
    with pytest.raises(DataError, match=message):
        fit_temperature(scores, truth, independent)


def test_confidence_against_a_fine_grid():
    """The temperature of the first label's confidence: the best of many, and that of two labels as ever."""
    rng = np.random.default_rng(3)
    for labels in (2, 5):
        scores = rng.normal(size=(300, labels)) * 4
        p = np.exp(scores / 2.5)
        p /= p.sum(axis=1, keepdims=True)
        truth = np.array([rng.choice(labels, p=row) for row in p])
        right = scores.argmax(axis=1) == truth

        def loss(t, scores=scores, right=right):
            c = np.exp(scores / t).max(axis=1) / np.exp(scores / t).sum(axis=1)
            return -np.log(np.where(right, c, 1 - c)).mean()

        found = fit_confidence(scores, right)
        assert loss(found) <= min(map(loss, np.geomspace(0.5, 20, 400))) + 1e-9
        if labels == 2:
            assert found == pytest.approx(fit_temperature(scores, truth), rel=1e-3)


def test_confidence_at_its_bounds():
    scores = np.array([[2.0, 1.0, -np.inf], [0.5, 3.0, 0.0]])
    assert fit_confidence(scores, [1, 1]) == COOLEST
    assert fit_confidence(scores, [0, 0]) == HOTTEST
