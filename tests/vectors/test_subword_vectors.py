"""Words made of n-grams: every method with unseen words, beside plain vectors that have these words, too.

FastText's files; gensim.
"""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors import Vectors, subword_vectors
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import UnknownWord

GOLDEN = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((GOLDEN / "fasttext_models_expected.json").read_text(encoding="utf-8"))
MODELS = {**EXPECTED["unsupervised"], **EXPECTED["supervised"]}
SKIPGRAM = "fasttext_unsup_skipgram_ns.bin"
WORDS = [
    "king",
    "kings",
    "queen",
    "queens",
    "man",
    "woman",
    "apple",
    "apples",
    "pear",
    "where",
    "there",
    "caf\u00e9",
]
UNSEEN = ["kingly", "pears", "\u4e2d\u6587\u5b57", "womanly"]
SUBWORDS = Subwords(minn=3, maxn=5, buckets=200)


def made(words: list[str] = WORDS, dim: int = 6, **options: object) -> SubwordVectors:
    matrix = np.random.default_rng(1).standard_normal((len(words) + 200, dim), np.float32)
    rows = SubwordRows(SUBWORDS, matrix, np.arange(len(words), dtype=np.int32), first_bucket=len(words))
    return SubwordVectors(words, np.arange(len(words), 0, -1), rows, **options)


def oracle(vectors: SubwordVectors, unseen: list[str] = UNSEEN) -> Vectors:
    """Plain vectors in which the unseen words have rows, behind all others."""
    rows = [*(vectors[word] for word in vectors.words), *(vectors.rows.vector(word) for word in unseen)]
    return Vectors([*vectors.words, *unseen], np.array(rows))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("composed", [False, True])
def test_vectors_are_those_of_fasttext_to_the_last_bit(name: str, composed: bool) -> None:
    vectors = Vectors.load(GOLDEN / name)
    assert isinstance(vectors, SubwordVectors)
    if composed:
        assert vectors.vectors.shape == (len(vectors), 8)
    for word, numbers in MODELS[name]["word_vectors"].items():
        if any(numbers):
            np.testing.assert_array_equal(vectors[word], np.array(numbers, np.float32))
        else:  # fastText says zeros of a word that it knows nothing of
            assert word not in vectors
            with pytest.raises(UnknownWord):
                vectors[word]


@pytest.mark.parametrize("name", EXPECTED["unsupervised"])
def test_neighbours_are_those_of_fasttext(name: str) -> None:
    expected = MODELS[name]
    vectors = Vectors.load(GOLDEN / name)
    for word, neighbours in expected["nearest_neighbors"].items():
        found = vectors.most_similar(word, topn=len(neighbours))
        assert [each for each, _ in found] == [each for each, _ in neighbours]
        np.testing.assert_allclose(
            [cosine for _, cosine in found], [cosine for _, cosine in neighbours], atol=1e-6
        )
    for word, (texts, ids) in expected["subwords"].items():
        pieces = vectors.pieces(word)
        assert [piece.text for piece in pieces] == texts
        assert [piece.rows for piece in pieces] == [[row] for row in ids]


@pytest.mark.parametrize("name", EXPECTED["unsupervised"])
def test_beside_gensim(name: str) -> None:
    gensim = pytest.importorskip("gensim.models.fasttext")
    other = gensim.load_facebook_vectors(str(GOLDEN / name))
    vectors = Vectors.load(GOLDEN / name)
    assert vectors.words == other.index_to_key
    # gensim cuts it, too; fastText does not
    usual = [row for row, word in enumerate(vectors.words) if word != "</s>"]
    np.testing.assert_allclose(vectors.vectors[usual], other.vectors[usual], atol=1e-6)
    for word in ("unheard", "catty", "na\u00efvet\u00e9"):
        assert word in vectors
        assert word in other
        np.testing.assert_allclose(vectors[word], other[word], atol=1e-6)
        found, expected = (
            [each for each, _ in store.most_similar(word, topn=20) if each != "</s>"][:10]
            for store in (vectors, other)
        )
        assert found == expected
        np.testing.assert_allclose(vectors.similarity(word, "cat"), other.similarity(word, "cat"), atol=1e-6)
        np.testing.assert_allclose(
            vectors.n_similarity([word, "cat"], ["dog"]),
            other.n_similarity([word, "cat"], ["dog"]),
            atol=1e-6,
        )
    assert vectors.doesnt_match(["cat", "dog", "catty"]) == other.doesnt_match(["cat", "dog", "catty"])


@pytest.mark.parametrize("composed", [False, True])
def test_look_up(composed: bool) -> None:
    vectors = made()
    plain = oracle(vectors)
    assert "vectors" not in vars(vectors)
    if composed:
        assert len(vectors.norms) == len(WORDS)
    assert (len(vectors), vectors.vector_size, list(vectors)) == (12, 6, WORDS)
    assert repr(vectors) == "SubwordVectors(12 words, dim 6)"
    for word in [*WORDS, *UNSEEN, 3, np.int64(3)]:
        assert word in vectors
        for norm in (False, True):
            np.testing.assert_allclose(
                vectors.get_vector(word, norm), plain.get_vector(word, norm), rtol=1e-6
            )
        assert vectors.has_index_for(word) == (word not in UNSEEN)
    with pytest.raises(ValueError, match="read-only"):
        vectors["kingly"][0] = 1
    np.testing.assert_allclose(vectors[["king", "kingly", 3]], plain[["king", "kingly", 3]], rtol=1e-6)
    assert vectors[[]].shape == (0, 6)
    assert vectors.get_index("kingly", -1) == -1
    with pytest.raises(UnknownWord, match="did you mean 'king'"):
        vectors.get_index("kin")
    assert vectors.subwords == SUBWORDS
    assert Vectors.subwords is None
    for nothing in ("", "</s>", 12, -1, None, 1.5, True):
        assert nothing not in vectors
    with pytest.raises(UnknownWord, match="none of its n-grams"):
        vectors.get_vector("")
    np.testing.assert_array_equal(np.asarray(vectors), vectors.vectors)


def test_one_word_composes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"word{i}" for i in range(500)]
    vectors = made(words)
    monkeypatch.setattr(SubwordRows, "vectors", None)  # nothing may compose all
    assert vectors["word7"].shape == vectors["unseen"].shape == (6,)
    assert vectors[["word7", "unseen"]].shape == (2, 6)
    assert vectors[3:6].words == words[3:6]
    assert vectors.similarity("word1", "word2") < 1
    assert vectors.get_mean_vector(["word1", "unseen"]).shape == (6,)
    assert vectors.n_similarity(["word1"], ["unseen", "word2"]) < 1
    assert vectors.doesnt_match(["word1", "word2", "strange"])
    assert len(vectors.distances("word1", ["word2", "unseen"])) == 2
    assert len(vectors), vectors.words


def test_comparisons_with_unseen_words() -> None:
    vectors = made()
    plain = oracle(vectors)
    close = {"rtol": 1e-5, "atol": 1e-6}
    for a, b in (("kingly", "king"), ("kingly", "pears"), ("king", "pears")):
        np.testing.assert_allclose(vectors.similarity(a, b), plain.similarity(a, b), **close)
        np.testing.assert_allclose(vectors.distance(a, b), plain.distance(a, b), **close)
        assert vectors.closer_than(a, b) == [word for word in plain.closer_than(a, b) if word in WORDS]
        assert vectors.rank(a, b) == len(vectors.closer_than(a, b)) + 1
    assert vectors.similarity("kingly", "kingly") == pytest.approx(1)
    np.testing.assert_allclose(vectors.distances("kingly"), plain.distances("kingly")[:12], **close)
    np.testing.assert_allclose(
        vectors.distances("kingly", ["pears", "man"]), plain.distances("kingly", ["pears", "man"]), **close
    )
    some = ["king", "kingly", "", "pears"]  # one of them has no vector
    for keys, weights in ((some, None), (some, [1, 2, 3, -0.5])):
        known = [i for i, key in enumerate(keys) if key]
        expected = plain.get_mean_vector(
            [keys[i] for i in known], None if weights is None else [weights[i] for i in known]
        )
        np.testing.assert_allclose(vectors.get_mean_vector(keys, weights), expected, **close)
    with pytest.raises(UnknownWord):
        vectors.get_mean_vector(some, ignore_missing=False)
    np.testing.assert_allclose(
        vectors.n_similarity(some, ["womanly"]), plain.n_similarity(some, ["womanly"]), **close
    )
    assert vectors.doesnt_match(UNSEEN) == plain.doesnt_match(UNSEEN)
    for (cosine, word), (other, expected) in zip(
        vectors.rank_by_centrality([*UNSEEN, "king"]),
        plain.rank_by_centrality([*UNSEEN, "king"]),
        strict=True,
    ):
        assert word == expected
        assert cosine == pytest.approx(other, abs=1e-6)
    with pytest.raises(DataError, match="none of the words"):
        vectors.n_similarity(["", "</s>"], ["king"])


def test_movers_distance_with_unseen_words() -> None:
    pytest.importorskip("ot")
    vectors = made()
    plain = oracle(vectors)
    documents = ["king", "kingly", "kingly", "", 0], ["pears", "man", "womanly"]
    assert vectors.wmdistance(*documents) == pytest.approx(plain.wmdistance(*documents), rel=1e-5)
    assert vectors.wmdistance(*documents, norm=False) == pytest.approx(
        plain.wmdistance(*documents, norm=False), rel=1e-5
    )
    assert vectors.wmdistance(["king", "kingly"], [0, "kingly"]) == 0
    assert vectors.wmdistance([""], ["king"]) == float("inf")


def test_neighbours_of_unseen_words() -> None:
    vectors = made()
    plain = oracle(vectors)
    first = {"restrict_vocab": len(WORDS)}
    queries = [
        ("kingly", None),
        (["kingly", "man"], ["pears"]),
        ([("kingly", 2.0), "king"], [vectors["apple"]]),
        (None, ["pears"]),
    ]
    for positive, negative in queries:
        _same(vectors.most_similar(positive, negative), plain.most_similar(positive, negative, **first))
        np.testing.assert_allclose(
            vectors.most_similar(positive, negative, topn=None),
            plain.most_similar(positive, negative, topn=None)[:12],
            atol=1e-6,
        )
    _same(
        vectors.most_similar_cosmul(["kingly", "man"], ["pears"]),
        plain.most_similar_cosmul(["kingly", "man"], ["pears"], **first),
    )
    for method in ("similar_by_word", "similar_by_key"):
        _same(getattr(vectors, method)("pears", topn=3), getattr(plain, method)("pears", topn=3, **first))
    _same(
        vectors.similar_by_vector(vectors["pears"], topn=3),
        plain.similar_by_vector(plain["pears"], topn=3, **first),
    )
    mixed = ["king", "kingly", 3, "pears"]
    for found, expected in zip(
        vectors.most_similar_each(mixed, topn=4), plain.most_similar_each(mixed, topn=4, **first), strict=True
    ):
        _same(found, expected)
    ids, cosines = vectors.nearest(mixed, k=12)
    others, expected = plain.nearest(mixed, k=12, **first)
    np.testing.assert_array_equal(ids, others)
    # a word with a row is not its own neighbour
    assert (ids[:, -1] >= 0).tolist() == [False, True, False, True]
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    with pytest.raises(UnknownWord):
        vectors.most_similar(["king", ""])
    with pytest.raises(UnknownWord):
        vectors.nearest(["king", ""])


def _same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([cosine for _, cosine in found], [cosine for _, cosine in expected], atol=1e-6)


def test_an_index_answers_unseen_words() -> None:
    pytest.importorskip("usearch")
    vectors = made()
    index = vectors.build_index()
    _same(vectors.most_similar("kingly", topn=3, indexer=index), vectors.most_similar("kingly", topn=3))


def test_slices_and_changes() -> None:
    vectors = made()
    before = vectors["kingly"]
    part = vectors[2:5]
    assert type(part) is Vectors
    assert part.words == WORDS[2:5]
    np.testing.assert_array_equal(part.vectors, vectors.vectors[2:5])
    np.testing.assert_array_equal(part.counts, [10, 9, 8])
    assert "kingly" not in part
    assert vectors[::-2].words == WORDS[::-2]
    vectors["kingly"] = np.ones(6)
    vectors.add_vectors(["king", "new"], np.zeros((2, 6)), replace=True)
    assert (len(vectors), vectors.get_index("kingly"), vectors.get_index("new")) == (14, 12, 13)
    np.testing.assert_array_equal(vectors["kingly"], np.ones(6))
    np.testing.assert_array_equal(vectors["king"], np.zeros(6))
    np.testing.assert_array_equal(vectors.rows.vector("kingly"), before)
    assert [piece.text for piece in vectors.pieces("kingly")] == SUBWORDS.ngrams("kingly")
    assert vectors.most_similar("kingle", topn=1)
    vectors.unit_normalize_all()
    assert np.linalg.norm(vectors["queen"]) == pytest.approx(1)


def test_changed_vectors_are_saved_without_ngrams(tmp_path: Path) -> None:
    vectors = made()
    vectors["new"] = np.ones(6)
    for path, name in ((tmp_path / "m", None), (tmp_path / "m.bin", "fasttext")):
        with pytest.raises(DataError, match=r"vectors\[:\]"):
            vectors.save(path, name)
    assert not list(tmp_path.iterdir())
    vectors[:].save(tmp_path / "m")
    again = Vectors.load(tmp_path / "m")
    assert type(again) is Vectors
    np.testing.assert_array_equal(again.vectors, vectors.vectors)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_saved_as_the_same_bytes(name: str, tmp_path: Path) -> None:
    vectors = Vectors.load(GOLDEN / name)
    vectors.most_similar("the")
    vectors.save(tmp_path / "x.bin", "fasttext")
    assert (tmp_path / "x.bin").read_bytes() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize("half", [False, True])
def test_formats_that_keep_ngrams(half: bool, tmp_path: Path) -> None:
    """A model that has rows for some buckets: in fastText's file the others are zeros."""
    used = np.unique(SUBWORDS.bags(WORDS).ids)
    keys = np.random.default_rng(2).permutation(np.concatenate([-1 - np.arange(12), used]).astype(np.int64))
    matrix = (
        np.random.default_rng(1).standard_normal((len(keys), 6)).astype(np.float16 if half else np.float32)
    )
    vectors = SubwordVectors(WORDS, np.arange(12, 0, -1), SubwordRows.of_keys(SUBWORDS, matrix, keys, 12))
    for path, name in ((tmp_path / "m", None), (tmp_path / "m.bin", "fasttext")):
        assert vectors.save(path, name) == {}
        again = SubwordVectors.load(path)
        assert again.words == WORDS
        assert again.subwords == SUBWORDS
        np.testing.assert_array_equal(again.counts, vectors.counts)
        np.testing.assert_array_equal(again.vectors, vectors.vectors)
        for word in UNSEEN:
            np.testing.assert_array_equal(again.rows.vector(word), vectors.rows.vector(word))
        if name is None:
            assert again.rows.matrix.dtype == matrix.dtype
            assert again.rows.used_buckets == len(used)
    vectors.save(tmp_path / "m.txt")
    assert type(Vectors.load(tmp_path / "m.txt")) is Vectors
    with pytest.raises(DataError, match="but no n-grams"):
        SubwordVectors.load(tmp_path / "m.txt")
    with pytest.raises(ConfigError, match="floret"):
        vectors.save(tmp_path / "m.floret")


def test_an_unseen_word_of_which_no_ngram_is_known() -> None:
    """In a model of unhot that is one without any row: better no vector than zeros."""
    subwords = Subwords(minn=3, maxn=3, buckets=2**31 - 1)
    keys = np.concatenate([[-1], subwords.ids("king")]).astype(np.int64)
    vectors = SubwordVectors(
        ["king"], None, SubwordRows.of_keys(subwords, np.ones((len(keys), 2), np.float32), keys, 1)
    )
    assert "kingly" in vectors
    assert "pear" not in vectors
    np.testing.assert_allclose(vectors["kingly"], np.full(2, 3 / 6))  # <ki kin ing, and three that are zeros
    with pytest.raises(UnknownWord):
        vectors["pear"]
    with pytest.raises(UnknownWord):
        vectors.most_similar("pear")


def test_limit_keeps_all_ngrams(tmp_path: Path) -> None:
    whole, some = Vectors.load(GOLDEN / SKIPGRAM), Vectors.load(GOLDEN / SKIPGRAM, limit=7)
    assert some.words == whole.words[:7]
    np.testing.assert_array_equal(some.vectors, whole.vectors[:7])
    np.testing.assert_array_equal(some["unheard"], whole["unheard"])
    left_out = whole.words[20]
    assert left_out in some  # as any other word, without its own row
    np.testing.assert_array_equal(some[left_out], whole.rows.vector(left_out))
    for path, name in ((tmp_path / "m", None), (tmp_path / "m.bin", "fasttext")):
        some.save(path, name)
        again = Vectors.load(path)
        assert again.words == some.words
        np.testing.assert_array_equal(again["unheard"], some["unheard"])
        np.testing.assert_array_equal(again.vectors, some.vectors)
        np.testing.assert_array_equal(Vectors.load(path, limit=3).vectors, some.vectors[:3])
    assert len(Vectors.load(GOLDEN / SKIPGRAM, limit=0)) == 0


def test_pruned_ngrams_are_not_written_as_zeros(tmp_path: Path) -> None:
    """A part of a pruned .ftz cannot be a .bin: there, n-grams without a row would count."""
    whole = Vectors.load(GOLDEN / "fasttext_sup_qout.ftz")
    whole.save(tmp_path / "m")
    for vectors in (Vectors.load(GOLDEN / "fasttext_sup_qout.ftz", limit=50), Vectors.load(tmp_path / "m")):
        with pytest.raises(DataError, match="pruned"):
            vectors.save(tmp_path / "x.bin", "fasttext")
    np.testing.assert_array_equal(Vectors.load(tmp_path / "m").vectors, whole.vectors)


def test_words_that_nobody_counted(tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models.fasttext")
    SubwordVectors(WORDS, None, made().rows).save(tmp_path / "x.bin", "fasttext")
    assert Vectors.load(tmp_path / "x.bin").counts is None
    assert gensim.load_facebook_vectors(str(tmp_path / "x.bin")).index_to_key == WORDS


def test_a_word_of_a_megabyte() -> None:
    tracemalloc.start()
    assert "x" * 1_000_000 in made(dim=100)
    assert tracemalloc.get_traced_memory()[1] < 200_000_000
    tracemalloc.stop()


def test_floret_tables_have_no_words(tmp_path: Path) -> None:
    subwords = Subwords(minn=2, maxn=4, buckets=50, scheme="floret", hashes=2, seed=7)
    matrix = np.random.default_rng(0).standard_normal((50, 4), np.float32)
    vectors = SubwordVectors([], None, SubwordRows(subwords, matrix, np.zeros(0, np.int32)))
    vectors.save(tmp_path / "x.floret")
    again = Vectors.load(tmp_path / "x.floret")
    assert isinstance(again, SubwordVectors)
    assert again.subwords == subwords
    assert (len(again), again.vectors.shape, again.most_similar("word")) == (0, (0, 4), [])
    np.testing.assert_array_equal(again["word"], vectors["word"])
    assert again.similarity("word", "words") == pytest.approx(vectors.similarity("word", "words"))
    assert len(again.pieces("a")[0].buckets) == 2
    with_words = SubwordVectors(["word", "words"], None, vectors.rows)
    np.testing.assert_array_equal(with_words["word"], vectors["word"])
    assert with_words.most_similar("wordy", topn=1)
    with_words.save(tmp_path / "m")
    assert Vectors.load(tmp_path / "m").words == ["word", "words"]
    assert Vectors.load(tmp_path / "m").subwords == subwords
    with pytest.raises(ConfigError, match="scheme=floret"):
        vectors.save(tmp_path / "x.bin", "fasttext")


def test_what_is_given_must_fit() -> None:
    with pytest.raises(DataError, match="give 2"):
        SubwordVectors(["a", "b"], None, made().rows)
    with pytest.raises(DataError, match="counts"):
        SubwordVectors(WORDS, np.ones(3, np.int64), made().rows)
    twice = SubwordVectors(["a", "a"], None, made(["a", "b"]).rows)
    with pytest.raises(DataError, match="more than once"):
        twice["a"]


def test_replaced_words_are_plain(tmp_path: Path) -> None:
    """n-grams are those of the bytes; with other letters in their place they would be others."""
    words = ["ok", "\udcff\udcfe"]
    made(words).save(tmp_path / "m")
    made(words).save(tmp_path / "m.bin", "fasttext")
    for path in (tmp_path / "m", tmp_path / "m.bin"):
        assert Vectors.load(path).words == words
        replaced = Vectors.load(path, bad_utf8="replace")
        assert type(replaced) is Vectors
        assert replaced.words == ["ok", "\ufffd\ufffd"]
        np.testing.assert_array_equal(replaced.vectors, made(words).vectors)
        with pytest.raises(FormatError, match="UTF-8"):
            Vectors.load(path, bad_utf8="error")


def test_repeated_words_keep_the_first_row(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = (GOLDEN / SKIPGRAM).read_bytes()
    (tmp_path / "x.bin").write_bytes(data.replace(b"dog\0", b"cat\0", 1))
    vectors, whole = Vectors.load(tmp_path / "x.bin"), Vectors.load(GOLDEN / SKIPGRAM)
    assert len(vectors) == len(whole) - 1
    assert "left out" in caplog.text
    np.testing.assert_array_equal(vectors["cat"], whole["cat"])


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(path: Path, bad_utf8: str) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(subword_vectors, "read_fasttext", broken)
    with pytest.raises(DataError, match="cannot be read"):
        Vectors.load(GOLDEN / SKIPGRAM)
