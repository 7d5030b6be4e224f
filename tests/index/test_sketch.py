"""Rows as bytes: the bound holds, and the block equals its twin, with products of bytes and of floats."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.index import sketch
from unhot.index.lengths import norms, units
from unhot.index.screened import Screened
from unhot.kernels.jit import kernel
from unhot.kernels.simd.lanes import LANES

WAYS = [False, True] if sketch.BYTE_PRODUCTS else [False]


@kernel
def run_screen(tile, data, factors, slacks, dim, number, numbers, gains, limits, group, passed):
    return sketch.screen(tile, data, factors, slacks, dim, number, numbers, gains, limits, group, passed)


def matrix(rows, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, dim), np.float32)


@pytest.mark.parametrize("byte_products", WAYS)
@pytest.mark.parametrize("dim", [1, 3, 4, 100])
@pytest.mark.parametrize(("alone", "numbers"), [(True, [0, sketch.ALONE]), (False, [0, 1, sketch.ALONE + 2])])
def test_screen_equals_its_twin(alone, numbers, dim, byte_products):
    vectors = matrix(2 * sketch.STRIP, dim)
    made = Screened(vectors, norms(vectors)).sketch
    tile = sketch.tile(alone, byte_products)
    width = len(tile.queries)
    packed = sketch.pack(units(matrix(2 * width, dim, 1)), tile)
    packed.limits[:] = np.random.default_rng(2).uniform(-0.5, 1.0, 2 * width)
    packed.limits[-1] = np.inf
    ours, twin = np.zeros(sketch.GROUP, np.int64), np.zeros(sketch.GROUP, np.int64)
    for number in numbers:
        for group in (0, 1):
            arguments = (tile, *made, dim, number, packed.numbers, packed.gains, packed.limits, group)
            assert bool(run_screen(*arguments, ours)) == bool(sketch.screen_twin(*arguments, twin))
            np.testing.assert_array_equal(ours, twin)
            assert ours[:width].any() or packed.limits[group * width] > 0.8


@pytest.mark.parametrize("byte_products", WAYS)
def test_the_largest_sums_fit(byte_products):
    """All bytes at their ends, in the most dimensions: sums stay within 32 bits."""
    dim = sketch.MAX_DIM
    vectors = np.ones((2, dim), np.float32)
    vectors[1] = -1
    made = Screened(vectors, norms(vectors)).sketch
    tile = sketch.tile(True, byte_products)
    packed = sketch.pack(units(vectors[:1]), tile)
    passed = np.zeros(sketch.GROUP, np.int64)
    for limit, rows in ((1.1, 0), (0.9, 1), (-0.9, 1), (-1.1, 3)):  # the slack of so many numbers is 0.008
        packed.limits[:] = limit
        run_screen(tile, *made, dim, 0, packed.numbers, packed.gains, packed.limits, 0, passed)
        assert passed[0] == rows


rows_of_numbers = st.lists(
    st.lists(st.floats(-1e6, 1e6, width=32, allow_subnormal=False), min_size=5, max_size=5),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("byte_products", WAYS)
@given(rows=rows_of_numbers, seed=st.integers(0, 100))
def test_no_cosine_is_above_its_bound(byte_products, rows, seed):
    vectors = np.array(rows, dtype=np.float32)
    lengths = norms(vectors)
    made = Screened(vectors, lengths).sketch
    queries = units(np.concatenate([matrix(4, 5, seed), vectors]))
    tile = sketch.tile(True, byte_products)
    packed = sketch.pack(queries, tile)
    cosines = queries @ units(vectors).T
    known = lengths > 0
    passed = np.zeros(sketch.GROUP, np.int64)
    error = packed.errors.astype(np.float64)
    assert (error < 0.02).all()  # else screening would be no use
    assert (made.slacks[: len(rows)][known & (lengths > sketch.SMALL)] < 0.02).all()
    for query in np.flatnonzero(queries.any(axis=1)):
        # just below each row's own cosine, as it would stand in a heap
        for row in np.flatnonzero(known):
            packed.limits[query] = np.float32(
                (np.nextafter(np.float32(cosines[query, row]), np.float32(-2)) - error[query])
                / (1 + error[query])
            )
            run_screen(
                tile,
                *made,
                5,
                row // sketch.STRIP * sketch.ALONE,
                packed.numbers,
                packed.gains,
                packed.limits,
                query,
                passed,
            )
            assert (passed[0] >> (row % sketch.STRIP)) & 1


def test_rows_out_of_range_are_always_confirmed_and_others_without_a_direction_never():
    vectors = np.array([[1e-30, 0], [1e30, 1e30], [0, 0], [np.nan, 1], [np.inf, 1], [3, 4]], np.float32)
    slacks = Screened(vectors, norms(vectors)).sketch.slacks
    assert slacks[:5].tolist() == [np.inf, np.inf, -np.inf, -np.inf, -np.inf]
    assert 0 < slacks[5] < 0.01
    assert (slacks[6:] == -np.inf).all()


def test_a_query_of_zeros_and_the_places_behind_the_last_find_nothing():
    packed = sketch.pack(np.array([[0.0, 0.0], [0.6, 0.8]]), sketch.tile(False))
    assert packed.limits[:3].tolist() == [np.inf, -np.inf, np.inf]
    assert (packed.limits[2:] == np.inf).all()
    assert np.isfinite(packed.gains).all()


def test_strips_are_whole_tiles():
    assert sketch.STRIP % LANES == 0
    assert sketch.STRIP <= 64  # their rows are bits of an int64
