"""Correlations against scipy, and files of word pairs against gensim."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from unhot import Vectors
from unhot.evaluate import similarity
from unhot.evaluate.figures import RESAMPLES
from unhot.evaluate.similarity import (
    Pair,
    pearson,
    read_pairs,
    spearman,
    weighted_pearson,
    weighted_ranks,
    weighted_spearman,
)
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords

stats = pytest.importorskip("scipy.stats")

WORDS = ["the", "Cat", "cat", "dog", "DOG", "bird", "New York", "x,y"]


@pytest.fixture
def vectors():
    return Vectors(WORDS, np.random.default_rng(2).normal(size=(len(WORDS), 5)).astype(np.float32))


numbers = st.integers(-4, 4) | st.floats(-100, 100).map(lambda x: round(x, 3))  # small ones tie
columns = st.integers(2, 40).flatmap(lambda n: st.tuples(*[arrays(np.float64, n, elements=numbers)] * 2))


@given(columns)
def test_correlations_are_scipys(xy):
    x, y = xy
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-10)


@given(columns, st.randoms(use_true_random=False))
def test_a_weight_is_a_repeat(xy, random):
    x, y = xy
    times = np.array([random.randrange(4) for _ in x])
    again = np.repeat(np.arange(x.size), times)
    weights = times[None].astype(float)
    if again.size == 0:
        return
    np.testing.assert_array_equal(weighted_ranks(x, weights)[0][again], stats.rankdata(x[again]))
    for weighted, plain in ((weighted_pearson, pearson), (weighted_spearman, spearman)):
        assert weighted(x, y, weights)[0] == pytest.approx(plain(x[again], y[again]), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("x", [[], [1.0], [0.1, 0.1, 0.1], [1e30, 1e30]])
def test_equal_values_have_no_correlation(x):
    assert math.isnan(pearson(np.array(x), np.arange(len(x), dtype=float)))
    assert math.isnan(spearman(np.arange(len(x), dtype=float), np.array(x)))


@pytest.mark.parametrize("scale", [1e308, 1e-300])
def test_a_correlation_does_not_depend_on_the_scale(scale):
    x, y = np.array([0.1, -0.9, 0.5]), np.array([2.0, 1, 4])
    assert pearson(scale * x, y) == pytest.approx(pearson(x, y))


@pytest.mark.parametrize(
    "text",
    [
        "cat\tdog\t3.5\nNew York\tthe\t1\n",
        "# comment\nword1\tword2\tscore\ncat\tdog\t3.5\n\n New York \t the \t 1\r\n",
        "Word 1,Word 2,Human (mean)\ncat,dog,3.5\nNew York,the,1",
        'cat;dog;3.5\n"New York";"the";1\n',
        "word1\tword2\tPOS\tSimLex999\tconc\ncat\tdog\tN\t3.5\t7\nNew York\tthe\tA\t1\t8\n",
    ],
)
def test_formats(tmp_path, text):
    (tmp_path / "pairs").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_pairs(tmp_path / "pairs") == [Pair("cat", "dog", 3.5), Pair("New York", "the", 1.0)]


def write_pairs(path, rng, words, n=40):
    pairs = [(rng.choice(words), rng.choice(words)) for _ in range(n)]
    # not a word with itself: gensim's cosines of those are 1 only up to rounding
    path.write_text(
        "".join([f"{a}\t{b}\t{rng.integers(0, 7)}\n" for a, b in pairs if a.upper() != b.upper()])
    )
    return path


@pytest.mark.parametrize("restrict_vocab", [None, 5])
def test_figures_are_gensims(tmp_path, vectors, restrict_vocab):
    gensim = pytest.importorskip("gensim.models")
    words = [*WORDS, "THE", "Bird", "dOG", "unknown"]
    path = write_pairs(tmp_path / "pairs.tsv", np.random.default_rng(3), words)
    other = gensim.KeyedVectors(5)
    other.add_vectors(WORDS, vectors.vectors)
    theirs_pearson, theirs_spearman, oov = other.evaluate_word_pairs(
        str(path), restrict_vocab=restrict_vocab or 300_000
    )
    ours = similarity(vectors, path, case="ignore", restrict_vocab=restrict_vocab)
    assert ours.spearman == pytest.approx(theirs_spearman[0], abs=1e-12)
    assert ours.pearson == pytest.approx(theirs_pearson[0], abs=1e-6)
    assert 100 * ours.unknown_ratio == pytest.approx(oov)
    exact = other.evaluate_word_pairs(
        str(path), restrict_vocab=restrict_vocab or 300_000, case_insensitive=False
    )
    assert similarity(vectors, path, case="exact", restrict_vocab=restrict_vocab).spearman == pytest.approx(
        exact[1][0], abs=1e-12
    )


def test_the_result_and_its_interval(tmp_path):
    rng = np.random.default_rng(4)
    words = [f"w{i}" for i in range(60)]
    vectors = Vectors(words, rng.normal(size=(60, 8)).astype(np.float32))
    unit = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    pairs = rng.integers(0, 60, (50, 2))
    scores = (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1) + rng.normal(0, 0.3, 50)
    lines = [f"{words[i]} {words[j]} {score:.6f}" for (i, j), score in zip(pairs, scores, strict=True)]
    (tmp_path / "pairs.txt").write_text("\n".join([*lines, "w1 nothing 3"]))
    result = similarity(vectors, tmp_path / "pairs.txt")
    assert (result.pairs, result.unknown, result.unknown_ratio) == (51, 1, 1 / 51)
    low, high = result.spearman_interval
    assert 0.2 < low < result.spearman < high < 1
    x, y = np.round(scores, 6), (unit[pairs[:, 0]] * unit[pairs[:, 1]]).sum(axis=1)
    drawn = [
        stats.spearmanr(x[some], y[some]).statistic
        for some in np.random.default_rng(5).integers(0, 50, (2000, 50))
    ]
    assert (low, high) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.05)
    assert result == similarity(vectors, tmp_path / "pairs.txt")
    assert result.spearman_interval != similarity(vectors, tmp_path / "pairs.txt", seed=2).spearman_interval
    plain = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert plain["spearman_interval"] == [low, high]
    assert (plain["resamples"], plain["case"], plain["unknown_ratio"]) == (RESAMPLES, "prefer", 1 / 51)


def test_every_word_is_equally_similar_to_itself(tmp_path):
    words = [f"w{i}" for i in range(50)]
    vectors = Vectors(words, np.random.default_rng(4).normal(size=(50, 7)).astype(np.float32))
    (tmp_path / "pairs.txt").write_text("".join(f"{word} {word} {i}\n" for i, word in enumerate(words)))
    assert math.isnan(similarity(vectors, tmp_path / "pairs.txt").spearman)


def test_nothing_known_is_no_number(tmp_path, vectors):
    (tmp_path / "pairs.txt").write_text("who knows 3\nnobody does 2\n")
    result = similarity(vectors, tmp_path / "pairs.txt")
    assert math.isnan(result.spearman)
    assert result.as_dict()["spearman"] is None
    assert result.as_dict()["spearman_interval"] == [None, None]


def test_unseen_words_are_made_of_ngrams_if_asked(tmp_path):
    matrix = np.random.default_rng(3).standard_normal((len(WORDS) + 50, 4), np.float32)
    rows = SubwordRows(
        Subwords(minn=3, maxn=4, buckets=50),
        matrix,
        np.arange(len(WORDS), dtype=np.int32),
        first_bucket=len(WORDS),
    )
    vectors = SubwordVectors(WORDS, None, rows)
    pairs = [("cat", "dog", 5), ("cats", "dog", 4), ("birds", "birdy", 9), ("the", "bird", 1)]
    (tmp_path / "pairs").write_text("".join(f"{a}\t{b}\t{score}\n" for a, b, score in pairs))
    seen = similarity(vectors, tmp_path / "pairs")
    assert (seen.unseen, seen.unknown) == (False, 2)
    every = similarity(vectors, tmp_path / "pairs", unseen=True)
    assert (every.unseen, every.unknown, every.as_dict()["unseen"]) == (True, 0, True)
    scores, cosines = zip(*((score, vectors.similarity(a, b)) for a, b, score in pairs), strict=True)
    assert every.spearman == pytest.approx(stats.spearmanr(scores, cosines).statistic)
    assert every.pearson == pytest.approx(stats.pearsonr(scores, cosines).statistic)
