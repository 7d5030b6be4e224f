"""Sparse rows against dense ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.cells.sparse_rows import (
    cuts,
    fill_cosines,
    fill_dots,
    fill_lengths,
    fill_pair_dots,
    information,
    multiply,
    multiply_transposed,
    rows_of,
)
from unhot.kernels.aligned import aligned_zeros
from unhot.kernels.simd.lanes import LANES
from unhot.kernels.simd.tiles import shape

WORDS = 23


def dense_and_rows(seed=1, share=0.3):
    """A matrix, most of it zeros, with an empty row and an empty column, and the same as sparse rows."""
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((WORDS, WORDS)) < share, rng.uniform(0.1, 9, (WORDS, WORDS)), 0.0)
    x[5], x[:, 7] = 0, 0
    filled = x != 0
    return x, rows_of(
        np.concatenate([[0], filled.sum(axis=1).cumsum()]), np.nonzero(filled)[1].astype(np.int32), x[filled]
    )


# the last: more than are written out
@pytest.mark.parametrize("width", [1, LANES - 1, LANES, 3 * LANES + 1, 9 * LANES])
def test_products_are_numpys(width):
    x, rows = dense_and_rows()
    stride = -(-width // LANES) * LANES
    dense = aligned_zeros((WORDS, stride))
    dense[:, :width] = np.random.default_rng(2).normal(size=(WORDS, width))
    times, outs = aligned_zeros((WORDS, stride)), [aligned_zeros((WORDS, stride)) for _ in range(3)]
    for part, out in zip(cuts(rows.starts, 3), outs, strict=True):
        multiply(shape(stride, 1, 1), rows, 0.5, dense, aligned_zeros(WORDS), *part, times)
        multiply_transposed(shape(stride, 1, 1), rows, 0.5, dense, aligned_zeros(WORDS), *part, out)
    np.testing.assert_allclose(times, 2 * x @ dense, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(sum(outs), 2 * x.T @ dense, rtol=1e-4, atol=1e-4)


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=40), parts=st.integers(1, 50), data=st.data())
def test_cuts_are_all_rows_once_and_in_order(lengths, parts, data):
    starts = np.concatenate([[0], np.cumsum(lengths)])
    first = data.draw(st.integers(0, len(lengths)))
    last = data.draw(st.integers(first, len(lengths)))
    found = cuts(starts, parts, first, last)
    assert [row for begin, end in found for row in range(begin, end)] == list(range(first, last))
    assert len(found) <= parts
    if found:
        most = max(starts[end] - starts[begin] for begin, end in found)
        assert most <= (starts[last] - starts[first]) / parts + max(lengths)  # a row is not cut


def test_dots_and_lengths_are_numpys():
    x, rows = dense_and_rows()
    lengths, dots, query = (
        np.full(WORDS, -1.0),
        np.full(WORDS, -1.0),
        np.random.default_rng(3).normal(size=WORDS),
    )
    for part in cuts(rows.starts, 2):
        fill_lengths(rows, *part, lengths)
        fill_dots(rows, query, *part, dots)
    np.testing.assert_allclose(lengths, np.linalg.norm(x, axis=1), rtol=1e-14)
    np.testing.assert_allclose(dots, x @ query, rtol=1e-12)
    a, b = (ids.ravel().astype(np.int32) for ids in np.indices((WORDS, WORDS)))
    products = np.full(a.size, -1.0)
    fill_pair_dots(rows, a, b, products)
    np.testing.assert_allclose(products.reshape(WORDS, WORDS), x @ x.T, rtol=1e-13)


def test_cosines_of_a_range():
    x, rows = dense_and_rows()
    lengths = np.linalg.norm(x, axis=1)
    asked = np.array([3, 0, 11])
    units = x[asked] / lengths[asked, None]
    filled = units.T != 0
    queries = rows_of(
        np.concatenate([[0], filled.sum(axis=1).cumsum()]),
        np.nonzero(filled)[1].astype(np.int32),
        units.T[filled],
    )
    first, last = 2, 17
    out = np.zeros((3, last - first), np.float32)
    for part in cuts(rows.starts, 4, first, last):
        fill_cosines(rows, lengths, queries, *part, first, np.full(3, 7.0), out)
    with np.errstate(invalid="ignore"):
        expected = units @ (x / lengths[:, None])[first:last].T
    assert np.isnan(out[:, 5 - first]).all()
    np.testing.assert_allclose(out, expected, rtol=1e-6, equal_nan=True)


@pytest.mark.parametrize("positive", [True, False])
def test_information_keeps_what_is_above_zero(positive):
    x, rows = dense_and_rows()
    rng = np.random.default_rng(4)
    row_terms, column_terms = rng.normal(size=WORDS), rng.normal(size=WORDS)
    with np.errstate(divide="ignore"):
        expected = np.log(x) + row_terms[:, None] + column_terms
    kept = (x > 0) & ((expected > 0) | (not positive))
    begin, end = 3, 20
    lengths, columns, values = np.zeros(end - begin, np.int64), np.zeros(x.size, np.int32), np.zeros(x.size)
    count = information(rows, row_terms, column_terms, positive, begin, end, lengths, columns, values)
    assert lengths.tolist() == kept[begin:end].sum(axis=1).tolist()
    assert count == lengths.sum() > 0
    assert columns[:count].tolist() == np.nonzero(kept[begin:end])[1].tolist()
    np.testing.assert_allclose(values[:count], expected[begin:end][kept[begin:end]], rtol=1e-12, atol=1e-14)
