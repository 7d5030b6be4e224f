"""The vector store against plain Python, gensim's answers and gensim itself."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors import Vectors

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "w2v_formats_expected.json").read_text(encoding="utf-8"))


def random_store(rows: int = 200, dim: int = 12, seed: int = 0) -> Vectors:
    vectors = np.random.default_rng(seed).standard_normal((rows, dim), np.float32)
    return Vectors([f"w{i}" for i in range(rows)], vectors, np.arange(rows, 0, -1))


def cosine(a: list[float], b: list[float]) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def test_golden_most_similar() -> None:
    store = Vectors.load(GOLDEN / "w2v_text.txt")
    for word, expected in EXPECTED["most_similar"].items():
        found = store.most_similar(word)
        assert [each for each, _ in found] == [each for each, _ in expected]
        np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-5)


def same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    """The same words in the same order, up to the last digits of float32."""
    np.testing.assert_allclose(
        [score for _, score in found], [score for _, score in expected], rtol=1e-5, atol=1e-5
    )
    theirs = dict(expected)
    for place, (word, score) in enumerate(found):
        assert word == expected[place][0] or (
            abs(score - expected[place][1]) < 1e-6 and abs(theirs.get(word, score) - score) < 1e-6
        )


def gensims(store: Vectors) -> Any:
    keyedvectors = pytest.importorskip("gensim.models.keyedvectors")
    other = keyedvectors.KeyedVectors(store.vector_size)
    other.add_vectors(store.words, store.vectors)
    return other


def real_store() -> Vectors:
    saved = np.load(GOLDEN / "sotu_vectors.npz")
    return Vectors(saved["words"].tobytes().decode().split("\n"), saved["vectors"].astype(np.float32))


STORES = {"random": random_store(), "real": real_store()}
ODD = np.linspace(-3, 5, 12, dtype=np.float32)
QUERIES: list[tuple[Any, Any]] = [
    (1, None),
    ([1, 2], 3),
    ([1, (2, 0.3)], [3, (4, -2.0)]),
    (None, [5]),
    ((6, 2.0), None),
    ([1, "vector"], None),
    ([1, ("vector", 0.5)], [2, "vector"]),
]


def asked(query: Any, store: Vectors, named: bool) -> Any:
    """A query with words or rows for numbers, and with a vector."""
    if isinstance(query, list):
        return [asked(each, store, named) for each in query]
    if isinstance(query, tuple):
        return (asked(query[0], store, named), query[1])
    if query == "vector":
        return np.resize(ODD, store.vector_size)
    return store.words[query] if named and query is not None else query


@pytest.mark.parametrize("which", STORES)
@pytest.mark.parametrize("query", QUERIES, ids=str)
@pytest.mark.parametrize("named", [True, False])
def test_most_similar_is_gensims(which: str, query: tuple[Any, Any], named: bool) -> None:
    store = STORES[which]
    other = gensims(store)
    positive, negative = (asked(part, store, named) for part in query)
    # gensim takes a pair alone for two words
    lists = [[part] if isinstance(part, tuple) else part for part in (positive, negative)]
    for options in (
        {},
        {"topn": 150},
        {"restrict_vocab": 40},
        {"clip_start": 20, "clip_end": 90},
        {"clip_start": 3, "restrict_vocab": 9},
    ):
        same(store.most_similar(positive, negative, **options), other.most_similar(*lists, **options))
    found = store.most_similar(positive, negative, topn=None, clip_start=5)
    np.testing.assert_allclose(found, other.most_similar(*lists, topn=None, clip_start=5), atol=1e-5)


@pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`")  # by gensim itself
@pytest.mark.parametrize("which", STORES)
def test_cosmul_is_gensims(which: str) -> None:
    store = STORES[which]
    other = gensims(store)
    words = store.words
    for positive, negative in (
        (words[1], None),
        ([words[1], words[2]], words[3]),
        ([words[4], store.get_vector(5, norm=True)], [words[6]]),
    ):
        same(store.most_similar_cosmul(positive, negative), other.most_similar_cosmul(positive, negative))
        np.testing.assert_allclose(
            store.most_similar_cosmul(positive, negative, topn=None),
            other.most_similar_cosmul(positive, negative, topn=None),
            rtol=1e-4,
        )
    # gensim does not heed restrict_vocab here
    everything = store.most_similar_cosmul(words[1:3], words[50], topn=10_000)
    assert (
        store.most_similar_cosmul(words[1:3], words[50], restrict_vocab=30, topn=9)
        == [pair for pair in everything if store.get_index(pair[0]) < 30][:9]
    )
    with pytest.raises(DataError, match="got no positive word"):
        store.most_similar_cosmul(negative=words[1])


@pytest.mark.parametrize("which", STORES)
def test_other_names_of_most_similar(which: str) -> None:
    store = STORES[which]
    other = gensims(store)
    word = store.words[9]
    same(store.similar_by_word(word, 5), other.similar_by_word(word, 5))
    same(store.similar_by_key(9, restrict_vocab=50), other.similar_by_key(9, restrict_vocab=50))
    same(store.similar_by_vector(store[word] * 3, 5, 100), other.similar_by_vector(store[word] * 3, 5, 100))


@pytest.mark.parametrize("which", STORES)
def test_many_at_once_are_the_same_one_by_one(which: str) -> None:
    store = STORES[which]
    words = [store.words[i] for i in (5, 1, 1, 99, *range(40))]
    for options in ({}, {"topn": 3, "restrict_vocab": 30}):
        found = store.most_similar_each(words, **options)
        assert found == [store.most_similar(word, **options) for word in words]
        vectors = store[words]
        assert store.most_similar_each(vectors, **options) == [
            store.most_similar(vector, **options) for vector in vectors
        ]
    ids, cosines = store.nearest(words, 7)
    assert [[store.words[row] for row in line] for line in ids] == [
        [word for word, _ in line[:7]] for line in store.most_similar_each(words)
    ]
    assert ids.shape == cosines.shape == (len(words), 7)
    assert store.nearest([], 7)[0].shape == (0, 7)
    assert store.most_similar_each(words[0]) == [store.most_similar(words[0])]
    with pytest.raises(KeyError, match="unheard-of"):
        store.nearest(["unheard-of"])


def test_threads_are_checked_and_change_nothing() -> None:
    store = random_store()
    expected = store.most_similar_each(store.words)
    for threads in (1, 3):
        store.threads = threads
        assert store.most_similar_each(store.words) == expected
    store.threads = 0
    with pytest.raises(ConfigError, match="threads=0"):
        store.most_similar("w1")


def test_most_similar_of_vectors() -> None:
    store = random_store()
    word, score = store.most_similar(store.vectors[9] * 5, topn=1)[0]
    assert word == "w9"  # a vector is not a word of the query: its own word is found
    assert score == pytest.approx(1.0)
    assert store.most_similar(store.vectors[[1, 2]], topn=1) == store.most_similar(
        [store.vectors[1], store.vectors[2]], topn=1
    )
    with pytest.raises(DataError, match="give a word or a vector of 12 numbers"):
        store.most_similar(np.ones(3, np.float32))


small_vectors = st.lists(st.lists(st.integers(-2, 2), min_size=2, max_size=2), min_size=1, max_size=12)


@given(rows=small_vectors, topn=st.integers(1, 14))
def test_most_similar_is_sorting_with_ties_by_row_and_without_zero_rows(
    rows: list[list[int]], topn: int
) -> None:
    # powers of two times the unit axes and diagonals: cosines are exact enough to tie
    store = Vectors([str(i) for i in range(len(rows))], np.array(rows, dtype=np.float32))
    found = store.most_similar("0", topn=topn)
    expected = [
        (str(i), cosine(rows[0], row)) for i, row in enumerate(rows) if i and any(row) and any(rows[0])
    ]
    assert len(found) == min(topn, len(expected))
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
    store = Vectors(
        ["zero", "huge", "tiny", "one"],
        np.array([[0, 0], [1e30, 1e30], [1e-44, 1e-44], [1, 1]], dtype=np.float32),
    )
    assert store.similarity("zero", "one") == 0.0
    assert store.similarity("huge", "tiny") == pytest.approx(1.0)
    assert store.most_similar("zero") == []
    assert store.most_similar("one", "one") == []
    assert {word for word, _ in store.most_similar("tiny")} == {"huge", "one"}


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
    for topn in (0, -1, 2.5, True, "many"):
        with pytest.raises(ConfigError, match="topn="):
            store.most_similar("king", topn=topn)  # type: ignore[call-overload]
    for options in ({"restrict_vocab": 0}, {"clip_start": -1}, {"clip_end": -1}):
        with pytest.raises(ConfigError, match="must be >= "):
            store.most_similar("king", **options)
    assert store.most_similar("king", clip_start=3, clip_end=2) == []
    assert store.most_similar("king", restrict_vocab=1) == []


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
    for name, written in (("unhot", "a b"), ("word2vec-text", "a_b"), ("word2vec-binary", "a_b")):
        assert store.save(tmp_path / f"{name}.x", format=name) == (
            {} if written == "a b" else {"a b": written}
        )
        assert Vectors.load(tmp_path / f"{name}.x", format=name).words == [written]
    assert Vectors.load(tmp_path / "unhot.x").words == ["a b"]  # a model folder is known by what is inside
    with pytest.raises(
        ConfigError, match="'.x' does not stand for a format: .*word2vec-text .*word2vec-binary"
    ):
        store.save(tmp_path / "new.x")
    with pytest.raises(ConfigError, match="format='glove7': must be one of unhot"):
        store.save(tmp_path / "new", format="glove7")


def test_load_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file or folder"):
        Vectors.load(tmp_path / "none")
    with pytest.raises(FormatError, match="is not an unhot model"):
        Vectors.load(tmp_path)


def test_more_neighbours_than_words_are_all_words():
    vectors = Vectors(["a", "b", "c"], np.eye(3, dtype=np.float32) + 1)
    assert len(vectors.most_similar("a", topn=2**62)) == 2
    assert [len(found) for found in vectors.most_similar_each(["a", "b"], topn=2**62)] == [2, 2]
    assert len(vectors.similar_by_vector("a", topn=10**12)) == 2


@pytest.mark.parametrize("query", [[("a",)], [("a", "b")], [("a", float("nan"))]])
def test_wrong_pairs_are_refused(query):
    with pytest.raises((DataError, ConfigError), match="weight"):
        Vectors(["a", "b"], np.eye(2, dtype=np.float32)).most_similar(query)


@pytest.mark.parametrize("counts", [[1.5, 2.0], [-1, 2], [[1, 2]], [1]])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(DataError, match="count"):
        Vectors(["a", "b"], np.eye(2, dtype=np.float32), counts)


def test_counts_of_any_whole_type_are_kept_by_files(tmp_path):
    Vectors(["a", "b"], np.eye(2, dtype=np.float32), np.array([3, 2], np.int32)).save(
        tmp_path / "v.safetensors"
    )
    assert Vectors.load(tmp_path / "v.safetensors").get_vecattr("a", "count") == 3


def test_words_that_replacement_makes_equal_are_one(tmp_path):
    Vectors(["a\udcff", "a\udcfe", "b"], np.eye(3, dtype=np.float32)).save(tmp_path / "m")
    assert Vectors.load(tmp_path / "m", bad_utf8="replace").key_to_index == {"a\ufffd": 0, "b": 1}


def test_vectors_never_replace_a_trained_model(tmp_path):
    import unhot

    unhot.SkipGram(dim=4, min_count=1, epochs=1, sample=0).fit([["a", "b", "c"]] * 5).save(tmp_path / "m")
    with pytest.raises(DataError, match="saving only vectors would overwrite a trained model"):
        Vectors.load(tmp_path / "m").save(tmp_path / "m")
    assert unhot.load(tmp_path / "m").out_vectors


SAVER = """
import sys, threading, numpy as np
from unhot import Vectors
vectors = Vectors([f"w{i}" for i in range(300)], np.ones((300, 20), np.float32))
threads = [threading.Thread(target=lambda: [vectors.save(sys.argv[1]) for _ in range(10)]) for _ in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def test_several_processes_and_threads_save_to_one_place(tmp_path):
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", SAVER, str(tmp_path / "m")], stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    errors = [child.communicate(timeout=120)[1] for child in children]
    assert errors == [b"", b""]
    assert len(Vectors.load(tmp_path / "m")) == 300
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["CURRENT", "v60"]
