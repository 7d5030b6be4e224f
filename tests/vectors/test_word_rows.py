"""Words and rows: look up, slice, add; beside gensim where it has the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError
from unhot.vectors import Vectors
from unhot.vocab.vocabulary import UnknownWord


def random_store(rows: int = 20, dim: int = 4) -> Vectors:
    vectors = np.random.default_rng(0).standard_normal((rows, dim), np.float32)
    return Vectors([f"w{i}" for i in range(rows)], vectors, np.arange(rows, 0, -1))


def gensims(store: Vectors):
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    other = keyedvectors.KeyedVectors(store.vector_size)
    other.add_vectors(store.words, store.vectors.copy())
    return other


def test_lookup() -> None:
    store = random_store()
    other = gensims(store)
    for key in ("w7", 7, np.int64(7)):
        assert key in store
        assert store.has_index_for(key)
        assert store.get_index(key) == other.get_index(key) == 7
        np.testing.assert_array_equal(store[key], other[key])
        np.testing.assert_allclose(
            store.get_vector(key, norm=True), other.get_vector(key, norm=True), rtol=1e-6
        )
    for key in ("x", 20, -1, None, 1.5, True):
        assert key not in store
    assert store.get_index("x", -1) == other.get_index("x", -1) == -1
    assert store.index_to_key == other.index_to_key
    assert store.key_to_index == other.key_to_index
    assert (len(store), store.vector_size) == (len(other), other.vector_size)
    np.testing.assert_array_equal(store[["w3", "w1"]], other[["w3", "w1"]])
    np.testing.assert_array_equal(store[[3, "w1"]], other[[3, "w1"]])
    assert store[[]].shape == (0, 4)
    assert list(store) == store.words
    assert repr(store) == "Vectors(20 words, dim 4)"
    assert store.get_vecattr("w3", "count") == 17
    np.testing.assert_allclose(store.get_normed_vectors(), other.get_normed_vectors(), rtol=1e-6)
    other.fill_norms()
    np.testing.assert_allclose(store.norms, other.norms, rtol=1e-6)


def test_rows_are_read_only() -> None:
    store = random_store()
    for row in (store["w1"], store.get_vector("w1", norm=True)):
        with pytest.raises(ValueError, match="read-only"):
            row[0] = 1
    store.vectors[0] = 1  # the matrix itself is the user's


def test_slices_are_vectors_of_their_own() -> None:
    store = random_store()
    part = store[5:8]
    assert isinstance(part, Vectors)
    assert part.words == ["w5", "w6", "w7"]
    assert np.shares_memory(part.vectors, store.vectors)
    assert part.get_vecattr("w5", "count") == 15
    assert store[::-1].words[0] == "w19"
    assert len(store[100:]) == 0
    assert store[100:].most_similar(store["w1"]) == []


def test_numpy_takes_the_matrix() -> None:
    store = random_store()
    assert np.asarray(store) is store.vectors
    assert np.asarray(store, dtype=np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(store), store.vectors)
    assert np.mean(store) == store.vectors.mean()
    with pytest.raises(ValueError, match="copy"):
        np.asarray(store, dtype=np.float64, copy=False)


def test_unknown_keys() -> None:
    store = Vectors(["king", "queen", "kings", "apple"], np.eye(4, dtype=np.float32))
    with pytest.raises(DataError, match=r"'King' is not among the 4 words: did you mean 'king', 'kings'\?"):
        store["King"]
    with pytest.raises(KeyError, match="'zebra' is not among the 4 words: check its spelling"):
        store.get_index("zebra")
    with pytest.raises(UnknownWord, match="4 is not among the 4 words"):
        store[4]
    with pytest.raises(UnknownWord):
        store[["king", ""]]
    with pytest.raises(ConfigError, match="attr='freq'"):
        store.get_vecattr("king", "freq")
    with pytest.raises(DataError, match="have no counts"):
        store.get_vecattr("king", "count")


def test_bad_tables() -> None:
    for words, vectors, counts in (
        (["a"], np.zeros(3), None),
        (["a"], np.zeros((2, 3)), None),
        (["a"], np.zeros((1, 3)), np.zeros(2)),
        (["a", "a"], np.zeros((2, 1)), None),
    ):
        with pytest.raises(DataError):
            Vectors(words, vectors, counts)


@pytest.mark.parametrize("replace", [False, True])
def test_add_vectors_is_gensims(replace: bool) -> None:
    store = random_store()
    other = gensims(store)
    new = np.random.default_rng(1).standard_normal((3, 4), np.float32)
    store.most_similar("w1")  # what was computed before must not survive
    for each in (store, other):
        each.add_vectors(["x", "w2", "y"], new, replace=replace)
    assert store.index_to_key == other.index_to_key
    assert store.key_to_index == other.key_to_index
    np.testing.assert_array_equal(store.vectors, other.vectors)
    assert store.counts is not None
    assert store.counts.tolist() == [*range(20, 0, -1), 0, 0]
    np.testing.assert_allclose(store.norms, np.linalg.norm(other.vectors, axis=1), rtol=1e-6)
    assert store.most_similar(new[2], topn=1)[0][0] == "y"


def test_add_one_and_assign() -> None:
    store = random_store()
    assert store.add_vector("new", [1, 2, 3, 4]) == 20
    assert store.add_vector("new", [9, 9, 9, 9]) == 20
    assert store["new"].tolist() == [1, 2, 3, 4]
    store["new"] = [4, 3, 2, 1]
    assert store["new"].tolist() == [4, 3, 2, 1]
    store[["new", "newer", "newer"]] = np.arange(12).reshape(3, 4)
    assert store["new"].tolist() == [0, 1, 2, 3]
    assert store["newer"].tolist() == [8, 9, 10, 11]  # the last one wins
    store[0] = np.zeros(4)
    assert not store["w0"].any()
    assert len(store) == 22
    for keys, weights in ((["a"], [[1, 2]]), (["a", "b"], [[1, 2, 3, 4]]), (["a"], [[[1, 2, 3, 4]]])):
        with pytest.raises(DataError, match="4 numbers for each word"):
            store.add_vectors(keys, weights)
    with pytest.raises(UnknownWord, match="row 99"):
        store.add_vectors([99], np.ones((1, 4)), replace=True)
    assert len(store) == 22


def test_words_must_be_strings() -> None:
    """A number is the number of a row: the vector of the word 1 would be that of row 1."""
    told = "the word 1 is of type int: words must be strings, because a number is the number of a row"
    with pytest.raises(DataError, match=told):
        Vectors([1, 2, 3], np.eye(3, dtype=np.float32))  # type: ignore[list-item]
    store = random_store()
    with pytest.raises(DataError, match=told):
        store.add_vectors(["new", 1], np.ones((2, 4)))
    assert len(store) == 20


def test_bytes_are_no_rows() -> None:
    store: Any = random_store()
    for ask in (store.__getitem__, store.most_similar, store.most_similar_cosmul):
        with pytest.raises(DataError, match="is of type bytes: words are strings"):
            ask(b"\1\2")


def test_a_mapped_file_is_not_changed(tmp_path) -> None:
    np.save(tmp_path / "m.npy", random_store().vectors)
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    store = Vectors([f"w{i}" for i in range(20)], mapped)
    assert np.shares_memory(store.vectors, mapped)
    store["w0"] = np.ones(4)
    assert store["w0"].tolist() == [1, 1, 1, 1]
    store.unit_normalize_all()
    np.testing.assert_allclose(store.norms, 1, rtol=1e-6)
    np.testing.assert_array_equal(np.load(tmp_path / "m.npy"), random_store().vectors)


def test_a_change_from_outside_is_told() -> None:
    store = random_store()
    assert store.most_similar(store["w3"], topn=1)[0][0] == "w3"
    store.vectors[:] = store.vectors[::-1].copy()
    store.fill_norms(force=True)
    word, cosine = store.most_similar(store["w3"], topn=1)[0]
    assert word == "w3"
    assert cosine == pytest.approx(1.0)
