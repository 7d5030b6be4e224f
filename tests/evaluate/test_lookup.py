"""Which row a word has, and what a file of questions is."""

import numpy as np
import pytest

from unhot import Vectors
from unhot.errors import ConfigError, DataError
from unhot.evaluate.files import numbered_lines, question_file, question_files
from unhot.evaluate.lookup import CASES, Lookup
from unhot.vectors.subword_rows import SubwordRows
from unhot.vectors.subword_vectors import SubwordVectors
from unhot.vocab.subwords import Subwords

WORDS = ["us", "Paris", "US", "paris", "zero", "Zero", "bad"]


@pytest.fixture
def vectors():
    rows = np.random.default_rng(1).normal(size=(7, 3)).astype(np.float32)
    rows[4], rows[6, 1] = 0, np.nan
    return Vectors(WORDS, rows)


@pytest.mark.parametrize(
    ("word", "exact", "prefer", "ignore"),
    [
        ("us", 0, 0, 0),
        ("US", 2, 2, 0),
        ("Us", -1, 0, 0),
        ("paris", 3, 3, 1),
        ("PARIS", -1, 1, 1),
        ("zero", -1, -1, -1),  # no direction
        ("Zero", 5, 5, -1),
        ("bad", -1, -1, -1),
        ("nothing", -1, -1, -1),
    ],
)
def test_cases(vectors, word, exact, prefer, ignore):
    assert [Lookup(vectors, case=case).row(word) for case in CASES] == [exact, prefer, ignore]


def test_names_join_spellings(vectors):
    assert Lookup(vectors, case="ignore").names.tolist() == [0, 1, 0, 1, 4, 4, 6]
    assert Lookup(vectors, case="exact").names.tolist() == list(range(7))


def test_only_the_first_words_are_known(vectors):
    lookup = Lookup(vectors, restrict_vocab=2)
    assert [lookup.row(word) for word in ("us", "US", "paris", "Zero")] == [0, 0, 1, -1]
    assert (lookup.size, lookup.names.tolist()) == (2, [0, 1])
    assert Lookup(vectors, restrict_vocab=100).size == 7


def test_no_words_at_all():
    lookup = Lookup(Vectors([], np.zeros((0, 3), np.float32)))
    assert (lookup.row("us"), lookup.size, lookup.names.size) == (-1, 0, 0)


def test_units(vectors):
    units = Lookup(vectors).units(np.array([0, 4, 6]))
    assert np.linalg.norm(units[0]) == pytest.approx(1, abs=1e-12)
    assert np.isnan(units[1:]).all()


@pytest.mark.parametrize(
    ("settings", "told"),
    [({"case": "lower"}, "case='lower': must be one of"), ({"restrict_vocab": 0}, ">= 1")],
)
def test_wrong_settings(vectors, settings, told):
    with pytest.raises(ConfigError, match=told):
        Lookup(vectors, **settings)


def test_a_folder_is_all_its_files(tmp_path):
    for name in ("b/2.txt", "a.txt", ".hidden", "b/.git/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert question_files(tmp_path) == [tmp_path / "a.txt", tmp_path / "b/2.txt"]
    assert question_files(tmp_path / "a.txt") == [tmp_path / "a.txt"]


def test_files_that_are_none(tmp_path):
    with pytest.raises(DataError, match="no such file or folder"):
        question_files(tmp_path / "nothing")
    with pytest.raises(DataError, match="this folder has no files"):
        question_files(tmp_path)
    with pytest.raises(DataError, match="a folder: give its files"):
        question_file(tmp_path)
    (tmp_path / "vectors.bin").write_bytes(b"ab\0")
    with pytest.raises(DataError, match="byte 2 is zero"):
        list(numbered_lines(tmp_path / "vectors.bin"))


def test_lines_of_any_system_and_any_bytes(tmp_path):
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfone\r\n two\x85\xff\n\nend")
    assert list(numbered_lines(tmp_path / "x")) == [(1, "one"), (2, "two\udc85\udcff"), (3, ""), (4, "end")]


def composed():
    """Vectors that are made of n-grams; one word has no direction."""
    matrix = np.random.default_rng(3).standard_normal((len(WORDS) + 50, 4), np.float32)
    words = np.arange(len(WORDS), dtype=np.int32)
    subwords = Subwords(minn=3, maxn=4, buckets=50)
    rows = SubwordRows(subwords, matrix, words, first_bucket=len(WORDS))
    matrix[len(WORDS) + subwords.ids("nil")] = 0
    return SubwordVectors(WORDS, None, rows)


def test_unseen_words_have_numbers_behind_the_rows():
    vectors = composed()
    plain, lookup = Lookup(vectors), Lookup(vectors, unseen=True)
    assert [plain.row(word) for word in ("us", "Parisian", "")] == [0, -1, -1]
    assert [lookup.row(word) for word in ("us", "Parisian", "usual", "PARIS", "Parisian", "", "nil")] == [
        0,
        7,
        8,
        1,
        7,
        -1,
        -1,
    ]
    units = lookup.units(np.array([7, 0, 8, 1], np.int32))
    for unit, word in zip(units, ("Parisian", "us", "usual", "Paris"), strict=True):
        np.testing.assert_allclose(
            unit, vectors[word] / np.linalg.norm(vectors[word].astype(float)), rtol=1e-6
        )
    np.testing.assert_array_equal(lookup.units(slice(2, 5)), plain.units(slice(2, 5)))
    few = Lookup(vectors, restrict_vocab=2, unseen=True)
    assert [few.row(word) for word in ("us", "US", "zeroes")] == [0, 0, 2]
    assert few.row("bad") == 3  # behind the limit: made, too
    made = vectors.rows.vector("bad")  # without its own row, which is not known
    np.testing.assert_allclose(few.units(np.array([3]))[0] @ made, np.linalg.norm(made), rtol=1e-6)


def test_unseen_words_need_ngrams(vectors):
    with pytest.raises(ConfigError, match="unseen=True"):
        Lookup(vectors, unseen=True)
