"""Sparse vectors against the same as dense ones."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import unhot
from unhot import Vectors, Vocabulary
from unhot.corpus.cells import Cells
from unhot.errors import ConfigError, DataError
from unhot.evaluate import analogies, similarity
from unhot.evaluate.analogies import answers
from unhot.evaluate.lookup import look_up
from unhot.vectors.sparse_vectors import SparseVectors
from unhot.vocab.vocabulary import UnknownWord

WORDS = [f"w{i}" for i in range(56)] + ["W1", "W2", "lonely", "W3"]
LONELY = WORDS.index("lonely")


@pytest.fixture(scope="module")
def both():
    """The same vectors twice: some words are much like others, one has no cell."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random((60, 60)) < 0.25, rng.gamma(1, 1, (60, 60)), 0.0).astype(np.float32)
    for offset in range(5):  # pairs w(10 k + offset) : w(10 k + offset + 5)
        x[offset + 5 : 50 : 10] = x[offset:50:10] + (rng.random(60) < 0.2) * rng.random(60) * 2
    x[LONELY] = 0
    filled = x != 0
    starts = np.concatenate([[0], filled.sum(axis=1).cumsum()])
    vocabulary = Vocabulary(WORDS, np.arange(60, 0, -1))
    return SparseVectors(Cells.from_arrays(vocabulary, starts, np.nonzero(filled)[1], x[filled])), Vectors(
        WORDS, x
    )


def test_words_and_rows(both):
    sparse, dense = both
    assert (len(sparse), sparse.words, sparse.key_to_index) == (60, WORDS, dense.key_to_index)
    assert sparse.counts.tolist() == list(range(60, 0, -1))
    assert "w3" in sparse
    assert 59 in sparse
    assert "w99" not in sparse
    assert 60 not in sparse
    assert -1 not in sparse
    np.testing.assert_allclose(sparse.norms, dense.norms, rtol=1e-6)
    for key in ("w3", 7, np.int64(58)):
        assert sparse.get_vector(key).tolist() == dense.get_vector(key).tolist()
    assert repr(sparse) == f"SparseVectors(60 words, {len(sparse.cells)} cells)"


def test_similarities_are_those_of_dense_vectors(both):
    sparse, dense = both
    for a, b in (("w0", "w5"), ("w3", "w3"), (4, "W2"), ("lonely", "w1"), ("lonely", "lonely")):
        assert sparse.similarity(a, b) == pytest.approx(dense.similarity(a, b), abs=1e-7)


def test_contexts_are_the_largest_numbers_of_a_row(both):
    sparse, dense = both
    row = dense["w4"]
    order = np.argsort(-row, kind="stable")[:3]
    assert sparse.contexts("w4", topn=3) == [(WORDS[i], float(row[i])) for i in order]
    assert len(sparse.contexts("w4", topn=99)) == np.count_nonzero(row)
    assert sparse.contexts("lonely") == []


@pytest.mark.parametrize(
    "query",
    [
        {"positive": "w3"},
        {"positive": ["w5", "w10"], "negative": ["w0"]},
        {"positive": [("w5", 0.5), 7], "negative": [("w1", -2.0)]},
        {"negative": ["w9"]},
        {"positive": ["w3"], "restrict_vocab": 20},
        {"positive": ["W3"], "restrict_vocab": 20},
        {"positive": "lonely"},
        {"positive": ["w3", "w3"], "negative": [("w3", -1)]},
        {"positive": "w2", "topn": 500},
    ],
)
@pytest.mark.parametrize("threads", [1, 3])
def test_neighbours_are_those_of_dense_vectors(both, query, threads):
    sparse, dense = both
    sparse.threads = threads
    found, expected = sparse.most_similar(**query), dense.most_similar(**query)
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in expected], atol=1e-6)


def test_wrong_queries_are_named(both):
    sparse, _ = both
    with pytest.raises(UnknownWord, match="'w99' is not among the 60 words"):
        sparse.most_similar("w99")
    for key in (60, -1, True, 1.0, np.float64(2), None):
        assert key not in sparse
        with pytest.raises(UnknownWord, match=r"is not among the 60 words, and not a row number"):
            sparse.get_vector(key)
    with pytest.raises(DataError, match="got no word"):
        sparse.most_similar()
    with pytest.raises(DataError, match="a query has type ndarray: .* give words"):
        sparse.most_similar(np.zeros(60))
    with pytest.raises(ConfigError, match="topn=0"):
        sparse.most_similar("w1", topn=0)


def test_kept_cells_are_loaded(both, tmp_path):
    sparse, _ = both
    cells = sparse.cells
    Cells.from_arrays(
        cells.vocabulary, cells.starts, cells.columns, cells.values, directory=tmp_path / "cells"
    ).close()
    again = SparseVectors.load(tmp_path / "cells")
    assert again.most_similar("w3") == sparse.most_similar("w3")


@pytest.mark.parametrize("case", ["exact", "prefer", "ignore"])
@pytest.mark.parametrize("restrict_vocab", [None, 40])
def test_word_similarity_is_that_of_dense_vectors(both, tmp_path, case, restrict_vocab):
    rng = np.random.default_rng(5)
    lines = [f"{a} {b} {rng.random():.2f}" for a, b in rng.choice([*WORDS, "nobody"], (80, 2))]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    found, expected = (
        similarity(v, tmp_path / "pairs.txt", case=case, restrict_vocab=restrict_vocab) for v in both
    )
    assert (found.pairs, found.unknown) == (expected.pairs, expected.unknown)
    assert found.unknown > 0
    assert (found.spearman, found.pearson) == pytest.approx((expected.spearman, expected.pearson), abs=1e-7)


@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("case", ["exact", "ignore"])
@pytest.mark.parametrize("restrict_vocab", [None, 45])
def test_analogies_are_those_of_dense_vectors(both, tmp_path, method, case, restrict_vocab):
    tens, offsets = range(5), range(5)
    lines = [
        f"w{10 * a + o} w{10 * a + o + 5} w{10 * b + o} w{10 * b + o + 5}"
        for o in offsets
        for a in tens
        for b in tens
        if a != b
    ]
    lines += [" ".join(words) for words in np.random.default_rng(6).choice(WORDS, (60, 4))]
    (tmp_path / "questions.txt").write_text("\n".join([": pairs", *lines]) + "\n")
    found, expected = (
        analogies(v, tmp_path / "questions.txt", method=method, case=case, restrict_vocab=restrict_vocab)
        for v in both
    )
    assert found.total == expected.total
    assert 0 < found.total.correct < found.total.answered < found.total.questions


@pytest.mark.parametrize("method", ["add", "mul"])
def test_each_answer_is_that_of_dense_vectors(both, method, monkeypatch):
    monkeypatch.setitem(answers.__globals__, "TABLE", 1)  # block by block
    asked = np.random.default_rng(7).integers(0, 50, (300, 3)).astype(np.int32)
    found, expected = (
        answers(look_up(v, restrict_vocab=55, case="ignore"), asked, method, lambda *_: None).tolist()
        for v in both
    )
    assert found == expected
    assert len(set(found)) > 20


def test_cells_are_no_vectors(both, tmp_path):
    (tmp_path / "pairs.txt").write_text("w1 w2 3\nw2 w3 4\n")
    (tmp_path / "questions.txt").write_text(": all\nw1 w2 w3 w4\n")
    for asked, file in ((similarity, "pairs.txt"), (analogies, "questions.txt")):
        with pytest.raises(
            ConfigError,
            match=r"vectors has type Cells: it must be Vectors or SparseVectors; .* SparseVectors\(cells\)",
        ):
            asked(both[0].cells, tmp_path / file)


def test_nothing_is_compiled_to_be_imported():
    code = "import sys, unhot.evaluate.similarity, unhot.evaluate.analogies; print('numba' in sys.modules)"
    here = Path(unhot.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=here, capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "False\n"


def test_sparse_vectors_have_no_ngrams(both, tmp_path):
    (tmp_path / "pairs.txt").write_text("w1 w2 3\n")
    with pytest.raises(ConfigError, match="unseen=True: sparse vectors have no n-grams"):
        similarity(both[0], tmp_path / "pairs.txt", unseen=True)


def test_a_row_too_long_for_a_float64_has_no_direction():
    words = Vocabulary(["a", "b"], [2, 1])
    vectors = SparseVectors(Cells.from_arrays(words, [0, 1, 2], [1, 0], [1e300, 1.0]))
    assert vectors.get_vector("a").tolist() == [0, np.inf]
    assert vectors.most_similar("a") == []
    assert vectors.similarity("a", "b") == 0
