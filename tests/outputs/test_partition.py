"""Cutting a stream of targets into parts with few different words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.outputs.partition import Part, partitions

TEXTS = st.lists(st.lists(st.integers(0, 12), max_size=30), max_size=8)


def plain(targets, size):
    """One target after the other."""
    out, first, words = [], 0, set()
    for at, word in enumerate(targets):
        if word not in words and len(words) == size:
            out.append((first, at, sorted(words)))
            first, words = at, set()
        words.add(word)
    return [*out, (first, len(targets), sorted(words))] if targets else out


def as_lists(parts):
    return [(first, last, ids.tolist()) for first, last, ids in parts]


@given(TEXTS, st.integers(1, 15))
def test_parts_are_those_of_a_plain_loop_however_the_stream_is_cut(blocks, size):
    whole = [word for block in blocks for word in block]
    expected = plain(whole, size)
    assert as_lists(partitions(np.array(whole, np.int32), size)) == expected
    assert as_lists(partitions((np.array(block, np.int64) for block in blocks), size)) == expected
    assert as_lists(partitions([[word] for word in whole], size)) == expected


def test_a_long_text():
    text = np.random.default_rng(0).zipf(1.2, 50_000) % 3000
    for size in (7, 400, 3000, 10**9):
        assert as_lists(partitions(text.astype(np.uint16), size)) == plain(text.tolist(), size)


def test_parts_come_as_the_stream_goes():
    """The first part is known at its end, not at the end of the text."""

    def stream():
        yield np.array([1, 2, 3])
        raise RuntimeError("too far")

    part = next(partitions(stream(), 2))
    assert isinstance(part, Part)
    assert part.ids.dtype == np.int32
    assert as_lists([part]) == [(0, 2, [1, 2])]


def test_the_time_is_linear():
    """Each target is looked at twice at most, whatever the parts are: counted, as clocks vary."""
    looked = 0

    class Counted(np.ndarray):
        def __getitem__(self, key):
            nonlocal looked
            out = super().__getitem__(key)
            looked += out.size if isinstance(key, slice) and key.step is None else 0
            return out

    text = np.arange(10_000) % 1000
    assert len(list(partitions([text.view(Counted)], 100))) == 100
    assert looked <= 3 * text.size


@pytest.mark.parametrize("targets", [[[-1]], [[0.5]], [[[1, 2]]], [3], [[2**31]], [["a"]]])
def test_what_is_no_target_is_named(targets):
    with pytest.raises(DataError, match="must be arrays of ids"):
        list(partitions([np.array(block) for block in targets], 2))


@pytest.mark.parametrize("size", [0, 1.5, "a"])
def test_bad_sizes_are_named_before_the_text_is_read(size):
    with pytest.raises(ConfigError, match="size="):
        partitions(iter([]), size)
