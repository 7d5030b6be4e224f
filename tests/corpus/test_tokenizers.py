"""Normalisers against Python's own idea of Unicode."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus.reading.separators import PADDING
from unhot.corpus.reading.tokenizers import BLANKS, escaped, normalised, normaliser, unescaped
from unhot.errors import ConfigError
from unhot.vocab.vocabulary import decode_word, encode_word


def run(name: str, raw: bytes) -> bytes:
    text = np.full(len(raw) + PADDING, 0x80, np.uint8)  # a continuation byte behind the end must not be read
    text[: len(raw)] = np.frombuffer(raw, np.uint8)
    out, size = normaliser(name)(text, len(raw), np.empty(0, np.uint8))
    assert size + PADDING <= len(out)
    return out[:size].tobytes()


def words_oracle(raw: bytes) -> bytes:
    out = []
    for c in raw.decode("utf-8", "surrogateescape"):
        kept = "\udc80" <= c <= "\udcff" or c in "\n\0"
        out.append(c if kept else c.lower()[0] if unicodedata.category(c)[0] in "LMN" else " ")
    return "".join(out).encode("utf-8", "surrogateescape") + b" "


DIGITS = dict(zip("0123456789", "zero one two three four five six seven eight nine".split(), strict=True))


def text8_oracle(raw: bytes) -> bytes:
    out = ""
    for c in raw.decode("latin-1"):
        if c.isascii() and c.isalpha():
            out += c.lower()
        else:
            out += f" {DIGITS[c]} " if c in DIGITS else c if c in "\n\0" else " "
    return out.encode() + b" "


@given(st.text().map(lambda s: s.encode("utf-8", "surrogatepass")) | st.binary())
def test_normalisers(raw):
    assert run("words", raw) == words_oracle(raw)
    assert run("text8", raw) == text8_oracle(raw)


@given(
    st.lists(
        st.sampled_from(
            [
                b"\xe0",
                b"\xed",
                b"\xf0",
                b"\xf4",
                b"\xc1",
                b"\xc3",
                b"\x80",
                b"\x8f",
                b"\x90",
                b"\x9f",
                b"\xa0",
                b"\xbf",
                b"a",
            ]
        )
    )
)
def test_broken_utf8_is_kept(parts):
    raw = b"".join(parts)
    assert run("words", raw) == words_oracle(raw)


def words_in(raw: bytes) -> list[bytes]:
    return raw.translate(bytes.maketrans(BLANKS, b" " * len(BLANKS))).split()


@given(
    st.text()
    | st.text("aZ\u00c9\u0130\u01c5\u1e9e\u0301\u00b2\u0667\udcff\ud800\U000e0100 7\n\0-")
    | st.binary().map(decode_word)
)
def test_the_normalisers_in_python_give_the_same_words(text):
    for name in ("words", "text8"):
        assert words_in(encode_word(normalised(text, name))) == words_in(run(name, encode_word(text)))


def test_all_of_unicode_in_python():
    text = " ".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    for name in ("words", "text8"):
        assert words_in(encode_word(normalised(text, name))) == words_in(run(name, text.encode()))


def test_all_of_unicode():
    raw = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000).encode()
    assert run("words", raw) == words_oracle(raw)


def test_lower_case_one_to_one():
    assert run("words", "\u0130 \u03a3\u0391\u03a3 \u1e9e \u023a".encode()).decode().split() == [
        "i",
        "\u03c3\u03b1\u03c3",
        "\xdf",
        "\u2c65",
    ]


def test_growth_is_the_worst_case():
    assert len(run("words", "\u023a".encode() * 500)) == 1501  # two bytes become three
    assert len(run("text8", b"7" * 500)) == 3501


@given(st.binary())
def test_escapes(raw):
    hidden = escaped(raw)
    assert b"\xff" not in hidden
    assert b"\xfe" not in hidden
    assert unescaped(hidden) == raw


def test_unknown_name():
    with pytest.raises(
        ConfigError, match="tokenizer='spacy': must be one of whitespace, words, text8, or a function"
    ):
        normaliser("spacy")
    text = np.arange(9, dtype=np.uint8)
    assert normaliser("whitespace")(text, 5, np.empty(0, np.uint8)) == (text, 5)  # the text itself
