"""Parts of a text for the partitioned softmax, batches, and chunks that are cut where parts begin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.shards import Shard
from unhot.kernels.window_lists import WindowList
from unhot.outputs import parse_output
from unhot.train.chunked_text import TextParts
from unhot.train.schedule import text_chunks
from unhot.train.torch_batches import centre_pairs, context_bags, context_pairs


class Text:
    """A corpus without words."""

    def __init__(self, *shards):
        self.shards = [Shard(np.array(ids, np.int32), np.array([0, len(ids)], np.int64)) for ids in shards]


shards = st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=60), min_size=1, max_size=3)


@given(shards, st.integers(1, 10))
def test_every_chunk_has_the_words_of_its_part(ids, size):
    text = Text(*ids)
    parts = TextParts(text, size)
    chunks = text_chunks([s.ids.size for s in text.shards], 8, cuts=parts.cuts)
    assert [chunk.number for chunk in chunks] == list(range(len(chunks)))
    assert [w for chunk in chunks for w in ids[chunk.shard][chunk.start : chunk.stop]] == [
        w for shard in ids for w in shard
    ]
    for chunk in chunks:
        words = set(parts.words(chunk).tolist())
        assert set(ids[chunk.shard][chunk.start : chunk.stop]) <= words
        assert len(words) <= size
    for after, before in zip(chunks[1:], chunks[:-1], strict=True):
        assert after.done == before.done + before.stop - before.start


def test_a_part_may_be_longer_than_a_chunk():
    text = Text(np.arange(2000) % 3)
    parts = TextParts(text, 3)
    chunks = text_chunks([s.ids.size for s in text.shards], 8, cuts=parts.cuts)
    assert len(chunks) == 4
    assert all(parts.words(chunk).tolist() == [0, 1, 2] for chunk in chunks)


def test_examples_of_windows():
    windows = WindowList(
        np.array([7, 8], np.int32), np.array([1, 2, 3], np.int32), np.array([0, 1, 3], np.int64)
    )
    assert [part.tolist() for part in (centre_pairs(windows).ids, centre_pairs(windows).target)] == [
        [1, 2, 3],
        [7, 8, 8],
    ]
    assert [part.tolist() for part in (context_pairs(windows).ids, context_pairs(windows).target)] == [
        [7, 8, 8],
        [1, 2, 3],
    ]
    assert context_bags(windows).target.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("spec", "least", "most"),
    [
        ("negative:k=5", 6 * 512 * 100 * 4, 3e6),
        ("softmax:chunk=0", 512 * 10_000 * 4, 1e8),
        ("softmax:chunk=64", 512 * 10_000 * 4, 1e8),  # all scores fit into 32 MiB
        ("in_batch", 512 * 512 * 4, 1e7),
        ("mixed:k=50", 512 * 50 * 100 * 4, 5e7),
        ("partition:size=100", 512 * 100 * 4, 6e6),
        ("infrequent:gamma=0.01", 512 * 100 * 4, 6e6),
        ("adaptive", 512 * 8000 * 4, 1e8),
        ("differentiated", 3 * 512 * 10_000 * 4, 1e8),
        ("negative:k=5,unique=true", 512 * 10_000 * 8, 2e8),
    ],
)
def test_the_memory_of_a_batch(spec, least, most):
    assert least < parse_output(spec).batch_memory(np.ones(10_000, np.int64), 100, 512) < most
