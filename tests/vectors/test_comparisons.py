"""Comparisons of words against gensim, and where gensim gives no good answer, against plain sense."""

from __future__ import annotations

import math

import numpy as np
import pytest

from unhot.errors import DataError, MissingExtra
from unhot.vectors import Vectors

ROWS, DIM = 200, 12
VECTORS = np.random.default_rng(3).standard_normal((ROWS, DIM), np.float32) * np.random.default_rng(
    4
).lognormal(size=(ROWS, 1))
STORE = Vectors([f"w{i}" for i in range(ROWS)], VECTORS.astype(np.float32))


@pytest.fixture(scope="module")
def other():
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    made = keyedvectors.KeyedVectors(DIM)
    made.add_vectors(STORE.words, STORE.vectors)
    return made


def test_similarities_and_distances(other) -> None:
    for a, b in (("w1", "w2"), ("w3", "w3"), (4, "w9")):
        assert STORE.similarity(a, b) == pytest.approx(other.similarity(a, b), abs=1e-6)
        assert STORE.distance(a, b) == pytest.approx(other.distance(a, b), abs=1e-6)
    for query in ("w5", 5, VECTORS[7]):
        np.testing.assert_allclose(STORE.distances(query), other.distances(query), atol=1e-5)
        np.testing.assert_allclose(
            STORE.distances(query, ["w3", "w8"]), other.distances(query, ["w3", "w8"]), atol=1e-5
        )
    np.testing.assert_allclose(
        Vectors.cosine_similarities(VECTORS[1], VECTORS),
        other.cosine_similarities(VECTORS[1], VECTORS),
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("a", "b"), [(["w1"], ["w2"]), (["w1", "w2", "w3"], ["w4", "w5"]), (["w1", "unknown"], [3, "w9"])]
)
def test_n_similarity(a, b, other) -> None:
    assert STORE.n_similarity(a, b) == pytest.approx(float(other.n_similarity(a, b)), abs=1e-6)


@pytest.mark.parametrize("pre", [True, False])
@pytest.mark.parametrize("post", [True, False])
@pytest.mark.parametrize("weights", [None, [0.5, -2.0, 1.0, 3.0, 4.0]])
def test_mean_vector(pre, post, weights, other) -> None:
    keys = ["w1", "w2", 3, VECTORS[4].astype(np.float32), "unknown"]
    found = STORE.get_mean_vector(keys, weights, pre_normalize=pre, post_normalize=post)
    expected = other.get_mean_vector(keys, weights, pre_normalize=pre, post_normalize=post)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_mean_vector_of_nothing(other) -> None:
    assert not STORE.get_mean_vector(["x", "y"]).any()
    assert not other.get_mean_vector(["x", "y"]).any()
    with pytest.raises(DataError, match="at least one"):
        STORE.get_mean_vector([])
    with pytest.raises(KeyError, match="'x'"):
        STORE.get_mean_vector(["w1", "x"], ignore_missing=False)
    with pytest.raises(DataError, match="one weight for each word"):
        STORE.get_mean_vector(["w1"], [1, 2])


def test_doesnt_match(other) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        words = [f"w{i}" for i in rng.choice(ROWS, 5, replace=False)] + ["unknown"]
        assert STORE.doesnt_match(words) == other.doesnt_match(words)
        found, expected = STORE.rank_by_centrality(words), other.rank_by_centrality(words)
        assert [word for _, word in found] == [word for _, word in expected]
        np.testing.assert_allclose([c for c, _ in found], [c for c, _ in expected], atol=1e-5)
    with pytest.raises(DataError, match="none of the words"):
        STORE.doesnt_match(["x", "y"])


def test_rank_and_closer_than(other) -> None:
    rng = np.random.default_rng(1)
    for a, b in rng.integers(0, ROWS, (40, 2)):
        a, b = f"w{a}", f"w{b}"
        assert STORE.closer_than(a, b) == other.closer_than(a, b)
        assert STORE.rank(a, b) == other.rank(a, b)


def test_equal_rows_are_equally_close() -> None:
    store = Vectors([str(i) for i in range(50)], np.repeat(VECTORS[:10], 5, axis=0).astype(np.float32))
    for row in range(5, 10):
        assert len(store.closer_than("0", str(row))) == len(store.closer_than("0", "5"))
    assert store.closer_than("0", "3") == []
    assert store.rank("0", "0") == 1


DOCUMENTS = [
    (["w1", "w2", "w3"], ["w4", "w5"]),
    (["w1", "w1", "w2"], ["w1", "w2", "w2"]),
    (["w1", "unknown"], ["w9"]),
    (["w1"], ["w1"]),
    (["w1"], ["unknown"]),
]


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize(("a", "b"), DOCUMENTS)
def test_movers_distance(a, b, norm, other) -> None:
    pytest.importorskip("ot")
    assert STORE.wmdistance(a, b, norm=norm) == pytest.approx(
        other.wmdistance(a, b, norm=norm), rel=1e-4, abs=1e-6
    )


def test_movers_distance_by_hand() -> None:
    pytest.importorskip("ot")
    store = Vectors(["a", "b", "c"], np.array([[0, 0], [3, 4], [6, 8]], np.float32))
    assert store.wmdistance(["a"], ["b"], norm=False) == pytest.approx(5.0)
    assert store.wmdistance(["a", "c"], ["b"], norm=False) == pytest.approx(5.0)
    # a quarter travels 10
    assert store.wmdistance(["a", "a", "a", "c"], ["a", "c"], norm=False) == pytest.approx(2.5)
    assert store.wmdistance(["b"], ["c"]) == 0.0  # the same direction; gensim says inf
    assert store.wmdistance([], ["c"]) == math.inf


def test_movers_distance_without_its_library(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ot", None)
    with pytest.raises(MissingExtra, match=r"unhot\[wmd\]"):
        STORE.wmdistance(["w1"], ["w2"])


def test_vectors_without_a_direction() -> None:
    store = Vectors(
        ["zero", "huge", "tiny", "one"],
        np.array([[0, 0], [1e30, 1e30], [1e-44, 1e-44], [1, 1]], dtype=np.float32),
    )
    assert store.similarity("zero", "one") == 0.0
    assert store.similarity("huge", "tiny") == pytest.approx(1.0)
    assert store.distances("one").tolist() == pytest.approx([1, 0, 0, 0], abs=1e-6)
    assert store.distances("zero").tolist() == [1, 1, 1, 1]
    assert store.n_similarity(["zero"], ["one"]) == 0.0
    assert store.get_normed_vectors()[0].tolist() == [0, 0]
    assert store.closer_than("one", "zero") == ["huge", "tiny"]
    with pytest.raises(DataError, match="give a word or a vector of 2 numbers"):
        store.distances([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="none of the words"):
        store.n_similarity([], ["one"])


def test_vectors_that_are_not_finite() -> None:
    rows = np.array([[1, 0], [0.5, 1], [np.nan, 1], [np.inf, 1], [0, 0]], np.float32)
    store = Vectors(["a", "b", "nan", "inf", "zero"], rows)
    assert store.similarity("a", "zero") == 0
    assert np.isnan(
        [store.similarity("a", "nan"), store.distance("inf", "a"), store.n_similarity(["nan"], ["a"])]
    ).all()
    assert np.isnan(store.distances("a")).tolist() == [False, False, True, True, False]
    assert np.isnan(store.distances("a", ["b", "nan"])).tolist() == [False, True]
    assert np.isnan(Vectors.cosine_similarities(rows[0], rows)).tolist() == [False, False, True, True, False]
    assert np.isnan(store.get_normed_vectors()).any(axis=1).tolist() == [False, False, True, True, False]
    assert [word for word, _ in store.most_similar("a")] == ["b"]
    for queries in (["nan"], ["a", "inf"], [np.array([np.nan, 1])]):
        for search in (store.most_similar, store.most_similar_cosmul, store.most_similar_each):
            with pytest.raises(DataError, match="numbers that are not finite"):
                search(queries)
    ids, cosines = store.nearest(["a", "nan"], 2)
    assert ids.tolist() == [[1, -1], [-1, -1]]
    assert np.isnan(cosines[1]).all()
