"""The windows of a chunk and of several shards against `pairs`, the definition in plain Python."""

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import with_jit, without_jit

from unhot.corpus.corpus import Corpus
from unhot.corpus.pairing import pairs
from unhot.corpus.shards import Shard
from unhot.evaluate.held_out import HeldOutText, read_windows
from unhot.kernels.chunk import one_piece
from unhot.kernels.rng import stream_key
from unhot.kernels.window_lists import list_windows, window_buffer
from unhot.kernels.windows import Text, Window, keep_threshold
from unhot.vocab.vocabulary import Vocabulary

WORDS = 6


def chunk_pairs(sentences, keep, window, shrink, cuts, seed=1):
    """(centre, context) of a text with chunks cut at the given positions, in the order they are written."""
    shard, key = as_shard(sentences), stream_key(seed, 0, 0)
    ids, starts = shard.ids, shard.starts
    text = Text(ids, starts, keep_threshold(keep))
    edges = sorted({0, len(ids), *(c for c in cuts if c < len(ids))})
    buffer = window_buffer(len(ids), window)  # one for all chunks, as in training
    found = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        where = one_piece(start, stop, key, key)
        some = list_windows(text, Window(window, shrink), where, buffer)
        assert some.starts.size == some.centres.size + 1
        assert some.starts[0] == 0
        assert some.starts[-1] == some.contexts.size
        assert (np.diff(some.starts) > 0).all()
        found += zip(
            np.repeat(some.centres, np.diff(some.starts)).tolist(), some.contexts.tolist(), strict=True
        )
    return found


def as_shard(sentences):
    starts = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return Shard(np.array([word for sentence in sentences for word in sentence], np.int32), starts)


def expected_pairs(sentences, keep, window, shrink, seed=1):
    position, expected = 0, []
    for sentence in sentences:
        expected += pairs(sentence, window=window, shrink=shrink, keep=keep, seed=seed, position=position)
        position += len(sentence)
    return expected


def expected_windows(shards, window, keep, seed):
    """(centre, its contexts) of all centres that have some."""
    position = 0
    for sentence in (sentence for shard in shards for sentence in shard):
        places = list(range(len(sentence)))  # told apart by place, kept by word
        chances = [keep[word] for word in sentence]
        found = {}
        for centre, context in pairs(
            places, window=window.size, shrink=window.shrink, keep=chances, seed=seed, position=position
        ):
            found.setdefault(centre, []).append(sentence[context])
        yield from ((sentence[centre], contexts) for centre, contexts in found.items())
        position += len(sentence)


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


@given(
    st.lists(texts, min_size=1, max_size=3),
    st.builds(Window, st.integers(1, 6), st.booleans(), st.just(0), st.just(False)),
    st.lists(st.floats(0.1, 1), min_size=WORDS, max_size=WORDS),
    st.integers(0, 2**63),
    st.integers(1, 200),
)
def test_the_windows_of_several_shards_are_those_of_one_text(shards, window, keep, seed, room):
    words = Vocabulary([f"w{i}" for i in range(WORDS)], np.ones(WORDS, np.int64))
    corpus = Corpus(Path("none"), words, [as_shard(shard) for shard in shards], report=None)
    text = HeldOutText(corpus, window, np.array(keep), seed)
    found, positions = [], []
    for windows, done in read_windows(text, room):
        positions.append(done)
        sizes = np.diff(windows.starts)
        assert windows.contexts.size <= max(room, 2 * window.size)
        assert windows.contexts.size == sizes.sum()
        ends = windows.starts[1:]
        contexts = (
            windows.contexts[end - size : end].tolist() for end, size in zip(ends, sizes, strict=True)
        )
        found += zip(windows.centres.tolist(), contexts, strict=True)
    assert found == list(expected_windows(shards, window, keep, seed))
    assert positions[-1] == sum(shard.ids.size for shard in corpus.shards)


def test_the_same_without_the_compiler():
    code = """
import numpy as np
from tests.kernels.test_window_lists import WORDS, chunk_pairs, expected_pairs
sentences = [[0, 1, 2, 1, 1, 3], [5], [4, 4, 2, 0, 5, 1, 3]]
given = (sentences, np.linspace(0.5, 1, WORDS), 3, True)
assert chunk_pairs(*given, [4, 9]) == expected_pairs(*given) != []
print(chunk_pairs(*given, [4, 9]))
"""
    assert with_jit(code) == without_jit(code)
