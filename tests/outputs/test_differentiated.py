"""Bands of words and slices of the hidden vector."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.outputs import parse_output

COUNTS = np.array([3, 70, 10, 9, 6, 2])
AUTO = parse_output("differentiated")


def as_lists(bands):
    return [(ids.tolist(), first, last) for ids, first, last in bands]


def test_bands_by_hand():
    assert as_lists(AUTO.bands(COUNTS, 100)) == [([1, 2], 0, 50), ([3, 4], 50, 75), ([0, 5], 75, 100)]
    layer = parse_output("differentiated:cutoffs=1,5,widths=2,1,4")
    assert as_lists(layer.bands(COUNTS, 7)) == [([1], 0, 2), ([2, 3, 4, 0], 2, 3), ([5], 3, 7)]


def test_given_widths_say_how_many_bands_auto_makes():
    assert as_lists(parse_output("differentiated:widths=3,2").bands(COUNTS, 5)) == [
        ([1, 2], 0, 3),
        ([3, 4, 0, 5], 3, 5),
    ]
    assert as_lists(parse_output("differentiated:widths=5").bands(COUNTS, 5)) == [([1, 2, 3, 4, 0, 5], 0, 5)]


@pytest.mark.parametrize(
    ("dim", "widths"),
    [(1, [1]), (2, [1, 1]), (3, [1, 1, 1]), (4, [2, 1, 1]), (5, [2, 1, 2]), (64, [32, 16, 16])],
)
def test_auto_widths_halve_what_is_left(dim, widths):
    assert [last - first for _, first, last in AUTO.bands(COUNTS, dim)] == widths


@given(st.lists(st.integers(0, 50), min_size=2, max_size=20).map(np.array), st.integers(1, 12), st.data())
def test_every_word_is_in_one_band_and_every_number_in_one_slice(counts, dim, data):
    layer = AUTO
    if dim > 1 and data.draw(st.booleans()):
        ranks = data.draw(
            st.lists(st.integers(1, counts.size - 1), min_size=1, max_size=dim - 1, unique=True)
        )
        layer = parse_output(f"differentiated:cutoffs={','.join(map(str, sorted(ranks)))}")
    bands = layer.bands(counts, dim)
    assert sorted(np.concatenate([band.ids for band in bands]).tolist()) == list(range(counts.size))
    assert [(band.first, band.last) for band in bands] == list(
        zip([0] + [b.last for b in bands[:-1]], [b.last for b in bands], strict=True)
    )
    assert bands[-1].last == dim
    assert all(band.ids.size and band.first < band.last for band in bands)
    for before, after in zip(bands, bands[1:], strict=False):
        assert counts[before.ids].min() >= counts[after.ids].max()
