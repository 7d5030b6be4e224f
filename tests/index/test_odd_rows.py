"""Rows whose lengths float32 cannot square, and what searches are given wrongly."""

import numpy as np
import pytest

from unhot.errors import DataError
from unhot.index.exact import Exact, search_plain
from unhot.index.screened import Screened

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("scale", [1e-16, 1e-30, 1e16, 1e30])
@pytest.mark.parametrize("odd", [1, 5, 200])
def test_odd_rows_do_not_push_others_out(scale, odd):
    rows = RNG.normal(size=(500, 20)).astype(np.float32)
    rows[:odd] *= np.float32(scale)
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    unit = rows[300].astype(np.float64) / norms[300]
    expected = np.argsort(-((rows.astype(np.float64) @ unit) / norms), kind="stable")[:7]
    none = np.empty(0, np.int64)
    assert search_plain(rows, norms, unit, 7, none, 0)[0].tolist() == expected.tolist()
    assert (
        Screened(rows, norms).search(unit[None], 7, none[None], 0, 500, 1)[0][0].tolist() == expected.tolist()
    )


def test_equal_cosines_come_in_the_order_of_rows_both_ways():
    """Additions in another order leave 1e-17 of a zero."""
    rows = RNG.integers(-2, 3, (100, 3)).astype(np.float32)
    rows[(rows == 0).all(axis=1)] = 1
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    none, screened = np.empty(0, np.int64), Screened(rows, norms)
    for row in range(100):
        unit = rows[row].astype(np.float64) / norms[row]
        plain = search_plain(rows, norms, unit, 99, none, 0)
        compiled = screened.search(unit[None], 99, none[None], 0, 100, 1)
        assert plain[0].tolist() == compiled[0][0].tolist()
        np.testing.assert_array_equal(plain[1], compiled[1][0])


def test_lengths_and_queries_must_fit():
    with pytest.raises(DataError, match=r"10 vectors, but norms has shape \(5,\)"):
        Exact(np.ones((10, 4), np.float32), norms=np.ones(5))
    with pytest.raises(DataError, match=r"queries has shape \(1, 60\): give a matrix with 4 numbers"):
        Exact(np.ones((10, 4), np.float32)).search_units(np.ones((1, 60)), 1)
    assert Exact([[1.0, 0.0], [0.0, 1.0]]).search([[0, 1]], 1)[0].tolist() == [[1]]
