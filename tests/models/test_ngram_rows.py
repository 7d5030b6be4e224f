"""Which rows words with n-grams are made of."""

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import DataError
from unhot.models.ngram_rows import bags_of, ngram_rows, old_rows, word_rows
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import Vocabulary

WORDS = ["cat", "cats", "dog", "a", "</s>"]
COUNTS = np.array([50, 30, 20, 10, 5])
NONE = np.zeros(0, np.int64)


def made(subwords, use=None, also=NONE, words=WORDS):
    counts = COUNTS[: len(words)]
    return ngram_rows(Vocabulary(words, counts), subwords, counts.astype(float) if use is None else use, also)


def pieces(subwords, words, word):
    own = [-1 - words.index(word)] if subwords.own_rows else []
    return own + subwords.ids(word).tolist()


@examples(50)
@given(
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(1, 50),
    st.sampled_from(["fasttext", "floret"]),
    st.integers(1, 4),
)
def test_a_bag_is_the_word_and_its_pieces_in_their_order(minn, more, buckets, scheme, hashes):
    hashes = hashes if scheme == "floret" else 1
    subwords = Subwords(minn=minn, maxn=minn + more, buckets=buckets, scheme=scheme, hashes=hashes)
    keys, (starts, rows, squares, _) = made(subwords)
    for i, word in enumerate(WORDS):
        times = np.unique(rows[starts[i] : starts[i + 1]], return_counts=True)[1]
        assert squares[i] == (times**2).sum()
        assert keys[rows[starts[i] : starts[i + 1]]].tolist() == pieces(subwords, WORDS, word)
    wanted = {key for word in WORDS for key in pieces(subwords, WORDS, word)}
    assert sorted(keys.tolist()) == sorted(wanted)
    again = bags_of(keys, Vocabulary(WORDS, COUNTS), subwords)
    for ours, theirs in zip(again[:3], (starts, rows, squares), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_rows_lie_in_the_order_of_their_use():
    subwords, use = Subwords(minn=3, maxn=4, buckets=1000), np.array([1.0, 2.0, 30.0, 4.0, 50.0])
    keys, (starts, rows, _, _) = made(subwords, use)
    used = np.zeros(keys.size)
    np.add.at(used, rows, np.repeat(use, np.diff(starts)))
    assert (np.diff(used) <= 0).all()
    assert keys[0] == -5  # the end of a line, the most used one here


def test_buckets_of_another_model_are_kept():
    subwords = Subwords(minn=3, maxn=3, buckets=1000)
    plain, more = made(subwords), made(subwords, also=np.array([-3, 7, 999, int(subwords.ids("cat")[0])]))
    assert set(more.keys.tolist()) == set(plain.keys.tolist()) | {7, 999}
    assert set(more.keys[-2:].tolist()) == {7, 999}  # nobody uses them


def test_rows_are_found_again_by_what_they_are():
    subwords = Subwords(minn=3, maxn=3, buckets=1000)
    old, new = made(subwords, words=["cat", "dog"]), made(subwords)
    moved = np.array([0, -1, 1, -1, -1], np.int32)  # cat was 0, dog was 1, the others are new
    rows = old_rows(new.keys, old.keys, moved)
    names = {-1: -1, -3: -2}
    for key, row in zip(new.keys.tolist(), rows.tolist(), strict=True):
        before = names.get(key) if key < 0 else key
        assert (old.keys[row] if row >= 0 else None) == (before if before in old.keys.tolist() else None)


def test_rows_of_words_are_told_from_those_of_ngrams():
    assert word_rows(np.array([5, -1, 0, -3]), np.array([10, 11, 12], np.int32)).tolist() == [-1, 10, -1, 12]


def test_a_huge_number_of_buckets_takes_no_table():
    """2**31 - 1 buckets: a number for each would be 17 GB."""
    few, many = (Subwords(minn=3, maxn=4, buckets=buckets) for buckets in (2**20, 2**31 - 1))
    assert made(many).keys.size >= made(few).keys.size
    keys, bags = made(many)
    assert keys[bags.rows[bags.starts[0] : bags.starts[1]]].tolist() == pieces(many, WORDS, "cat")


def test_a_row_that_is_missing_is_named():
    subwords = Subwords(minn=3, maxn=3, buckets=1000)
    keys = made(subwords).keys
    with pytest.raises(DataError, match=f"the key {keys.max()} has no row"):
        bags_of(keys[keys < keys.max()], Vocabulary(WORDS, COUNTS), subwords)
