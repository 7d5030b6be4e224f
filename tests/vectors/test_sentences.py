"""Vectors of sentences against plain loops in float64, scipy's SVD, and fastText's own program."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus import encode
from unhot.errors import ConfigError, DataError
from unhot.vectors import Vectors, common_components
from unhot.vectors.sentences import words_of

GOLDEN = Path(__file__).parents[1] / "golden"
ROWS, DIM = 60, 7
rng = np.random.default_rng(5)
# words lie in a cone, as real ones do, and have lengths of their own
MATRIX = ((rng.standard_normal((ROWS, DIM)) + 1) * rng.lognormal(size=(ROWS, 1))).astype(np.float32)
WORDS = [f"w{i}" for i in range(ROWS)]
COUNTS = 3000 // (1 + np.arange(ROWS))
STORE = Vectors(WORDS, MATRIX, COUNTS)
TEXTS = [" ".join(rng.choice([*WORDS, "unseen"], rng.integers(1, 12))) for _ in range(40)]


def sif_by_hand(texts, a=1e-3, remove=1):
    """The paper's algorithm, word by word."""
    svds = pytest.importorskip("scipy.sparse.linalg").svds
    p = {word: count / COUNTS.sum() for word, count in zip(WORDS, COUNTS.tolist(), strict=True)}
    sums = []
    for text in texts:
        total, n = np.zeros(DIM), 0
        for word in text.split():
            if word in p:
                total += a / (a + p[word]) * MATRIX[WORDS.index(word)].astype(np.float64)
                n += 1
        sums.append(total / max(1, n))
    sums = np.array(sums)
    u = svds(sums, k=remove)[2] if remove else np.zeros((0, DIM))
    return sums - sums @ u.T @ u


def test_mean_of_unit_vectors():
    units = MATRIX.astype(np.float64) / np.linalg.norm(MATRIX.astype(np.float64), axis=1, keepdims=True)
    found = STORE.sentence_vector("w3 w5  unseen\tw3\n")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (2 * units[3] + units[5]) / 3, rtol=1e-6)
    raw = STORE.sentence_vector(["w3", 5, "w3"], pre_normalize=False)
    np.testing.assert_allclose(raw, (2 * MATRIX[3] + MATRIX[5]) / 3, rtol=1e-6)
    np.testing.assert_array_equal(
        STORE.sentence_vectors(TEXTS), [STORE.sentence_vector(text.split()) for text in TEXTS]
    )
    np.testing.assert_allclose(STORE.sentence_vector("w3 w9"), STORE.get_mean_vector(["w3", "w9"]), rtol=1e-6)


@pytest.mark.parametrize("name", ["fasttext_unsup_skipgram_ns.bin", "fasttext_unsup_cbow_hs.bin"])
def test_the_mean_is_fasttexts(name):
    """Golden values of fastText's program; some words are unseen and composed of n-grams."""
    golden = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))
    vectors = Vectors.load(GOLDEN / name)
    for line, expected in golden["unsupervised"][name]["sentence_vectors"].items():
        np.testing.assert_allclose(vectors.sentence_vector(line), expected, atol=1e-6)


@pytest.mark.parametrize("remove", [0, 1, 3])
@pytest.mark.parametrize("a", [1e-3, 0.1])
def test_sif_is_the_papers(remove, a):
    found = STORE.sentence_vectors(TEXTS, weights="sif", remove=remove, a=a)
    np.testing.assert_allclose(found, sif_by_hand(TEXTS, a, remove), rtol=1e-4, atol=1e-5)


def test_components_are_kept_for_single_sentences():
    components = common_components(STORE.sentence_vectors(TEXTS, weights="sif"), 2)
    np.testing.assert_allclose(components @ components.T, np.eye(2), atol=1e-12)
    every = STORE.sentence_vectors(TEXTS, weights="sif", remove=2)
    some = STORE.sentence_vectors(TEXTS[:3], weights="sif", remove=components)
    np.testing.assert_allclose(some, every[:3], atol=1e-5)
    one = STORE.sentence_vector(TEXTS[0], weights="sif", remove=components)
    np.testing.assert_allclose(one, every[0], atol=1e-5)
    np.testing.assert_allclose(every @ components.T, 0, atol=1e-5)
    cosine = STORE.document_similarity(TEXTS[0], TEXTS[1], weights="sif", remove=components)
    assert cosine == pytest.approx(float(Vectors.cosine_similarities(every[0], every[1:2])[0]), abs=1e-5)
    single = STORE.sentence_vector(TEXTS[0], weights="sif", remove=components[0])
    assert np.abs(single @ components[0]) < 1e-5 < np.abs(single @ components[1])


def test_more_sentences_than_dimensions_or_fewer():
    svd = pytest.importorskip("scipy.linalg").svd
    for many in (3, DIM, 500):
        rows = np.random.default_rng(many).standard_normal((many, DIM)) + 0.5
        u = svd(rows)[2][:2]
        found = common_components(np.vstack([rows, np.zeros((4, DIM))]), 2)  # empty sentences do not count
        np.testing.assert_allclose(found.T @ found, u.T @ u, atol=1e-12)


def test_texts_without_known_words_are_zeros():
    found = STORE.sentence_vectors(["", "unseen words", "w1", []], weights="sif")
    assert found.shape == (4, DIM)
    assert not found[[0, 1, 3]].any()
    assert found[2].any()
    assert not STORE.sentence_vector("").any()
    assert STORE.document_similarity("", "w1") == 0.0
    assert STORE.sentence_vectors([]).shape == (0, DIM)


def test_words_without_a_direction_are_left_out():
    store = Vectors(["zero", "odd", "one"], np.array([[0, 0], [np.inf, 1], [3, 4]], np.float32))
    np.testing.assert_allclose(store.sentence_vector("zero odd one"), [0.6, 0.8], rtol=1e-6)
    np.testing.assert_allclose(store.sentence_vector("zero odd one", pre_normalize=False), [3, 4], rtol=1e-6)


def test_unseen_words_are_composed_of_ngrams_and_count_as_rare():
    vectors = Vectors.load(GOLDEN / "fasttext_unsup_skipgram_ns.bin")
    assert vectors.has_index_for("cat")
    assert not vectors.has_index_for("catty")
    frequent = 1e-3 / (1e-3 + vectors.counts[vectors.get_index("cat")] / vectors.counts.sum())
    expected = (frequent * vectors["cat"] + vectors["catty"]) / 2
    np.testing.assert_allclose(vectors.sentence_vector("cat catty", weights="sif"), expected, rtol=1e-5)


def test_similar_documents():
    king = Vectors(["king", "queen", "pear"], np.array([[2, 1], [2, 1.5], [-1, 3]], np.float32))
    assert king.document_similarity("king queen", "queen") > king.document_similarity("king queen", "pear")
    assert king.document_similarity("king queen", ["queen", "king"]) == pytest.approx(1)


@given(st.text(alphabet=" \t\n\v\f\r\0\x1c\x85\xa0\u2028aBé9.'\udcff中", max_size=20))
@pytest.mark.parametrize("tokenizer", ["whitespace", "words", "text8"])
def test_strings_are_split_as_in_training(tokenizer, text):
    words = words_of(text, tokenizer)
    try:
        with encode(iter([text]), min_count=1, tokenizer=tokenizer) as corpus:
            counted = dict(zip(corpus.vocabulary.words, corpus.vocabulary.counts.tolist(), strict=True))
    except DataError:
        counted = {}
    assert {word: words.count(word) for word in words} == counted


def test_the_compiler_is_not_loaded_for_means_of_words():
    code = (
        "import sys, numpy, unhot; made = unhot.Vectors(['a', 'b'], numpy.eye(2, dtype='f4'), [1, 2]); "
        "made.sentence_vectors(['a b', 'a'], weights='sif'); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_tokenizers():
    assert words_of("The U.S., 7!", "words") == ["the", "u", "s", "7"]
    assert words_of("The 7", "text8") == ["the", "seven"]
    assert words_of("ab", list) == ["a", "b"]
    np.testing.assert_array_equal(
        STORE.sentence_vector("W1, W2!", tokenizer="words"), STORE.sentence_vector("w1 w2")
    )


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: STORE.sentence_vectors("w1 w2"), "texts is a string: give a list of texts"),
        (lambda: STORE.sentence_vector(b"w1"), "a text is b'w1': must be a string, or a list of words"),
        (lambda: STORE.sentence_vector([["w1"]]), "must be a string, or a list of words"),
        (lambda: STORE.sentence_vector("w1", weights="tfidf"), "weights='tfidf': must be one of mean, sif"),
        (lambda: STORE.sentence_vector("w1", weights="sif", a=0), "a=0: must be above 0"),
        (lambda: STORE.sentence_vector("w1", weights="sif", a=-1), "a=-1: must be >= 0"),
        (lambda: STORE.sentence_vector("w1", remove=1), "remove=1: common components come from many texts"),
        (lambda: STORE.document_similarity("w1", "w2", remove=2), "remove=2: common components come from"),
        (lambda: STORE.sentence_vectors(["w1", "w2", ""], remove=2), "2 sentences with a vector are too few"),
        (lambda: STORE.sentence_vectors(["w1"], remove=DIM + 1), "remove=8: must be <= 7"),
        (lambda: STORE.sentence_vectors(["w1"], remove=[[1.0, 0.0]]), "must be rows of 7 numbers"),
        (lambda: STORE.sentence_vectors(["w1"], remove=np.ones((1, DIM))), "of length one"),
        (lambda: STORE.sentence_vector("w1", tokenizer="spacy"), "tokenizer='spacy': must be one of"),
        (lambda: STORE[:].of_table(WORDS, MATRIX, None).sentence_vector("w1", weights="sif"), "no counts"),
        (lambda: common_components([1.0, 2.0]), "sentences of shape"),
    ],
)
def test_nonsense_is_named(ask, told):
    with pytest.raises((ConfigError, DataError), match=told):
        ask()
