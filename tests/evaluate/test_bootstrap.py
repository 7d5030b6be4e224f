"""Intervals against resampling by hand, and against theory."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.evaluate.figures import RESAMPLES, bootstrap, mean_interval


def test_a_mean_as_by_hand():
    values = np.random.default_rng(3).exponential(size=60)
    drawn = np.random.default_rng(4).choice(values, (20_000, 60)).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    # the error of a quantile of 1,000 draws: sqrt(0.025 * 0.975 / 1000) / density, below a tenth of the width
    # here
    assert mean_interval(values) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_shares_have_the_width_of_the_binomial():
    right = [True] * 300 + [False] * 700
    low, high = mean_interval(right)
    assert (low, high) == pytest.approx(
        (0.3 - 1.96 * math.sqrt(0.21 / 1000), 0.3 + 1.96 * math.sqrt(0.21 / 1000)), abs=0.004
    )


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.integers(0, 2**64 - 1))
def test_an_interval_lies_among_the_values(values, seed):
    low, high = mean_interval(values, seed)
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert mean_interval(values, seed) == (low, high)


def test_nothing_has_no_interval():
    assert all(math.isnan(end) for end in mean_interval([]))
    assert all(math.isnan(end) for end in bootstrap([1, 1], lambda weights: np.full(len(weights), np.nan)))
    assert mean_interval([2.5]) == (2.5, 2.5)


def test_memory_changes_nothing(monkeypatch):
    weights = []

    def figure(some):
        assert (some.sum(axis=1) == 5).all()
        weights.append(len(some))
        return some[:, 0]

    whole = bootstrap([2, 3], figure)
    assert weights == [RESAMPLES]
    monkeypatch.setattr("unhot.evaluate.figures.NUMBERS", 600)
    assert bootstrap([2, 3], figure) == whole
    assert weights[1:] == [300, 300, 300, 100]
