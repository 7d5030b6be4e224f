"""The places of the largest numbers, compared with a plain sort in Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.largest import SHORT, largest


def plainly(numbers, k):
    """Falling numbers, then rising places; NaN is behind all."""
    places = sorted(range(len(numbers)), key=lambda i: (np.isnan(numbers[i]), -np.nan_to_num(numbers[i]), i))
    return places[:k]


@given(
    st.lists(st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, 2.0]), max_size=30), st.integers(0, 40)
)
def test_the_largest_are_those_of_a_plain_sort(numbers, k):
    values = np.array(numbers, np.float32)
    for some in (values, np.append(values, np.full(SHORT, np.nan, np.float32))):
        wanted = plainly(some.astype(np.float64), k)
        assert largest(some, k).tolist() == wanted
        assert largest(some)[:k].tolist() == wanted


@pytest.mark.parametrize("size", [5, SHORT + 5])
def test_rows_are_ranked_apart(size):
    values = np.random.default_rng(1).integers(4, size=(2, 3, size))  # many ties
    found = largest(values, 3)
    assert found.shape == (2, 3, 3)
    for at in np.ndindex(2, 3):
        assert found[at].tolist() == plainly(values[at], 3)
    assert largest(values[:0], 3).shape == (0, 3, 3)
