"""Text to float32: every decimal to its nearest float32, against exact fractions.

Rows of words and numbers.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.types import Floats
from unhot.vectors.formats import numbers
from unhot.vectors.formats.numbers import DONE, HARD, POWERS, ROW, SHORT, nearest, read_rows

# half way between the largest float32 and the next there would be
BEYOND = Fraction(2) ** 128 - Fraction(2) ** 103
ODD = "1e-05 -.5 5. +1 0 -0 00012.50 1E3 1e+3 1e-45 7e-46 1e-46 3.4028235e38 1.17549435e-38 1.1754942e-38 "
ODD += "0.1e1 16777217 16777219"


def exact(text: str) -> float:
    """The nearest float32 in whole numbers: ties to the even one; inf beyond."""
    value = Fraction(Decimal(text))
    size = abs(value)
    if size >= BEYOND:
        return math.inf if value > 0 else -math.inf
    exponent = -149  # of the last bit of the mantissa
    while size >= Fraction(2) ** (exponent + 24):
        exponent += 1
    mantissa = round(size / Fraction(2) ** exponent)  # to even
    return math.copysign(float(mantissa * Fraction(2) ** exponent), -1.0 if text.startswith("-") else 1.0)


def read(line: bytes, dim: int = 1, named: bool = False) -> tuple[int, Floats, bytes]:
    """One row: why the kernel stopped, the numbers, the word."""
    text = np.frombuffer(line, np.uint8)
    vectors, words = np.zeros((1, dim), np.float32), np.zeros((1, 2), np.int64)
    state = np.zeros(4, np.int64)
    stopped = read_rows(text, len(text), vectors, words, named, POWERS, state)
    start, end = words[0]
    return stopped, vectors[0], line[start:end]


def check(text: str, may_be_hard: bool = True) -> None:
    stopped, (value,), _ = read(text.encode())
    expected = exact(text)
    if stopped == DONE:
        assert struct.pack("f", value) == struct.pack("f", expected), text
    else:
        assert may_be_hard, text
        assert stopped == HARD
        assert np.isnan(value)
    if math.isinf(expected):
        assert stopped == HARD
        with pytest.raises(ValueError, match="too large for float32"):
            nearest(text.encode())
    else:
        assert struct.pack("f", nearest(text.encode())) == struct.pack("f", expected), text


@pytest.mark.parametrize("text", ODD.split())
def test_spellings(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    ["0.018613134", "-1.4628192", "1e-07", "0.10257089883089066", "123456789", "2.5e-38", "1" + "0" * 30],
)
def test_ordinary_numbers_are_not_hard(text: str) -> None:
    check(text, may_be_hard=False)


@given(st.integers(0, 2**31 - 2**23 - 1), st.booleans())
def test_shortest_spellings_of_every_float32_come_back(bits: int, negative: bool) -> None:
    value = np.uint32(bits + (negative << 31)).view(np.float32)
    for text in (str(value), format(float(value), ".9g"), format(float(value), ".17e"), repr(float(value))):
        stopped, (found,), _ = read(text.encode())
        found = found if stopped == DONE else np.float32(nearest(text.encode()))
        assert found.tobytes() == value.tobytes(), text


@given(st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,30})([eE][+-]?[0-9]{1,2})?", fullmatch=True))
def test_any_decimal(text: str) -> None:
    check(text)


@given(st.integers(2**23, 2**24 - 1), st.integers(-149, 104), st.integers(-1, 1), st.integers(1, 40))
def test_decimals_at_and_beside_the_middle_of_two_float32(
    mantissa: int, exponent: int, side: int, digits: int
) -> None:
    middle = (2 * mantissa + 1) * Fraction(2) ** (exponent - 1)
    places = max(0, 1 - exponent)
    whole = middle * 10**places  # a binary fraction of n places has n decimal places
    assert whole.denominator == 1
    text = f"{int(whole) * 10**digits + side}e-{places + digits}"
    check(text)


def test_many_random_decimals() -> None:
    rng = np.random.default_rng(3)
    digits = rng.integers(1, 10**17, 20_000)
    exponents = rng.integers(-30, 5, 20_000)
    texts = [f"{digit}e{exponent}" for digit, exponent in zip(digits, exponents, strict=True)]
    line = " ".join(texts).encode()
    stopped, values, _ = read(line, dim=len(texts))
    expected = np.array([exact(text) for text in texts[:2000]], np.float32)
    hard = np.isnan(values)
    assert stopped == (HARD if hard.any() else DONE)
    assert hard.sum() < 5
    np.testing.assert_array_equal(values[:2000][~hard[:2000]], expected[~hard[:2000]])
    # float rounds twice, to a double and then: that differs for one decimal in 10^9
    np.testing.assert_array_equal(values[~hard], np.array([np.float32(float(text)) for text in texts])[~hard])


@pytest.mark.parametrize("text", ["nan", "-NaN", "inf", "-Infinity", "1_000"])
def test_what_only_python_reads_is_hard(text: str) -> None:
    assert read(text.encode())[0] == HARD
    np.testing.assert_equal(nearest(text.encode()), float(text))


@pytest.mark.parametrize("text", ["x", ".", "-", "e5", "1e", "1e+", "0x10", "1,5", "--1", "1.2.3", "\u0663"])
def test_what_is_no_number(text: str) -> None:
    assert read(text.encode())[0] == HARD
    if text != "\u0663":
        with pytest.raises(ValueError, match="could not convert"):
            nearest(text.encode())


def test_numbers_without_end() -> None:
    check("0." + "0" * 50_000 + "1")
    check("1" * 39)
    check("0." + "0" * 150_000 + "1e150010")
    check("9" * 5_000)
    check("1" + "0" * 5_000 + "e-5000")
    with pytest.raises(ValueError, match="too large for float32"):
        nearest(b"1e999999999999")
    assert nearest(b"1e-999999999999") == 0.0
    assert read(b"1e-99999999999999999999999999999999999999")[0] == HARD
    assert read(b"0e99999999999999999999999")[1] == 0.0


@pytest.mark.parametrize(
    ("line", "word", "values"),
    [
        (b"a 1 2", b"a", [1, 2]),
        (b"a 1 2 \t \r\n", b"a", [1, 2]),
        (b"a\t1\t2\n", b"a", [1, 2]),
        (b"a   1   2", b"a", [1, 2]),
        (b" 1 2", b"", [1, 2]),
        (b"   1 2", b"  ", [1, 2]),
        (b"New York 1 2", b"New York", [1, 2]),
        (b". . . 1 2", b". . .", [1, 2]),
        (b"7 8 1 2", b"7 8", [1, 2]),
        (b"1 2 3", b"1", [2, 3]),
        (b"a\xff\xc2\xa0b 1 2", b"a\xff\xc2\xa0b", [1, 2]),
    ],
)
def test_rows(line: bytes, word: bytes, values: list[float]) -> None:
    stopped, found, found_word = read(line, 2, named=True)
    assert stopped == DONE
    assert (found_word, found.tolist()) == (word, values)


@pytest.mark.parametrize("line", [b"", b"\n", b"a", b"a 1", b"1 2", b"  ", b"a 1\n2"])
def test_rows_that_are_too_short(line: bytes) -> None:
    assert read(line, 2, named=True)[0] == SHORT


@pytest.mark.parametrize("line", [b"1", b"1\t2\t3", b"a\t1\t2", b""])
def test_rows_without_words(line: bytes) -> None:
    assert read(b"1\t2", 2)[0] == DONE
    assert read(line, 2)[0] == SHORT


def test_state_goes_on_behind_a_hard_row() -> None:
    text = np.frombuffer(b"a 1\nb nan\nc 3\n", np.uint8)
    vectors, words, state = np.zeros((3, 1), np.float32), np.zeros((3, 2), np.int64), np.zeros(4, np.int64)
    assert read_rows(text, len(text), vectors, words, True, POWERS, state) == HARD
    assert state.tolist() == [2, 10, 6, 9]
    assert read_rows(text, len(text), vectors, words, True, POWERS, state) == DONE
    assert state[ROW] == 3
    assert words.tolist() == [[0, 1], [4, 5], [10, 11]]


@given(st.lists(st.sampled_from([b"\n", b" ", b"\r", b"a", b"bc", b"\t"])), st.integers(1, 10))
def test_lines_are_counted_to_the_last_that_is_not_blank(pieces: list[bytes], most: int) -> None:
    text = b"".join(pieces)
    lines = text.split(b"\n")[:most]
    expected = max((row + 1 for row, line in enumerate(lines) if line.strip(b" \t\r")), default=0)
    assert numbers.count_lines(np.frombuffer(text, np.uint8), len(text), most) == expected
