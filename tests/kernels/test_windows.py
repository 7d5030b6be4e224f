"""Windows of the kernels against `pairs`, the definition in plain Python."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.pairing import pairs
from unhot.kernels.chunk import one_piece
from unhot.kernels.feeder import inputs_buffer
from unhot.kernels.jit import kernel
from unhot.kernels.rng import stream_key
from unhot.kernels.windows import Text, Window, fill_inputs, keep_threshold, keep_words, kept_buffer

WORDS = 6


@kernel
def chunk_pairs(text, where, window, kept, inputs, out):
    """All (centre, input, multiplicity) of a chunk.

    Returns how many there are and the sum of the places they fill.
    """
    n = places = 0
    stop = keep_words(text, where, window, kept)
    for centre in range(window.size, stop):
        count, times, contexts = fill_inputs(kept, kept.word, centre, inputs, 2)
        places += contexts
        for b in range(count):
            out[n, 0], out[n, 1] = kept.word[centre], inputs.row[b]
            out[n, 2] = np.int32(inputs.times[times + b])
            n += 1
        for b in range(count, count + 2):  # the padding of the blocks
            out[-1, 0] += np.int32(inputs.times[times + b] != 0) + np.int32(
                inputs.row[0] != inputs.row[count]
            )
    return n, places


def kernel_pairs(sentences, keep, window, shrink, cuts, seed=1):
    """The pairs of a text whose chunks are cut at the given positions, with multiplicities."""
    ids = np.array([w for s in sentences for w in s], np.int32)
    starts = np.cumsum([0, *(len(s) for s in sentences)]).astype(np.int64)
    text, key = Text(ids, starts, keep_threshold(keep)), stream_key(seed, 0, 0)
    edges = sorted({0, len(ids), *(c for c in cuts if c < len(ids))})
    found = Counter()
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        out = np.zeros((len(ids) * 2 * window + 1, 3), np.int32)
        where = one_piece(start, stop, key, key)
        kept, inputs = kept_buffer(stop - start, window), inputs_buffer(2 * window)
        n, places = chunk_pairs(text, where, Window(window, shrink), kept, inputs, out)
        assert out[-1, 0] == 0
        assert places == out[:n, 2].sum()
        for centre, word, times in out[:n].tolist():
            found[centre, word] += times
    return found


def expected_pairs(sentences, keep, window, shrink, seed=1):
    position, expected = 0, Counter()
    for sentence in sentences:
        expected.update(
            pairs(sentence, window=window, shrink=shrink, keep=keep, seed=seed, position=position)
        )
        position += len(sentence)
    return expected


@given(
    st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=30), min_size=1, max_size=5),
    st.lists(st.floats(0.1, 1), min_size=WORDS, max_size=WORDS),
    st.integers(1, 7),
    st.booleans(),
    st.lists(st.integers(1, 60), max_size=6),
    st.integers(0, 2**63),
)
def test_chunks_cut_anywhere_give_the_pairs_of_the_text(sentences, keep, window, shrink, cuts, seed):
    assert kernel_pairs(sentences, keep, window, shrink, cuts, seed) == expected_pairs(
        sentences, keep, window, shrink, seed
    )


def test_a_wide_window_over_one_long_sentence():
    sentence = np.random.default_rng(0).integers(0, WORDS, 500).tolist()
    keep = np.full(WORDS, 0.8)
    assert kernel_pairs([sentence], keep, 40, True, range(0, 500, 7)) == expected_pairs(
        [sentence], keep, 40, True
    )


def test_a_word_repeated_around_itself():
    # the centre is no input of itself, but the same word elsewhere is; counted by hand
    assert kernel_pairs([[1, 1, 1, 2, 1]], np.ones(WORDS), 2, False, []) == {(1, 1): 8, (1, 2): 3, (2, 1): 3}


@pytest.mark.parametrize("probability", [0.01, 0.3, 1.0])
def test_tokens_survive_as_often_as_they_should(probability):
    n = 20_000
    found = kernel_pairs([[0] * n], np.array([probability] + [1.0] * (WORDS - 1)), 1, False, [])
    kept = found[0, 0] / 2 + 1
    assert kept == pytest.approx(
        n * probability, abs=4.5 * np.sqrt(n * probability * (1 - probability)) + 1e-9
    )
