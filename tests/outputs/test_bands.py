"""Bands of words by frequency."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError
from unhot.outputs.bands import (
    BANDS,
    auto_cutoffs,
    checked_cutoffs,
    checked_numbers,
    cutoffs_of,
    given_numbers,
    ranked,
)

ALL_COUNTS = st.lists(st.integers(0, 1000), min_size=1, max_size=40).map(np.array)


@given(ALL_COUNTS)
def test_ranks_are_by_falling_count_then_id(counts):
    order = ranked(counts)
    assert order.dtype == np.int32
    assert order.tolist() == sorted(range(counts.size), key=lambda w: (-counts[w], w))


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.uint64, np.int8])
def test_ranks_of_any_whole_type(kind):
    assert ranked(np.array([0, 100, 1, 0, 7], kind)).tolist() == [1, 4, 2, 0, 3]


@given(ALL_COUNTS, st.integers(1, BANDS))
def test_auto_bands_are_never_empty_and_never_too_many(counts, most):
    cutoffs = auto_cutoffs(counts, most)
    edges = [0, *cutoffs, counts.size]
    assert all(low < high for low, high in zip(edges, edges[1:], strict=False))
    assert len(cutoffs) < min(most, counts.size) or cutoffs == []


@given(ALL_COUNTS.filter(np.any))
def test_auto_cutoffs_are_the_first_ranks_that_cover_the_shares(counts):
    falling, expected = sorted(counts.tolist(), reverse=True), set()
    for percent in (80, 95):
        rank = next(r for r in range(1, counts.size + 1) if 100 * sum(falling[:r]) >= percent * sum(falling))
        expected |= {rank} - {counts.size}
    assert auto_cutoffs(counts) == sorted(expected)


@pytest.mark.parametrize(
    ("counts", "cutoffs"),
    [
        ([5], []),
        ([5, 5], []),
        ([9, 1], [1]),
        ([1] * 10, [8]),
        ([0, 0, 0], []),
        ([0] * 100, [80, 95]),
        ([1, 99, 0, 0], [1]),
        ([10**15] * 3, []),
    ],
)
def test_small_and_odd_vocabularies(counts, cutoffs):
    assert auto_cutoffs(np.array(counts)) == cutoffs


def test_numbers_are_read_as_they_are_meant():
    assert checked_numbers("a", " auto ") == "auto"
    assert checked_numbers("a", "64, 032,32") == "64,32,32"
    assert given_numbers("64,32,32") == [64, 32, 32]
    assert given_numbers("auto") == []
    assert checked_cutoffs("a", "2000") == "2000"
    assert cutoffs_of("a", "2,5", np.ones(6)) == [2, 5]


@pytest.mark.parametrize(
    "text", ["", ",", "1,", "auto,1", "-1", "1.5", "1e3", "1_0", "\u0663", "\u00b2", "0", "2147483648", "1;2"]
)
def test_what_is_no_list_of_numbers_is_named(text):
    with pytest.raises(ConfigError, match="field=.*: must be auto, or whole numbers from 1 to"):
        checked_numbers("field", text)


@pytest.mark.parametrize("text", ["2,2", "3,1", "1,5,4"])
def test_cutoffs_rise(text):
    with pytest.raises(ConfigError, match="field=.*: must be in ascending order"):
        checked_cutoffs("field", text)


def test_no_given_band_is_empty():
    with pytest.raises(ConfigError, match="field='2,6': must be < 6, the number of words"):
        cutoffs_of("field", "2,6", np.ones(6))
