"""The examples of a chunk against `corpus_pairs`, the definition in plain Python."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unhot.corpus.pairing import pairs
from unhot.kernels.pairs import examples, places_buffer
from unhot.kernels.rng import stream_key
from unhot.kernels.windows import Chunk, Hot, Text, Window, keep_threshold

WORDS = 6


def chunk_pairs(sentences, keep, window, shrink, cuts, seed=1):
    """(centre, context) of a text whose chunks are cut at the given positions, in the order they are written."""
    ids = np.array([w for s in sentences for w in s], np.int32)
    starts = np.cumsum([0, *(len(s) for s in sentences)]).astype(np.int64)
    text, key = Text(ids, starts, keep_threshold(keep)), stream_key(seed, 0, 0)
    edges = sorted({0, len(ids), *(c for c in cuts if c < len(ids))})
    places = places_buffer(len(ids), window)  # one for all chunks, as in training
    found = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        sentence = int(np.searchsorted(starts, start, side="right")) - 1
        chunk = Chunk(
            start, stop, sentence, key, key, np.float32(0), Hot(0, 0, 0, 0, 0, 0), np.zeros(0, np.uint8)
        )
        some = examples(text, Window(window, shrink), chunk, places)
        assert some.starts.size == some.centre.size + 1
        assert some.starts[0] == 0
        assert some.starts[-1] == some.context.size
        assert (np.diff(some.starts) > 0).all()
        found += zip(
            np.repeat(some.centre, np.diff(some.starts)).tolist(), some.context.tolist(), strict=True
        )
    return found


def expected_pairs(sentences, keep, window, shrink, seed=1):
    position, expected = 0, []
    for sentence in sentences:
        expected += pairs(sentence, window=window, shrink=shrink, keep=keep, seed=seed, position=position)
        position += len(sentence)
    return expected


texts = st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=30), min_size=1, max_size=6)


@given(
    texts,
    st.integers(1, 7),
    st.booleans(),
    st.lists(st.integers(1, 150), max_size=5),
    st.integers(0, 9),
    st.floats(0.1, 1),
)
@settings(deadline=None)
def test_the_pairs_of_the_definition_in_its_order(sentences, window, shrink, cuts, seed, rate):
    keep = np.linspace(rate, 1, WORDS)
    found = chunk_pairs(sentences, keep, window, shrink, cuts, seed)
    assert found == expected_pairs(sentences, keep, window, shrink, seed)


def test_a_chunk_without_pairs():
    assert chunk_pairs([[1], [2]], np.ones(WORDS), 3, True, []) == []


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_the_same_without_the_compiler(disabled):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np; from test_pairs import *;"
        "sentences = [[0, 1, 2, 1, 1, 3], [5], [4, 4, 2, 0, 5, 1, 3]];"
        "given = (sentences, np.linspace(0.5, 1, WORDS), 3, True);"
        "assert chunk_pairs(*given, [4, 9]) == expected_pairs(*given) != []"
    )
    folder = os.path.dirname(__file__)  # noqa: PTH120
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
    subprocess.run(
        [sys.executable, "-W", "error", "-c", code, folder], check=True, env=environment, timeout=120
    )
