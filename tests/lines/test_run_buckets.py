"""Hashes of words and runs in compiled code, against those of plain Python's integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.reading.lexicon import spelt
from unhot.kernels.jit import kernel
from unhot.lines.run_buckets import hash_words, inverse_of, next_runs, remainder, run_settings
from unhot.lines.run_hashes import run_hashes, word_hash

WORDS = st.lists(st.text("ab\u00e9\u4e2d\U0001f642\udcff", max_size=6), max_size=9)


def hashes_of(words):
    text, offsets = spelt(words)
    hashes = np.zeros(len(words), np.uint64)
    hash_words(text, offsets, hashes)
    return hashes


@kernel
def put_runs(hashes, runs, states, out):
    open_runs, at = 0, 0
    for word in hashes:
        at = next_runs(runs, states, open_runs, word, out, at)
        open_runs = min(open_runs + 1, runs.longest - 1)
    return at


def all_runs(words, longest, buckets):
    """The buckets of all runs, in the order of their last words."""
    out = np.zeros(100, np.int32)
    size = put_runs(hashes_of(words), run_settings(longest, buckets), np.zeros(longest, np.uint64), out)
    return out[:size].tolist()


@kernel
def put_remainder(numbers, divisor, inverse):
    for i in range(numbers.size):
        numbers[i] = remainder(numbers[i], divisor, inverse)


@given(st.lists(st.integers(0, 2**64 - 1)), st.integers(1, 2**31) | st.sampled_from([1, 2, 3, 2**31]))
def test_remainders_without_a_division(numbers, divisor):
    numbers += [0, divisor - 1, divisor, 2**64 - 1, 2**64 - divisor, (2**64 - 1) // divisor * divisor]
    found = np.array([number % 2**64 for number in numbers], np.uint64)
    put_remainder(found, np.uint64(divisor), inverse_of(divisor))
    assert found.tolist() == [number % 2**64 % divisor for number in numbers]


@given(WORDS)
def test_hashes_of_words_are_sign_extended(words):
    signed = [state - 2**32 if state >= 2**31 else state for state in map(word_hash, words)]
    assert hashes_of(words).tolist() == [state % 2**64 for state in signed]


@given(WORDS, st.integers(2, 5), st.integers(1, 1000))
def test_buckets_of_runs(words, longest, buckets):
    """They come ordered by the last word, in Python by the first."""
    expected = [state % buckets for state in run_hashes(words, longest)]
    assert sorted(all_runs(words, longest, buckets)) == sorted(expected)


def test_without_buckets_there_are_no_runs():
    assert run_settings(3, 0).longest == 1


def test_a_run_depends_on_the_order_of_its_words():
    for words in (["a", "b"], ["b", "a"]):
        signed = [state - 2**32 if state >= 2**31 else state for state in map(word_hash, words)]
        assert all_runs(words, 2, 10**6) == [(signed[0] * 116049371 + signed[1]) % 2**64 % 10**6]
