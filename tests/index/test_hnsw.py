"""Approximate search against exact search."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("usearch")

from unhot.errors import ConfigError, DataError, MissingExtra
from unhot.index import Exact, Hnsw, HnswSettings

GOLDEN = Path(__file__).parents[1] / "golden"
REAL = np.load(GOLDEN / "sotu_vectors.npz")["vectors"].astype(np.float32)


def test_recall_on_real_vectors():
    own = np.arange(len(REAL))[:, None]
    ids, cosines = Hnsw.build(REAL).search(REAL, 10, exclude=own)
    expected, expected_cosines = Exact(REAL).search(REAL, 10, exclude=own)
    recall = np.mean(
        [len(set(a) & set(b)) / 10 for a, b in zip(ids.tolist(), expected.tolist(), strict=True)]
    )
    assert recall >= 0.95
    same = ids == expected
    np.testing.assert_array_equal(cosines[same], expected_cosines[same])  # what is found is exact
    assert (np.diff(cosines, axis=1) <= 0).all()
    assert not (ids == own).any()


def test_a_narrower_search_finds_less():
    found = []
    for settings in (HnswSettings(connectivity=2, expansion_add=2, expansion_search=1), HnswSettings()):
        ids, _ = Hnsw.build(REAL, settings, threads=1).search(REAL[:300], 1)
        found.append(np.mean(ids[:, 0] == np.arange(300)))
    assert found[0] < found[1]


def test_rows_and_queries_without_a_direction():
    vectors = np.array([[0, 0], [1, 1], [np.nan, 1], [1e30, 0], [0, 1e-30]], np.float32)
    index = Hnsw.build(vectors)
    assert len(index) == 3
    ids, cosines = index.search([[1, 1], [0, 0], [np.nan, 1], [1e-30, 0]], 4, exclude=[[-1], [-1], [-1], [3]])
    assert ids[0].tolist() == [1, 3, 4, -1]
    np.testing.assert_allclose(cosines[0, :3], [1, 0.5**0.5, 0.5**0.5], rtol=1e-6)
    assert (ids[1:3] == -1).all()
    assert ids[3].tolist() == [1, 4, -1, -1]


def test_one_query_and_none_and_an_empty_matrix():
    index = Hnsw.build(REAL[:50])
    assert index.search(REAL[:1], 3)[0][0, 0] == 0
    assert index.search(np.empty((0, 32)), 3)[0].shape == (0, 3)
    ids, cosines = Hnsw.build(np.empty((0, 4), np.float32)).search(np.ones((2, 4)), 3)
    assert (ids == -1).all()
    assert (cosines == -np.inf).all()


def test_bytes_there_and_back():
    index = Hnsw.build(REAL[:200], threads=1)
    again = Hnsw.from_bytes(index.to_bytes(), REAL[:200], index.settings)
    np.testing.assert_array_equal(index.search(REAL[:20], 5)[0], again.search(REAL[:20], 5)[0])


def test_wrong_questions(monkeypatch):
    with pytest.raises(DataError, match="4 numbers in each row"):
        Hnsw.build(np.ones((3, 4), np.float32)).search(np.ones((1, 3)), 1)
    with pytest.raises(ConfigError, match="k=0"):
        Hnsw.build(np.ones((3, 4), np.float32)).search(np.ones((1, 4)), 0)
    with pytest.raises(DataError, match="at least one number"):
        Hnsw.build(np.ones((3, 0), np.float32))
    with pytest.raises(ConfigError, match="connectivity=1: must be >= 2"):
        HnswSettings(connectivity=1)
    monkeypatch.setitem(__import__("sys").modules, "usearch.index", None)
    with pytest.raises(MissingExtra, match=r"unhot\[ann\]"):
        Hnsw.build(np.ones((3, 4), np.float32))


def test_small_graphs_miss_nothing_whatever_the_threads():
    rows = np.random.default_rng(3).normal(size=(300, 8)).astype(np.float32)
    expected = Exact(rows).search(rows, 4)[0]
    for _ in range(5):  # two threads from the first row on missed a neighbour in every second build
        np.testing.assert_array_equal(Hnsw.build(rows, threads=2).search(rows, 4)[0], expected)
