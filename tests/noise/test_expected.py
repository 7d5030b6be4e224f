import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorflow_counts import tensorflow_expected_counts

from unhot.errors import ConfigError, DataError
from unhot.noise.expected import expected_counts, tries
from unhot.noise.rules import log_uniform


def inclusion(q, k):
    """The probability that each id is among the first k distinct: the sum over all orders, in fractions."""
    q = [Fraction(x) for x in q]
    found = [Fraction(0)] * len(q)
    for order in itertools.permutations([i for i in range(len(q)) if q[i] > 0], k):
        chance, left = Fraction(1), sum(q)
        for i in order:
            chance, left = chance * q[i] / left, left - q[i]
        for i in order:
            found[i] += chance
    return np.array([float(x) for x in found])


def test_tensorflow_counts(golden):
    for case in golden["cases"]:
        q, k = np.array(case["probability"]), case["num_sampled"]
        flat = case["not_unique"]
        np.testing.assert_allclose(expected_counts(q, k), flat["true_expected_count_all_classes"], rtol=1e-6)
        np.testing.assert_allclose(
            expected_counts(q, k)[flat["sampled"]], flat["sampled_expected_count"], rtol=1e-6
        )
        assert min(call["num_tries"] for call in case["unique"]) == k  # both branches are covered
        assert max(call["num_tries"] for call in case["unique"]) > k
        for call in case["unique"]:
            c = tensorflow_expected_counts(q, k, call["num_tries"])
            np.testing.assert_allclose(c, call["true_expected_count_all_classes"], rtol=1e-6)
            np.testing.assert_allclose(c[call["sampled"]], call["sampled_expected_count"], rtol=1e-6)


def test_tensorflow_all_of_the_range(golden):
    case = golden["extra"]["unique_num_sampled_equals_range"]
    q = log_uniform(np.full(case["range_max"], 1))
    reported = np.array(case["true_expected_count_all_classes"])
    took = round(math.log1p(-reported[0]) / math.log1p(-q[0]))
    np.testing.assert_allclose(tensorflow_expected_counts(q, case["num_sampled"], took), reported, rtol=1e-6)
    # TensorFlow's counts follow the tries of the call; all ids are there, so ours are one, as those of its
    # all_candidate_sampler
    assert (
        expected_counts(q, case["num_sampled"], unique=True).tolist()
        == golden["extra"]["all_candidate_sampler"]["sampled_expected_count"]
    )
    assert "range is too small" in golden["extra"]["unique_more_than_range"]
    with pytest.raises(ConfigError, match="k=7 distinct draws: must be <= 6"):
        expected_counts(q, case["num_sampled"] + 1, unique=True)


WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1.0), st.sampled_from([1e-12, 1e-6, 1.0])),
    min_size=1,
    max_size=60,
).filter(any)


@given(WEIGHTS, st.data())
def test_unique_counts_sum_to_k_and_rise_with_q(weights, data):
    q = np.array(weights) / sum(weights)
    possible = int((q > 0).sum())
    k = data.draw(st.integers(1, possible))
    c = expected_counts(q, k, unique=True)
    assert abs(c.sum() - k) < 1e-9
    assert c.min() >= 0
    assert c.max() <= 1
    assert (c[q == 0] == 0).all()
    order = np.argsort(q)
    assert (np.diff(c[order]) >= -1e-15).all()
    if k == possible:
        assert (c[q > 0] == 1).all()
        assert tries(q, k) == math.inf
    else:
        assert tries(q, k) >= k - 1e-9
        np.testing.assert_allclose(
            c, [float(1 - (1 - Decimal(float(x))) ** Decimal(tries(q, k))) for x in q], atol=1e-12
        )


@given(WEIGHTS, st.integers(1, 10**6))
def test_counts_with_replacement(weights, k):
    q = np.array(weights) / sum(weights)
    np.testing.assert_allclose(expected_counts(q, k), k * q)


def test_tries_of_a_uniform_distribution_in_closed_form():
    # V (1 - (1 - 1/V) ** t) = k
    for words, k in [(50, 10), (1000, 999), (10**5, 3)]:
        assert tries(np.full(words, 1 / words), k) == pytest.approx(
            math.log1p(-k / words) / math.log1p(-1 / words), rel=1e-9
        )


@pytest.mark.parametrize(
    ("q", "k", "t"),
    [
        ([1 - 3e-12, 1e-12, 1e-12, 1e-12], 2, math.log(1.5) * 1e12),  # 3 (1 - exp(-1e-12 t)) = 1
        ([0.5, 0.5 - 1e-12, 1e-12], 2, 35.70508662269878),  # 2 * 0.5 ** t = 1e-12 t, solved by hand
        ([1.0, 1e-17, 1e-17], 2, math.log(2) * 1e17),
    ],
)
def test_tries_with_tiny_probabilities(q, k, t):
    assert tries(q, k) == pytest.approx(t, rel=1e-6)
    assert expected_counts(q, k, unique=True).sum() == pytest.approx(k, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_unique_counts_are_close_to_inclusion_probabilities(k):
    for q in ([0.2] * 5, [0.4, 0.3, 0.15, 0.1, 0.05], [0.1, 0.2, 0.3, 0.4, 0.0]):
        if k > sum(x > 0 for x in q):
            continue
        exact = inclusion(q, k)
        c = expected_counts(q, k, unique=True)
        assert exact.sum() == pytest.approx(k)
        np.testing.assert_allclose(c, exact, atol=0.045)
        if k in (1, len([x for x in q if x])) or len(set(q)) == 1:
            np.testing.assert_allclose(c, exact, atol=1e-12)  # here it is exact


def test_numbers_that_cannot_be():
    q = np.array([0.5, 0.5, 0.0])
    for k in (0, -1, 1.5, True):
        for unique in (False, True):
            with pytest.raises(ConfigError, match="k="):
                expected_counts(q, k, unique=unique)
    with pytest.raises(ConfigError, match="k=3 distinct draws: must be <= 2"):
        tries(q, 3)
    for bad in ([0.5, -0.5], [np.nan, 1], [[1.0]]):
        with pytest.raises(DataError, match="^q"):
            expected_counts(bad, 1)
