"""Splits: what is train, validation and test, and which questions are asked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.logs.encoding import read_log
from unhot.logs.splitting import SPLITS, last_cases, split_log

ROWS = [("u", "abcd"), ("v", "xy"), ("w", "pqr")]
LOG = [(user, item, 10 * n + i) for n, (user, items) in enumerate(ROWS) for i, item in enumerate(items)]


def text(log):
    ids, starts = log.ids_of_lines, log.starts
    return ["".join(log.items.words[i] for i in ids[a:b]) for a, b in zip(starts, starts[1:], strict=False)]


def asked(cases):
    """Questions as strings: what is known, and what comes next."""
    words = cases.item_words
    return [
        ("".join(words[i] for i in cases.ids[begin:end]), words[target])
        for begin, end, target in zip(cases.begins, cases.ends, cases.targets, strict=True)
    ]


def test_leave_last_out():
    log = read_log(LOG)
    split = split_log(log, "leave-last-out")
    assert text(log.part(split.train)) == ["ab", "xy", "p"]
    assert text(log.part(split.validation)) == ["abc", "xy", "pq"]
    assert asked(split.cases("validation")) == [("ab", "c"), ("p", "q")]
    assert asked(split.cases("test")) == [("abc", "d"), ("pq", "r")]
    users = split.cases("test").users
    assert [log.users.words[user] for user in users] == ["u", "w"]
    assert split.cases("test").lines.tolist() == [0, 2]


def test_leave_last_out_without_a_test():
    log = read_log(LOG)
    split = split_log(log, "leave-last-out", test=False)
    assert text(log.part(split.train)) == ["abc", "x", "pq"]
    assert split.cases("test").ends.size == 0


def test_by_time():
    log = read_log(LOG)  # times 0 1 2 3, 10 11, 20 21 22
    split = split_log(log, "time", 0.2)  # 0.2 of nine events: the test begins at 21, validation at 11
    assert text(log.part(split.train)) == ["abcd", "x"]
    assert text(log.part(split.validation)) == ["abcd", "xy", "p"]
    assert asked(split.cases("validation")) == [("x", "y")]  # p has nothing before it
    assert asked(split.cases("test")) == [("p", "q"), ("pq", "r")]
    with pytest.raises(DataError, match="no times"):
        split_log(read_log([row[:2] for row in LOG]), "time")


def test_by_session():
    log = read_log(LOG)
    split = split_log(log, "session", 0.33)
    assert text(log.part(split.train)) == ["abcd", "xy"]
    split = split_log(log, "session", 0.4)
    assert text(log.part(split.train)) == ["abcd"]
    assert asked(split.cases("validation")) == [("x", "y")]
    assert asked(split.cases("test")) == [("p", "q"), ("pq", "r")]


def test_none_holds_nothing_out():
    split = split_log(read_log(LOG), "none")
    assert split.cases("test").ends.size == split.cases("validation").ends.size == 0


@given(
    st.lists(
        st.tuples(st.sampled_from("uvwx"), st.sampled_from("abcde"), st.integers(0, 30)),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(SPLITS),
    st.floats(0.01, 0.49),
)
def test_nothing_is_lost_and_nothing_comes_from_the_future(rows, how, share):
    log = read_log(rows)
    split = split_log(log, how, share)
    starts, stops = log.starts[:-1], log.starts[1:]
    assert (starts <= split.train).all()
    assert (split.train <= split.validation).all()
    assert (split.validation <= stops).all()
    for part, edge in (("validation", split.train), ("test", split.validation)):
        cases = split.cases(part)
        assert (cases.ends >= edge[cases.lines]).all()
        assert (cases.begins < cases.ends).all()
        if how == "time":  # across lines, too: all that is learned from is older than what is asked
            learned = [log.times[a:b].max(initial=-1) for a, b in zip(starts, edge, strict=True)]
            assert max(learned) < log.times[cases.ends].min(initial=99)


def test_a_sample_of_cases():
    cases = split_log(read_log([("u", f"i{n}", n) for n in range(100)]), "time", 0.4).cases("test")
    some = cases.sample(7)
    assert some.ends.size == 7
    assert set(asked(some)) <= set(asked(cases))
    assert cases.sample(1000) is cases


def test_prefixes():
    log = read_log([["a", "b", "c"], ["x"], ["p", "q"]], format="sessions")
    assert asked(last_cases(log)) == [("ab", "c"), ("p", "q")]
    with pytest.raises(DataError, match="two items"):
        last_cases(read_log([["a"]], format="sessions"))


def test_nonsense_is_refused():
    log = read_log(LOG)
    for how, share in (("x", 0.1), ("time", 0), ("time", 0.5), ("session", float("nan"))):
        with pytest.raises(ConfigError):
            split_log(log, how, share)
    with pytest.raises(ConfigError):
        split_log(log, "none").cases("train")


def test_only_the_last_session_of_a_user_is_tested():
    rows = [
        ("u", item, time)
        for item, time in zip("abcxyzw", (0, 10, 20, 90000, 90010, 90020, 90030), strict=True)
    ]
    log = read_log(rows, gap=30)
    cut = split_log(log, "leave-last-out")
    with log.part(cut.train) as train:
        assert sorted(train.items.words) == ["a", "b", "c", "x", "y"]
    cases = cut.cases("test")
    assert [log.items.words[i] for i in cases.targets] == ["w"]
