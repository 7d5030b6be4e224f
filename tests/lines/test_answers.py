"""Answers as bytes, against Python's formatting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.lines.answers import AnswerWriter
from unhot.lines.choosing import Chosen

NAMES = ["a", "two words", "\u00e9t\u00e9", "", "\U0001f642" * 30]


def written(found):
    """found: a label and its probability for each line, or None."""
    there = [pair for pair in found if pair is not None]
    starts = np.cumsum([0, *(pair is not None for pair in found)])
    labels = np.array([label for label, _ in there], np.int32)
    chosen = Chosen(starts, labels, np.array([p for _, p in there], np.float64))
    return AnswerWriter([name.encode() for name in NAMES])(chosen)


@given(
    st.lists(
        st.none() | st.tuples(st.integers(0, len(NAMES) - 1), st.floats(0, 1, width=32) | st.just(1.00001))
    )
)
def test_lines(found):
    lines = written(found).decode().split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(found)
    for line, pair in zip(lines, found, strict=True):
        name, number = line.split("\t")
        if pair is None:
            assert (name, number) == ("", "")
            continue
        assert name == NAMES[pair[0]]
        exact = 1e6 * pair[1]
        if abs(exact % 1 - 0.5) > 1e-6:  # halves are rounded up here, to even digits there
            assert number == f"{pair[1]:.6f}"
        else:
            assert float(number) == pytest.approx(pair[1], abs=6e-7)


def test_no_lines():
    assert written([]) == b""
    assert AnswerWriter([])(Chosen(np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0))) == b"\t\n\t\n"
