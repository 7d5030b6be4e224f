"""Means and sums of rows: against NumPy, for all kinds of matrices and of places where rows can be."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot.errors import DataError
from unhot.vectors import subword_rows
from unhot.vectors.row_sums import fill_vectors, flat
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords

WORDS = st.lists(st.text("aé中🙂<\udcff", max_size=9), unique=True, max_size=12)
DIM = 5


class Odd:
    """A matrix of its own kind: only asked for what is there."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix, self.shape = matrix, matrix.shape

    def rows(self, ids: np.ndarray) -> np.ndarray:
        assert (ids < len(self.matrix)).all()
        return self.matrix[ids]


@st.composite
def parts(draw: st.DrawFn) -> tuple[list[str], SubwordRows]:
    """Words, and rows for them in any of the ways that files have."""
    scheme = draw(st.sampled_from(["fasttext", "floret"]))
    minn = draw(st.integers(1, 4))
    maxn = draw(st.one_of(st.just(0), st.integers(minn, 6)))
    buckets = draw(st.integers(1, 30))
    subwords = Subwords(
        minn=minn,
        maxn=maxn,
        buckets=buckets,
        scheme=scheme,
        hashes=draw(st.integers(1, 4)) if scheme == "floret" else 1,
        combine=draw(st.sampled_from(["mean", "sum"])),
    )
    words = draw(WORDS)
    own = len(words) if subwords.own_rows else 0
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    matrix = rng.standard_normal((own + buckets, DIM)).astype(draw(st.sampled_from([np.float32, np.float16])))
    kind = draw(st.sampled_from(["as fastText", "keys", "sparse keys", "odd", "padded"]))
    if kind in ("keys", "sparse keys"):
        used = rng.permutation(buckets)[: rng.integers(0, buckets + 1)]
        keys = rng.permutation(np.concatenate([-1 - np.arange(own), used]).astype(np.int64))
        rows = _keyed(subwords, matrix[: len(keys)], keys, len(words), sparse=kind == "sparse keys")
        return words, dataclasses.replace(rows, skips=draw(st.booleans()))
    given = (
        Odd(matrix.astype(np.float32))
        if kind == "odd"
        else np.pad(matrix, ((0, 0), (0, 3)))[:, :DIM]
        if kind == "padded"
        else matrix
    )
    return words, SubwordRows(subwords, given, np.arange(own, dtype=np.int32), first_bucket=own)


def _keyed(subwords: Subwords, matrix: np.ndarray, keys: np.ndarray, words: int, sparse: bool) -> SubwordRows:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subword_rows, "SPARSE", 0 if sparse else 1000)
        patch.setattr(subword_rows, "SMALL_TABLE", -1)
        made = SubwordRows.of_keys(subwords, matrix, keys, words)
    assert (made.bucket_ids is not None) == (sparse or len(keys) == 0)
    np.testing.assert_array_equal(made.keys(), keys)
    return made


def plain(rows: SubwordRows, word: str, own: int | None) -> np.ndarray:
    """The definition, one piece after the other."""
    matrix = np.asarray(getattr(rows.matrix, "matrix", rows.matrix)).astype(np.float64)
    some = [] if own is None or not rows.subwords.own_rows else [matrix[rows.word_rows[own]]]
    every = dataclasses.replace(rows.subwords, combine="mean").ids(word).tolist()
    for bucket in every if rows.subwords.combine == "mean" else set(every):
        if rows.bucket_rows is None:
            row = rows.first_bucket + bucket
        elif rows.bucket_ids is None:
            row = int(rows.bucket_rows[bucket])
        else:
            row = dict(zip(rows.bucket_ids.tolist(), rows.bucket_rows.tolist(), strict=True)).get(bucket, -1)
        if row >= 0 or not rows.skips:
            some.append(matrix[row] if row >= 0 else np.zeros(DIM))
    return getattr(np, rows.subwords.combine)(some, axis=0) if some else np.zeros(DIM)


@given(parts(), st.text("aé中🙂<\udcff", max_size=9))
def test_vectors_are_means_or_sums(found: tuple[list[str], SubwordRows], unseen: str) -> None:
    words, rows = found
    expected = np.array([plain(rows, word, i) for i, word in enumerate(words)]).reshape(len(words), DIM)
    composed = rows.vectors(words)
    assert composed.dtype == np.float32
    np.testing.assert_allclose(composed, expected, rtol=1e-5, atol=1e-6)
    for i, word in enumerate(words):
        np.testing.assert_allclose(rows.vector(word, i), composed[i], rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(rows.vector(unseen), plain(rows, unseen, None), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(rows.vectors(words[2:], first=2), expected[2:], rtol=1e-5, atol=1e-6)


@given(parts())
def test_a_word_is_the_mean_or_the_sum_of_its_pieces(found: tuple[list[str], SubwordRows]) -> None:
    words, rows = found
    for i, word in enumerate(words):
        pieces = rows.pieces(word, i)
        if not rows.skips:
            names = [piece.text for piece in pieces if piece.buckets]
            if rows.subwords.combine == "mean":
                assert names == rows.subwords.ngrams(word)
            assert len(names) <= len(rows.subwords.ngrams(word))
            assert sum((piece.buckets for piece in pieces), []) == rows.subwords.ids(word).tolist()
            if pieces:
                whole = getattr(np, rows.subwords.combine)([piece.vector for piece in pieces], axis=0)
                np.testing.assert_allclose(whole, rows.vector(word, i), rtol=1e-5, atol=1e-6)


@given(parts())
def test_expanded_rows_are_in_the_order_of_fasttext(found: tuple[list[str], SubwordRows]) -> None:
    words, rows = found
    own = len(rows.word_rows)
    every = np.concatenate([np.zeros((0, DIM), np.float32), *rows.expanded()])
    assert every.shape == (own + rows.subwords.buckets, DIM)
    if not rows.skips:
        again = SubwordRows(rows.subwords, every, np.arange(own, dtype=np.int32), first_bucket=own)
        np.testing.assert_array_equal(again.vectors(words), rows.vectors(words))


def test_threads_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    subwords = Subwords(minn=2, maxn=4, buckets=300)
    words = [f"word{i}" for i in range(500)]
    matrix = np.random.default_rng(0).standard_normal((800, 7), np.float32)
    rows = SubwordRows(subwords, matrix, np.arange(500, dtype=np.int32), first_bucket=500)
    whole = rows.vectors(words)
    monkeypatch.setattr(subword_rows, "BLOCK_PIECES", 70)
    monkeypatch.setattr(subword_rows, "BLOCK_ROWS", 11)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(rows.vectors(words, threads=threads), whole)
    np.testing.assert_array_equal(np.concatenate(list(rows.expanded())), matrix)


def test_every_half_is_read_as_it_is() -> None:
    """All 65,536 of them, subnormal, infinite and not a number, in a row that begins anywhere."""
    halves = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(-1, 4)
    out = np.zeros(halves.shape, np.float32)
    none = np.zeros(0, np.int64)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        fill_vectors(
            flat(halves), np.arange(len(halves)), np.zeros(len(halves) + 1, np.int64), none, False, True, out
        )
        np.testing.assert_array_equal(out, halves.astype(np.float32))


def test_rows_that_begin_at_any_byte() -> None:
    """As the rows of a mapped file do."""
    matrix = np.random.default_rng(0).standard_normal((30, 3), np.float32)
    moved = np.frombuffer(b"x" + matrix.tobytes(), np.float32, 90, 1).reshape(30, 3)
    assert not moved.flags.aligned
    subwords, own = Subwords(minn=3, maxn=3, buckets=20), np.arange(10, dtype=np.int32)
    words = [f"w{i}" for i in range(10)]
    expected = SubwordRows(subwords, matrix, own, first_bucket=10).vectors(words)
    np.testing.assert_array_equal(SubwordRows(subwords, moved, own, first_bucket=10).vectors(words), expected)


def test_rows_outside_of_the_matrix_are_refused() -> None:
    subwords, matrix = Subwords(minn=3, maxn=3, buckets=4), np.zeros((5, 2), np.float32)
    none = np.zeros(0, np.int32)
    one = np.array([5], np.int32)
    for wrong in (
        {"word_rows": one},
        {"word_rows": -one},
        {"word_rows": none, "first_bucket": 2},
        {"word_rows": none, "first_bucket": -1},
        {"word_rows": none, "bucket_rows": np.array([0, 1, 2, 5], np.int32)},
        {"word_rows": none, "bucket_rows": np.array([0, 1, 2, -2], np.int32)},
        {"word_rows": none, "bucket_rows": np.array([0, 1], np.int32)},
        {
            "word_rows": none,
            "bucket_rows": np.array([0, 1], np.int32),
            "bucket_ids": np.array([3, 3], np.int32),
        },
        {"word_rows": none, "bucket_rows": np.array([0, 1], np.int32), "bucket_ids": np.array([3], np.int32)},
        {"word_rows": none, "matrix": np.zeros((5, 2))},
        {"word_rows": none, "matrix": np.zeros(5, np.float32)},
    ):
        with pytest.raises(DataError):
            SubwordRows(**{"subwords": subwords, "matrix": matrix, **wrong})
    assert SubwordRows(subwords, matrix, none, first_bucket=1).vectors(["abc"]).shape == (1, 2)


@pytest.mark.parametrize(
    ("keys", "what"),
    [
        ([-1, -2, 0, 1], "4 keys for 3 rows"),
        ([-1, 0, 1], "each of 2 words"),
        ([-1, -1, 0], "each of 2 words"),
        ([-1, -3, 0], "each of 2 words"),
        ([-1, -(2**63), 0], "each of 2 words"),
        ([-1, -2, 4], "below 4"),
        ([-1, -2, 2**40], "below 4"),
    ],
)
def test_keys_that_do_not_fit(keys: list[int], what: str) -> None:
    with pytest.raises(DataError, match=what):
        SubwordRows.of_keys(
            Subwords(minn=3, maxn=3, buckets=4), np.zeros((3, 2), np.float32), np.array(keys), 2
        )
    floret = Subwords(minn=3, maxn=3, buckets=4, scheme="floret")
    with pytest.raises(DataError, match="of 0 words"):
        SubwordRows.of_keys(floret, np.zeros((2, 2), np.float32), np.array([-1, 0]), 1)
    with pytest.raises(DataError, match="different"):
        SubwordRows.of_keys(floret, np.zeros((2, 2), np.float32), np.array([1, 1]), 1)


def test_many_buckets_take_little_memory() -> None:
    """Two thousand million of them: only those that are there are looked up."""
    subwords = Subwords(minn=3, maxn=6, buckets=2**31 - 1)
    used = np.unique(subwords.bags(["where", "there"]).ids).astype(np.int64)
    keys = np.concatenate([used, [-1, -2]])
    matrix = np.random.default_rng(0).standard_normal((len(keys), 3), np.float32)
    rows = SubwordRows.of_keys(subwords, matrix, keys, 2)
    assert rows.used_buckets == len(used)
    assert rows.bucket_ids is not None
    np.testing.assert_allclose(rows.vectors(["where", "there"])[0], plain3(rows, "where"), rtol=1e-5)


def plain3(rows: SubwordRows, word: str) -> np.ndarray:
    own = rows.word_rows[0]
    places = np.searchsorted(rows.bucket_ids, rows.subwords.ids(word))
    return rows.matrix[[own, *rows.bucket_rows[places]]].mean(axis=0)


def test_shared_rows_have_no_keys() -> None:
    rows = SubwordRows(
        Subwords(minn=3, maxn=3, buckets=2),
        np.zeros((2, 2), np.float32),
        np.zeros(0, np.int32),
        np.zeros(2, np.int32),
    )
    with pytest.raises(DataError, match="share a row"):
        rows.keys()


def test_without_the_compiler() -> None:
    code = """
import numpy as np
from unhot.vectors.subword_rows import SubwordRows
from unhot.vocab.subwords import Subwords
words = ["where", "there", ""]
for kind in (np.float32, np.float16):
    matrix = np.arange(130, dtype=kind).reshape(13, 10)
    cut, own = Subwords(minn=3, maxn=4, buckets=10), np.arange(3, dtype=np.int32)
    rows = SubwordRows(cut, matrix, own, first_bucket=3)
    print(rows.vectors(words).tobytes().hex())
"""
    assert with_jit(code) == without_jit(code) != ""


def test_the_compiler_is_loaded_late() -> None:
    code = "import sys, unhot.vectors.subword_vectors; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_infinite_numbers_of_a_file_are_no_warning():
    matrix = np.array([[np.inf, 1], [-np.inf, 3e38], [0, 3e38]], np.float32)
    cut = Subwords(minn=1, maxn=1, buckets=2)
    rows = SubwordRows(cut, matrix, np.zeros(1, np.int32), first_bucket=1)
    np.testing.assert_array_equal(rows.composed(np.array([0, 1, 2])), np.array([np.nan, np.inf], np.float32))
