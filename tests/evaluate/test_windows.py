"""Windows as arrays against `pairs`, the definition in plain Python."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.pairing import pairs
from unhot.corpus.shards import Shard
from unhot.evaluate.windows import read_windows
from unhot.kernels.windows import Window

WORDS = 5


def as_shard(sentences):
    starts = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return Shard(np.array([word for sentence in sentences for word in sentence], np.int32), starts)


def expected(shards, window, keep, seed):
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


sentences = st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=20), min_size=1, max_size=4)


@given(
    st.lists(sentences, min_size=1, max_size=3),
    st.builds(Window, st.integers(1, 6), st.booleans()),
    st.lists(st.floats(0.1, 1), min_size=WORDS, max_size=WORDS),
    st.integers(0, 2**63),
    st.integers(1, 200),
)
def test_windows_are_those_of_pairs(shards, window, keep, seed, room):
    corpus = SimpleNamespace(shards=[as_shard(shard) for shard in shards])
    found, positions = [], []
    for windows, done in read_windows(corpus, window, np.array(keep), seed, room):
        positions.append(done)
        assert windows.contexts.size <= max(room, 2 * window.size)
        assert windows.contexts.size == windows.sizes.sum()
        ends = np.cumsum(windows.sizes)
        contexts = (
            windows.contexts[end - size : end].tolist() for end, size in zip(ends, windows.sizes, strict=True)
        )
        found += zip(windows.centres.tolist(), contexts, strict=True)
    assert found == list(expected(shards, window, keep, seed))
    assert positions[-1] == sum(shard.ids.size for shard in corpus.shards)
