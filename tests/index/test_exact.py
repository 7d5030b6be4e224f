"""Exact search against sorting all cosines in float64."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.index import Exact, exact
from unhot.index.screened import Screened, _shares


def compiled(vectors, threads=None):
    search = Exact(vectors, threads=threads)
    if len(vectors):
        search._screened = Screened(search.vectors, search.norms)
    return search


def plain(vectors, threads=None):
    search = Exact(vectors, threads=threads)
    search._loaded = lambda work: None
    return search


def oracle(vectors, queries, k, exclude, first, last):
    """All cosines, sorted."""
    ids, cosines = np.full((len(queries), k), -1), np.full((len(queries), k), -np.inf, np.float32)
    for n, query in enumerate(np.asarray(queries, np.float64)):
        found = []
        for row in range(first, last):
            x = vectors[row].astype(np.float64)
            length = np.sqrt(x @ x) * np.sqrt(query @ query)
            if 0 < length < np.inf and row not in exclude[n]:
                found.append((-np.float32(x @ query / length), row))
        for i, (cosine, row) in enumerate(sorted(found)[:k]):
            ids[n, i], cosines[n, i] = row, -cosine
    return ids, cosines


def assert_found(search, queries, k, exclude=None, rows=None):
    first, last, _ = (rows or slice(None)).indices(len(search.vectors))
    barred = exclude if exclude is not None else [[]] * len(queries)
    ids, cosines = search.search(queries, k, exclude=exclude, rows=rows)
    expected, expected_cosines = oracle(search.vectors, queries, k, barred, first, last)
    assert ids.dtype == np.int64
    assert cosines.dtype == np.float32
    np.testing.assert_allclose(cosines, expected_cosines, atol=2e-7)
    for line, (mine, theirs) in enumerate(zip(ids, expected, strict=True)):
        # the last digit of a float32 may order two rows differently
        swapped = mine != theirs
        assert np.allclose(cosines[line][swapped], expected_cosines[line][swapped], atol=2e-7)
        assert sum(swapped) < 3


def vectors_of(rows, dim, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, dim), np.float32)


@pytest.mark.parametrize("make", [compiled, plain])
@pytest.mark.parametrize(
    ("rows", "dim", "queries", "k"),
    [(1, 1, 1, 1), (63, 7, 2, 5), (64, 16, 3, 64), (300, 33, 60, 10), (130, 5, 1, 200)],
)
def test_random_vectors(make, rows, dim, queries, k):
    assert_found(make(vectors_of(rows, dim)), vectors_of(queries, dim, 1), k)


@pytest.mark.parametrize("make", [compiled, plain])
def test_ranges_and_exclusions(make):
    search = make(vectors_of(200, 9))
    for rows in (
        slice(None),
        slice(3, 4),
        slice(17, 170),
        slice(150, None),
        slice(70, 70),
        slice(180, 500),
        slice(-5, None),
    ):
        for n in (1, 50):
            exclude = np.random.default_rng(n).integers(-1, 200, (n, 3))
            assert_found(search, vectors_of(n, 9, 2), 7, exclude, rows)


small = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=150)


@given(rows=small, queries=small, k=st.integers(1, 12))
def test_ties_come_by_row_and_zeros_are_never_found(rows, queries, k):
    vectors, asked = np.array(rows, dtype=np.float32), np.array(queries[:30], dtype=np.float32)
    expected = oracle(vectors, asked, k, [[]] * len(asked), 0, len(vectors))
    # integers this small: float64 is exact up to the root, so equal directions are equal cosines
    for make in (compiled, plain):
        ids, cosines = make(vectors).search(asked, k)
        np.testing.assert_array_equal(ids, expected[0])
        np.testing.assert_array_equal(cosines, expected[1])


@pytest.mark.parametrize("make", [compiled, plain])
def test_huge_tiny_and_broken_rows(make):
    vectors = np.array(
        [[0, 0], [1e30, 1e30], [1e-44, 1e-44], [np.nan, 1], [np.inf, 1], [1, 1], [-1, 1], [3e38, 3e38]],
        np.float32,
    )
    ids, cosines = make(vectors).search([[1, 1], [0, 0], [np.nan, 1], [1e-30, 1e-30]], 8)
    assert ids[0].tolist() == [1, 2, 5, 7, 6, -1, -1, -1]
    np.testing.assert_allclose(cosines[0, :5], [1, 1, 1, 1, 0], atol=1e-7)
    assert (ids[1:3] == -1).all()
    assert (cosines[1] == -np.inf).all()
    assert np.isnan(cosines[2]).all()
    assert ids[3].tolist() == ids[0].tolist()


def test_all_rows_alike():
    search = compiled(np.ones((500, 4), np.float32) * np.arange(1, 501, dtype=np.float32)[:, None])
    assert search.search(np.ones((1, 4)), 5, exclude=[[1]])[0].tolist() == [[0, 2, 3, 4, 5]]


def test_threads_and_company_change_nothing(monkeypatch):
    monkeypatch.setattr("unhot.index.screened.SHARED", 0)  # so that even these few rows are shared
    vectors, queries = vectors_of(1000, 20), vectors_of(300, 20, 3)
    exclude = np.arange(300)[:, None]
    expected = compiled(vectors, threads=1).search(queries, 10, exclude=exclude)
    assert (plain(vectors).search(queries, 10, exclude=exclude)[0] == expected[0]).all()
    for threads in (2, 3, 5):
        for n in (1, 2, 3, 30, 300):
            ids, cosines = compiled(vectors, threads).search(queries[:n], 10, exclude=exclude[:n])
            np.testing.assert_array_equal(ids, expected[0][:n])
            np.testing.assert_array_equal(cosines, expected[1][:n])


@given(groups=st.integers(1, 100), rows=st.integers(1, 1000), threads=st.integers(1, 9))
def test_tasks_cover_every_query_and_row_once(groups, rows, threads):
    seen = np.zeros((groups, rows), int)
    for task in _shares(groups, 0, rows, threads):
        seen[task.first_group : task.last_group, task.first : task.last] += 1
    assert (seen == 1).all()


def test_more_queries_than_fit_at_once(monkeypatch):
    monkeypatch.setattr(exact, "CHUNK", 7)
    assert_found(compiled(vectors_of(40, 3)), vectors_of(20, 3, 1), 5, np.arange(20)[:, None])


def test_any_memory_layout(tmp_path):
    wide = vectors_of(100, 24)
    np.save(tmp_path / "m.npy", wide)
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    for view in (
        wide[:, :20],
        wide[::3],
        wide.T,
        np.asfortranarray(wide),
        wide[:, ::2],
        wide[::-1],
        mapped,
        mapped[5:, 3:],
    ):
        search = compiled(view)
        assert_found(search, vectors_of(4, view.shape[1], 1), 6)


def test_a_padded_or_mapped_matrix_is_not_copied(tmp_path):
    np.save(tmp_path / "m.npy", vectors_of(10, 6))
    for view in (vectors_of(10, 8)[:, :6], np.load(tmp_path / "m.npy", mmap_mode="r")):
        assert np.shares_memory(compiled(view)._screened.rows.values, view)


def test_nothing_to_search():
    for rows, dim, n in ((0, 3, 2), (3, 0, 2), (3, 3, 0)):
        ids, cosines = compiled(np.zeros((rows, dim), np.float32)).search(np.ones((n, dim)), 2)
        assert ids.shape == cosines.shape == (n, 2)
        assert (ids == -1).all()


def test_wrong_questions():
    search = Exact(vectors_of(5, 3))
    with pytest.raises(DataError, match="3 numbers in each row"):
        search.search(np.ones((2, 4)), 1)
    with pytest.raises(DataError, match="3 numbers in each row"):
        search.search(np.ones(3), 1)
    with pytest.raises(ConfigError, match="k=0: must be >= 1"):
        search.search(np.ones((1, 3)), 0)
    with pytest.raises(ConfigError, match="without a step"):
        search.search(np.ones((1, 3)), 1, rows=slice(0, 5, 2))
    with pytest.raises(DataError, match="line of rows for each query"):
        search.search(np.ones((1, 3)), 1, exclude=[1, 2])
    with pytest.raises(DataError, match="give a matrix"):
        Exact(np.ones(3, np.float32))
    with pytest.raises(ConfigError, match="threads=0"):
        Exact(np.ones((1, 3), np.float32), threads=0)


def test_without_the_compiler_numpy_searches_on():
    code = SWITCH.replace('assert "numba" in', 'assert search._screened is None and "numba" in')
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, check=True)


SWITCH = """
import sys
import numpy as np
from unhot.index import Exact, exact
vectors = np.random.default_rng(0).standard_normal((50, 4), np.float32)
search = Exact(vectors)
exact.LOADING = 2 * vectors.size
before = [search.search(vectors[:1], 5)[0].tolist() for _ in range(2)]
assert "numba" not in sys.modules
after = search.search(vectors[:1], 5)[0].tolist()
assert "numba" in sys.modules
assert before == [after, after], (before, after)
"""


def test_the_compiler_is_loaded_only_when_it_is_worth_it():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-W", "error", "-c", SWITCH], env=environment, check=True)
