"""Character n-grams: fastText's and floret's own values, and a plain definition in Python."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from grids import examples
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError
from unhot.vocab.subwords import Subwords
from unhot.vocab.vocabulary import encode_word

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "fasttext_hashes.json").read_text())
WORDS = st.text(st.characters(exclude_categories=()), max_size=12)


def golden_cases():
    for case in GOLDEN["cases"]:
        yield pytest.param({**case, "minn": 3, "maxn": 6, "buckets": 2_000_000}, id=case["utf8_hex"][:20])
    for case in GOLDEN["other_ranges"]:
        yield pytest.param(case, id=f"{case['name']}-{case['minn']}-{case['maxn']}-{case['buckets']}")


@pytest.mark.parametrize("case", list(golden_cases()))
def test_pieces_and_buckets_are_those_of_fasttext(case):
    subwords = Subwords(minn=case["minn"], maxn=case["maxn"], buckets=case["buckets"])
    word = bytes.fromhex(case["utf8_hex"]).decode() if "utf8_hex" in case else case["name"]
    assert subwords.ngrams(word) == case["ngrams"]
    assert subwords.ids(word).tolist() == case["bucket"]


def test_the_end_of_a_line_has_no_pieces():
    assert Subwords().ngrams("</s>") == []
    assert Subwords().ids("</s>").size == 0
    assert Subwords(scheme="floret").ngrams("</s>")[0] == "<</s>>"  # floret knows no such exception


def fnv(raw, buckets):
    state = 2166136261
    for byte in raw:
        state = ((state ^ (byte | (0xFFFFFF00 if byte > 127 else 0))) * 16777619) % 2**32
    return state % buckets


@examples(100)
@given(st.lists(WORDS, max_size=5), st.integers(1, 4), st.integers(0, 4), st.integers(1, 10_000))
def test_all_words_at_once_as_one_by_one(words, minn, more, buckets):
    subwords = Subwords(minn=minn, maxn=minn + more, buckets=buckets)
    starts, ids = subwords.bags(words)
    for i, word in enumerate(words):
        mine = ids[starts[i] : starts[i + 1]].tolist()
        assert mine == subwords.ids(word).tolist()
        assert mine == [fnv(encode_word(piece), buckets) for piece in subwords.ngrams(word)]


@given(st.lists(WORDS, max_size=5), st.integers(1, 60), st.integers(1, 3))
def test_with_sums_a_word_has_a_row_once(words, buckets, hashes):
    every = Subwords(minn=1, maxn=3, buckets=buckets, scheme="floret", hashes=hashes)
    once = dataclasses.replace(every, combine="sum")
    bags = once.bags(words)
    for i, word in enumerate(words):
        expected = list(dict.fromkeys(every.ids(word).tolist()))
        assert once.ids(word).tolist() == expected
        assert bags.ids[bags.starts[i] : bags.starts[i + 1]].tolist() == expected
        assert [bucket for _, some in once.cut(word) for bucket in some.tolist()] == expected
        assert [piece for piece, _ in every.cut(word)] == every.ngrams(word)
        assert len({piece for piece, _ in once.cut(word)}) == len(once.cut(word))


def test_bytes_that_are_no_utf8_are_hashed_as_they_are():
    word = b"\x80ab\xff".decode("utf-8", "surrogateescape")
    subwords = Subwords(minn=2, maxn=2, buckets=1000)
    assert [encode_word(piece) for piece in subwords.ngrams(word)] == [b"<\x80a", b"ab", b"b\xff", b"\xff>"]
    assert subwords.ids(word).tolist() == [
        fnv(piece, 1000) for piece in (b"<\x80a", b"ab", b"b\xff", b"\xff>")
    ]


# floret 0.10.5: get_subwords of a model with minn=4, maxn=5, hashCount=2, bucket=500 (row numbers less its 9
# words)
FLORET = {
    "cats": [393, 347, 321, 154, 54, 8, 30, 135, 46, 87, 372, 296],
    "\u00e9\u65e5\u672c\u8a9e\u3067\u3059": [
        315,
        287,
        361,
        46,
        117,
        0,
        464,
        233,
        329,
        464,
        478,
        64,
        244,
        137,
        247,
        428,
        487,
        460,
        43,
        38,
    ],
}


@pytest.mark.parametrize("word", FLORET)
def test_rows_are_those_of_floret(word):
    assert Subwords(minn=4, maxn=5, buckets=500, scheme="floret", hashes=2).ids(word).tolist() == FLORET[word]


def test_long_pieces_take_whole_blocks_of_the_hash():
    subwords = Subwords(minn=30, maxn=40, buckets=2**31 - 1, scheme="floret", hashes=4)
    ids = subwords.bags(["a" * 50, "b"]).ids
    assert ids.min() >= 0
    assert np.unique(ids).size > 4 * 11
    assert Subwords(scheme="floret", minn=0, maxn=0, buckets=500, hashes=2).ids(
        "longwordthatislong"
    ).tolist() == [130, 395]


def test_without_pieces_there_are_none():
    assert Subwords(minn=0, maxn=0, buckets=0).bags(["a", "bc"]).starts.tolist() == [0, 0, 0]
    assert Subwords().bags([]).starts.tolist() == [0]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"minn": 4, "maxn": 3}, "minn=4"),
        ({"minn": 0, "maxn": 3}, "minn=0"),
        ({"buckets": 0}, "buckets=0"),
        ({"buckets": 2**31}, "buckets"),
        ({"scheme": "other"}, "scheme"),
        ({"combine": "max"}, "combine='max': must be one of mean, sum"),
        ({"hashes": 2}, "hashes=2"),
        ({"scheme": "floret", "hashes": 5}, "hashes"),
        ({"scheme": "floret", "seed": -1}, "seed"),
    ],
)
def test_bad_settings_are_named(wrong, named):
    with pytest.raises(ConfigError, match=named):
        Subwords(**wrong)
