"""The vocabulary: order, lookup, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vocab.vocabulary import UnknownWord, Vocabulary, canonical, decode_word, decode_words, encode_word

WORDS = st.text(st.characters(exclude_categories=()), max_size=6)  # lone surrogates too
COUNTS = st.dictionaries(WORDS, st.integers(0, 5), max_size=12)


def raw(word: str) -> bytes:
    out = b""
    for c in word:
        n = ord(c)
        out += bytes([n - 0xDC00]) if 0xDC80 <= n <= 0xDCFF else c.encode("utf-8", "surrogatepass")
    return out


@given(WORDS)
def test_every_string_has_bytes(word):
    assert encode_word(word) == raw(word)
    assert encode_word(decode_word(raw(word))) == raw(word)
    assert canonical(word) == decode_word(raw(word))


@given(st.lists(st.binary(max_size=5), max_size=6))
def test_decode_words_is_decode_word_for_each(raws):
    assert decode_words(raws) == [decode_word(r) for r in raws]


@given(COUNTS, st.integers(1, 3), st.none() | st.integers(1, 4))
def test_from_counts_orders_and_cuts(counts, min_count, max_vocab):
    merged = {}
    for word, count in counts.items():
        merged[raw(word)] = merged.get(raw(word), 0) + count
    expected = sorted(((-n, w) for w, n in merged.items() if n >= min_count))[:max_vocab]
    vocabulary = Vocabulary.from_counts(counts, min_count=min_count, max_vocab=max_vocab)
    assert [encode_word(w) for w in vocabulary] == [w for _, w in expected]
    assert vocabulary.counts.tolist() == [-n for n, _ in expected]
    assert vocabulary.counts.dtype == np.int64
    assert vocabulary.is_ordered()
    assert [vocabulary.id(w) for w in vocabulary.words] == list(range(len(vocabulary)))


@given(COUNTS)
def test_any_word_survives_the_file(tmp_path_factory, counts):
    path = tmp_path_factory.mktemp("v") / "vocab.txt"
    vocabulary = Vocabulary.from_counts(counts)
    vocabulary.save_words(path)
    assert path.read_bytes().count(b"\n") == len(vocabulary)
    assert Vocabulary.load(path, vocabulary.counts) == vocabulary


def test_file_is_one_raw_word_a_line(tmp_path):
    Vocabulary(["caf\xe9", "\udcff", "a\nb\r\\n"], [3, 2, 1]).save_words(tmp_path / "v")
    assert (tmp_path / "v").read_bytes() == b"caf\xc3\xa9\n\xff\na\\nb\\r\\\\n\n"


def test_lookup():
    vocabulary = Vocabulary(["b", "a"], [2, 1])
    assert "a" in vocabulary
    assert "c" not in vocabulary
    with pytest.raises(UnknownWord, match=r"^'c' is not among the 2 words"):
        vocabulary.id("c")
    with pytest.raises(KeyError):
        vocabulary.id("c")
    with pytest.raises(DataError):
        vocabulary.id("c")


@pytest.mark.parametrize(
    ("words", "counts", "ordered"),
    [
        (["b", "a"], [2, 1], True),
        (["a", "b"], [1, 1], True),
        (["b", "a"], [1, 1], False),
        (["a", "a"], [1, 1], False),
        (["a", "b"], [1, 2], False),
        (["\U00010000", "\uffff"], [1, 1], False),  # by bytes, not by UTF-16
        ([], [], True),
    ],
)
def test_is_ordered(words, counts, ordered):
    assert Vocabulary(words, counts).is_ordered() is ordered


def test_refusals():
    with pytest.raises(DataError, match="one count for each word"):
        Vocabulary(["a"], [1, 2])
    with pytest.raises(DataError, match=">= 0"):
        Vocabulary(["a"], [-1])
    with pytest.raises(DataError, match="'a' occurs twice"):
        Vocabulary(["a", "b", "a"], [1, 1, 1]).id("a")
    with pytest.raises(DataError, match="type int: words must be str"):
        Vocabulary.from_counts({7: 1})
    for count in (-1, 1.5, "1", True, 2**63):
        with pytest.raises(DataError, match="whole number"):
            Vocabulary.from_counts({"a": count})
    for limits in ({"min_count": 0}, {"max_vocab": 0}):
        with pytest.raises(ConfigError, match="must be >= 1"):
            Vocabulary.from_counts({"a": 1}, **limits)


@pytest.mark.parametrize(
    ("data", "counts", "message"),
    [
        (b"a\nb", [2, 1], "byte 3: the last line has no line end"),
        (b"a\nb\n", [1], "2 words, but 1 counts"),
        (b"a\\x\n", [1], "unknown escape"),
        (b"a\\\n", [1], "unknown escape"),
        (b"a\n", [-1], "its count is -1"),
    ],
)
def test_damaged_files(tmp_path, data, counts, message):
    (tmp_path / "v").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        Vocabulary.load(tmp_path / "v", counts)


def test_repr_and_equality():
    vocabulary = Vocabulary(["a", "b", "c", "d"], [4, 3, 2, 1])
    assert repr(vocabulary) == "Vocabulary(4 words, 10 tokens: 'a', 'b', 'c', ...)"
    assert vocabulary != Vocabulary(["a", "b", "c", "d"], [4, 3, 2, 2])
    assert vocabulary != ["a"]


def test_a_missing_file(tmp_path):
    with pytest.raises(FormatError, match=r"v: byte 0: cannot be read \(No such file"):
        Vocabulary.load(tmp_path / "v", [1])
