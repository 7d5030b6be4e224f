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
from unhot.kernels.windows import (
    AFTER,
    BEFORE,
    Text,
    Window,
    fill_inputs,
    keep_threshold,
    keep_words,
    kept_buffer,
)

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


def kernel_pairs(sentences, keep, window, shrink, cuts, seed=1, **how):
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
        n, places = chunk_pairs(text, where, Window(window, shrink, **how), kept, inputs, out)
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


@given(
    st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=20), min_size=1, max_size=4),
    st.integers(1, 7),
    st.lists(st.integers(1, 60), max_size=4),
)
def test_a_centre_may_see_one_side_only(sentences, window, cuts):
    before = Counter()
    for sentence in sentences:
        for at, centre in enumerate(sentence):
            before.update((centre, word) for word in sentence[max(0, at - window) : at])
    keep = np.ones(WORDS)
    assert kernel_pairs(sentences, keep, window, False, cuts, sides=BEFORE) == before
    after = kernel_pairs(sentences, keep, window, False, cuts, sides=AFTER)
    assert after == Counter({(word, centre): n for (centre, word), n in before.items()})


@given(
    st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=20), min_size=1, max_size=4),
    st.lists(st.integers(1, 60), max_size=4),
    st.integers(0, 2**63),
)
def test_a_mixed_sentence_has_the_same_words_however_it_is_cut(sentences, cuts, seed):
    keep = np.ones(WORDS)
    whole = kernel_pairs(sentences, keep, 20, False, cuts, seed, mixed=True)
    assert whole == kernel_pairs(sentences, keep, 20, False, [], seed)  # all pairs: the order does not matter
    narrow = kernel_pairs(sentences, keep, 1, False, cuts, seed, mixed=True)
    assert narrow == kernel_pairs(sentences, keep, 1, False, [], seed, mixed=True)
    assert sum(narrow.values()) == sum(2 * (len(sentence) - 1) for sentence in sentences)


def test_the_order_of_a_mixed_sentence_follows_from_the_seed():
    sentence = [list(range(WORDS))]
    orders = {
        tuple(sorted(kernel_pairs(sentence, np.ones(WORDS), 1, False, [], seed, mixed=True)))
        for seed in range(20)
    }
    assert len(orders) > 10


def test_the_number_of_a_sentence_stands_at_its_first_word():
    text = Text(np.arange(WORDS, dtype=np.int32), np.array([0, 1, 4, WORDS]), keep_threshold(np.ones(WORDS)))
    kept, where = kept_buffer(WORDS, 2), one_piece(2, WORDS, stream_key(1, 0, 0), stream_key(1, 0, 0))
    lines = np.full(WORDS, -1)
    line_of(text, where, Window(2, False), kept, lines)
    assert lines.tolist() == [-1, -1, 1, 1, 2, 2]


@kernel
def line_of(text, where, window, kept, lines):
    """The line of each centre, by its word."""
    for centre in range(window.size, keep_words(text, where, window, kept)):
        if kept.reach[centre] > 0:
            lines[kept.word[centre]] = kept.line[kept.begin[centre]]
