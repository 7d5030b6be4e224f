"""The vector store against plain Python, gensim's answers and gensim itself."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors import Vectors
from unhot.vectors.formats import FORMATS
from unhot.vectors.store import Query

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "w2v_formats_expected.json").read_text(encoding="utf-8"))


def random_store(rows: int = 200, dim: int = 12, seed: int = 0) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((rows, dim), np.float32)
    return Vectors([f"w{i}" for i in range(rows)], vectors, np.arange(rows, 0, -1))


def cosine(a: list[float], b: list[float]) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def test_lookup() -> None:
    store = random_store()
    assert len(store) == 200
    assert "w3" in store
    assert "x" not in store
    assert 3 not in store
    assert store.key_to_index["w7"] == 7
    assert store.index_to_key[7] == "w7"
    assert store["w7"].tolist() == store.vectors[7].tolist()
    assert store[["w7", "w1"]].tolist() == [store.vectors[7].tolist(), store.vectors[1].tolist()]
    assert store[[]].shape == (0, 12)


def test_golden_most_similar() -> None:
    store = Vectors.load(GOLDEN / "w2v_text.txt")
    for word, expected in EXPECTED["most_similar"].items():
        found = store.most_similar(word)
        assert [each for each, _ in found] == [each for each, _ in expected]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-5)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [("w1", None), (["w1", "w2"], "w3"), (["w1", ("w2", 0.3)], ["w3", ("w4", -2.0)]), (None, ["w5"]), (("w1", 2.0), None)],
)
def test_most_similar_is_gensims(positive: Query | list[Query] | None, negative: Query | list[Query] | None) -> None:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    store = random_store()
    other = keyedvectors.KeyedVectors(12)
    other.add_vectors(store.words, store.vectors)
    # gensim takes a pair alone for a list of two
    expected = other.most_similar([positive] if isinstance(positive, tuple) else positive, negative, topn=7)
    found = store.most_similar(positive, negative, topn=7)
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-5, atol=1e-6)


def test_most_similar_of_vectors() -> None:
    store = random_store()
    word, score = store.most_similar(store.vectors[9] * 5, topn=1)[0]
    assert word == "w9"  # a vector is not a word of the query: its own word is found
    assert score == pytest.approx(1.0)
    assert store.most_similar(store.vectors[[1, 2]], topn=1) == store.most_similar([store.vectors[1], store.vectors[2]], topn=1)
    with pytest.raises(DataError, match="12 numbers"):
        store.most_similar(np.ones(3, np.float32))


small_vectors = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=12)


@given(rows=small_vectors, topn=st.integers(-1, 14))
def test_most_similar_is_sorting_with_ties_by_row_and_without_zero_rows(rows: list[list[int]], topn: int) -> None:
    # powers of two times the unit axes and diagonals: cosines are exact enough to tie
    store = Vectors([str(i) for i in range(len(rows))], np.array(rows, dtype=np.float32))
    found = store.most_similar("0", topn=topn)
    expected = [(str(i), cosine(rows[0], row)) for i, row in enumerate(rows) if i and any(row) and any(rows[0])]
    assert len(found) == max(0, min(topn, len(expected)))
    scores = dict(expected)
    for word, score in found:
        assert score == pytest.approx(scores[word], abs=1e-6)
    best = sorted(scores.values(), reverse=True)[: len(found)]
    assert [score for _, score in found] == pytest.approx(best, abs=1e-6)
    assert found == sorted(found, key=lambda pair: (-pair[1], int(pair[0])))


def test_ties_at_the_cut_take_the_first_rows() -> None:
    store = Vectors([str(i) for i in range(50)], np.ones((50, 4), np.float32))
    assert [word for word, _ in store.most_similar("3", topn=5)] == ["0", "1", "2", "4", "5"]


def test_zero_huge_and_tiny_vectors() -> None:
    store = Vectors(["zero", "huge", "tiny", "one"], np.array([[0, 0], [1e30, 1e30], [1e-44, 1e-44], [1, 1]], dtype=np.float32))
    assert store.similarity("zero", "one") == 0.0
    assert store.similarity("huge", "tiny") == pytest.approx(1.0)
    assert store.most_similar("zero") == []
    assert store.most_similar("one", "one") == []
    assert {word for word, _ in store.most_similar("tiny")} == {"huge", "one"}


def test_similarity() -> None:
    store = random_store()
    assert store.similarity("w1", "w2") == pytest.approx(cosine(store["w1"].tolist(), store["w2"].tolist()))


def test_unknown_words_are_named_and_spellings_suggested() -> None:
    store = Vectors(["king", "queen", "kings", "apple"], np.eye(4, dtype=np.float32))
    with pytest.raises(DataError, match=r"'King' is not among the 4 words: did you mean 'king', 'kings'\?"):
        store["King"]
    with pytest.raises(DataError, match="'zebra' is not among the 4 words: check its spelling"):
        store.most_similar(["king", "zebra"])
    with pytest.raises(KeyError):  # as with gensim
        store.similarity("king", "zebra")
    with pytest.raises(DataError, match="at least one"):
        store.most_similar()


def test_bad_tables() -> None:
    for words, vectors, counts in ((["a"], np.zeros(3), None), (["a"], np.zeros((2, 3)), None), (["a"], np.zeros((1, 3)), np.zeros(2)),
                                   (["a", "a"], np.zeros((2, 1)), None)):  # fmt: skip
        with pytest.raises(DataError):
            Vectors(words, vectors, counts)


@pytest.mark.parametrize("name", ["model", "model.txt", "model.vec", "model.BIN"])
def test_save_and_load_by_ending(name: str, tmp_path: Path) -> None:
    store = random_store()
    assert store.save(tmp_path / name) == {}
    loaded = Vectors.load(tmp_path / name)
    assert loaded.words == store.words
    np.testing.assert_array_equal(loaded.vectors, store.vectors)
    if name == "model":
        assert isinstance(loaded.vectors, np.memmap)
        assert loaded.counts is not None
        np.testing.assert_array_equal(loaded.counts, store.counts)


def test_formats_by_name_and_reports(tmp_path: Path) -> None:
    store = Vectors(["a b"], np.ones((1, 1), np.float32))
    for name in FORMATS:
        renamed = store.save(tmp_path / f"{name}.x", format=name)
        assert renamed == ({} if name == "unhot" else {"a b": "a_b"})
        assert Vectors.load(tmp_path / f"{name}.x", format=name).words == ["a b" if name == "unhot" else "a_b"]
    assert Vectors.load(tmp_path / "unhot.x").words == ["a b"]  # a model folder is known by what is inside
    with pytest.raises(ConfigError, match="'.x' stands for no format: .*word2vec-text .*word2vec-binary"):
        store.save(tmp_path / "new.x")
    with pytest.raises(ConfigError, match="format='glove7': must be one of unhot"):
        store.save(tmp_path / "new", format="glove7")


def test_load_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        Vectors.load(tmp_path / "none")
    with pytest.raises(FormatError, match="is not an unhot model"):
        Vectors.load(tmp_path)
