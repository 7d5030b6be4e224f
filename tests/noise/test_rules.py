"""q from a rule: uniform, log-uniform, unigram, and TensorFlow's probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.noise.rules import log_uniform, uniform, unigram


def rule(case, counts):
    """Our probabilities for a golden case."""
    if case["name"] == "log_uniform":
        return log_uniform(np.arange(case["range_max"], 0, -1))
    if case["name"] == "uniform":
        return uniform(case["range_max"])
    return unigram(np.array(counts), float(case["name"].removeprefix("fixed_unigram_")))


def test_tensorflow_probabilities(golden):
    assert len(golden["cases"]) == 4
    for case in golden["cases"]:
        np.testing.assert_allclose(
            rule(case, golden["unigrams"]), case["probability"], rtol=1e-12, err_msg=case["name"]
        )


@given(st.integers(1, 3000))
def test_log_uniform_is_the_formula_and_sums_to_one(words):
    q = log_uniform(np.full(words, 7))
    np.testing.assert_allclose(
        q, [(math.log(i + 2) - math.log(i + 1)) / math.log(words + 1) for i in range(words)], rtol=1e-9
    )
    assert q.sum() == pytest.approx(1, abs=1e-12)


def test_log_uniform_wants_falling_counts():
    log_uniform(np.array([9, 9, 2, 0]))
    with pytest.raises(DataError, match=r"rises from 3 to 1,000 at id 2: .*descending count.*use unigram"):
        log_uniform(np.array([5, 3, 1000, 2000]))
    with pytest.raises(DataError, match="vocabulary is empty"):
        log_uniform(np.array([], np.int64))


def test_uniform_covers_all_ids():
    assert uniform(4).tolist() == [0.25] * 4
    for bad in (0, -1, 2.0, True, 2**31):
        with pytest.raises(ConfigError, match="words="):
            uniform(bad)


def test_unigram_refuses_what_is_not_a_count():
    with pytest.raises(DataError, match=r"counts: -1\.0 for id 1"):
        unigram(np.array([3, -1]), 0.75)
    for power in (math.nan, math.inf):
        with pytest.raises(ConfigError, match="power="):
            unigram(np.array([3, 1]), power)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=50).filter(any), st.floats(-2, 2), st.randoms())
def test_unigram_is_the_formula_whatever_the_order(counts, power, random):
    random.shuffle(counts)
    weights = [float(count) ** power if count else 0.0 for count in counts]
    np.testing.assert_allclose(
        unigram(np.array(counts), power), np.array(weights) / math.fsum(weights), rtol=1e-9
    )


def test_power_minus_one_prefers_rare_words():
    np.testing.assert_allclose(unigram(np.array([1, 2, 0, 4]), -1), np.array([4, 2, 0, 1]) / 7)
