"""Bookings, rejections and types of users in a log."""

import numpy as np
import pytest

from unhot.errors import DataError
from unhot.logs.encoding import read_log
from unhot.logs.log import Log

ROWS = [
    {"u": "ann", "i": "a", "t": 1, "s": 1, "b": "0", "r": "", "k": "new"},
    {"u": "ann", "i": "b", "t": 2, "s": 1, "b": "yes", "r": "False", "k": "new"},
    {"u": "bob", "i": "a", "t": 3, "s": 2, "b": None, "r": "1", "k": "old"},
    {"u": "bob", "i": "a", "t": 4, "s": 2, "b": 1, "r": "no", "k": "old"},
    {"u": "ann", "i": "c", "t": 5, "s": 3, "b": True, "r": "x", "k": ""},
]
NAMED = {"user": "u", "item": "i", "time": "t", "booked": "b", "rejected": "r", "user_type": "k"}


def test_marks_stand_beside_events(tmp_path):
    log = read_log(ROWS, **NAMED, session="s", directory=tmp_path / "log")
    assert log.marks.tolist() == [0, 1, 2, 1, 3]
    assert [log.types.words[k] if k >= 0 else None for k in log.type_of] == ["new", "old", None]
    again = Log.open(tmp_path / "log")
    assert again.marks.tolist() == log.marks.tolist()
    assert again.type_of.tolist() == log.type_of.tolist()
    part = log.part(np.array([1, 4, 5]))
    assert part.marks.tolist() == [0, 2, 1, 3]


def test_marks_follow_the_order_of_time_and_of_users():
    log = read_log(ROWS[::-1], **NAMED)
    assert log.marks.tolist() == [0, 1, 3, 2, 1]
    assert read_log(ROWS, **NAMED, core=2).marks.tolist() == [2, 1]  # only bob and item a are left


def test_merged_events_have_all_marks():
    log = read_log(ROWS, **NAMED, session="s", repeats="merge")
    assert log.marks.tolist() == [0, 1, 3, 3]


def test_a_log_without_marks_has_none():
    log = read_log([("u", "a"), ("u", "b")])
    assert log.marks.size == 0
    assert log.type_of.tolist() == [-1]
    assert len(log.types) == 0


def test_a_column_that_is_missing():
    with pytest.raises(DataError, match="booked='x'"):
        read_log(ROWS, user="u", item="i", booked="x")
