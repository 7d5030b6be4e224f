"""Events of logs from every kind of source, and what happens to bad rows."""

import bz2
import contextlib
import csv
import errno
import gzip
import io
import json
import lzma
import sys
from datetime import UTC, date, datetime
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError
from unhot.logs import events
from unhot.logs.events import read_events
from unhot.logs.log_reading import LogReading
from unhot.rows import records
from unhot.rows.batches import VALUE
from unhot.rows.delimited import MEND_QUOTES
from unhot.rows.numbers import times_of as read_times
from unhot.rows.streams import TextStream
from unhot.rows.values import value_column

CSV = "userId,movieId,rating,timestamp\nu1,i1,4,100\nu2,i2,3.5,200\nu1,i2,1,300\n"
DAY = 86400.0


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def rows(found):
    """Events as tuples of user, item, time, weight, session, as far as there are."""
    users = [found.user_words[user] if user >= 0 else None for user in found.users]
    columns = [users, [found.item_words[item] for item in found.items]]
    columns += [column.tolist() for column in (found.times, found.weights) if column.size]
    if found.sessions.size:
        columns.append([found.session_words[number] for number in found.sessions])
    return [*zip(*columns, strict=True)]


WHOLE = [("u1", "i1", 100, 4), ("u2", "i2", 200, 3.5), ("u1", "i2", 300, 1)]


def read(tmp_path, name, data, **how):
    return read_events(write(tmp_path / name, data), LogReading(**how))


def times_of(tmp_path, *cells):
    text = "user,item,time\n" + "".join(f"u,i,{cell}\n" for cell in cells)
    return read(tmp_path, "x.csv", text).times.tolist()


# formats


@pytest.mark.parametrize("threads", [1, 2])
def test_csv(tmp_path, threads):
    found = read_events(write(tmp_path / "x.csv", CSV), threads=threads)
    assert rows(found) == WHOLE
    assert found.users.tolist() == [0, 1, 0]
    assert found.items.tolist() == [0, 1, 1]
    assert (found.users.dtype, found.times.dtype, found.weights.dtype) == ("int32", "float64", "float32")
    assert found.sessions.size == 0
    assert found.session_words == []
    assert (found.report.rows, found.report.kept) == (3, 3)
    assert found.report.lines() == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.tsv", CSV.replace(",", "\t")),
        ("x.csv", CSV.replace("\n", "\r\n")),
        ("x.csv", "\ufeff\n" + CSV.rstrip("\n")),
        ("x.csv.gz", gzip.compress(CSV.encode(), mtime=0)),
        ("x.csv.bz2", bz2.compress(CSV.encode())),
        ("x.CSV.xz", lzma.compress(CSV.encode())),
        ("x.txt", CSV),  # by its header
        ("x.txt", "User ID\tITEM_ID\tscore\tdate\nu1\ti1\t4\t100\nu2\ti2\t3.5\t200\nu1\ti2\t1\t300\n"),
        ("x.csv", "time,a,sku,b,weight,uid\n100,?,i1,,4,u1\n200,,i2,,3.5,u2\n\n\r\n300,,i2,,1,u1\n"),
        (
            "x.jsonl",
            '{"user": "u1", "item": "i1", "time": 100, "rating": 4}\n\n'
            '{"rating": "3.5", "user": "u2", "item": "i2", "time": "200"}\r\n'
            '{"user": "u1", "item": "i2", "time": 3e2, "rating": 1, "other": [1]}',
        ),
    ],
)
def test_files(tmp_path, name, data):
    assert rows(read(tmp_path, name, data)) == WHOLE


@pytest.mark.parametrize(
    ("name", "data", "how"),
    [
        ("u.data", "1\t2\t3\t100\n5\t2\t4.5\t200\n", {}),
        ("x.tsv", "1\t2\t3\t100\n5\t2\t4.5\t200\n", {}),
        ("ratings.dat.gz", gzip.compress(b"1::2::3::100\r\n5::2::4.5::200\r\n", mtime=0), {}),
        ("x", "1::2::3::100\n5::2::4.5::200\n", {}),
        ("x", 'userId,movieId,rating,timestamp\n"1",2,3,100\n5,2,4.5,200\n', {"format": "movielens"}),
    ],
)
def test_movielens(tmp_path, name, data, how):
    assert rows(read(tmp_path, name, data, **how)) == [("1", "2", 100, 3), ("5", "2", 200, 4.5)]


def test_sessions(tmp_path):
    found = read(tmp_path, "x.txt", "a b a\n\n  c\tb\r\n")
    assert rows(found) == [(None, *pair) for pair in ("a0", "b0", "a0", "c2", "b2")]
    assert found.sessions.tolist() == [0, 0, 0, 1, 1]
    assert found.user_words == []
    assert found.users.tolist() == [-1] * 5
    found = read(tmp_path, "x.txt", "u a b\nv\nu c\n", format="user-sessions")
    assert rows(found) == [("u", "a", "0"), ("u", "b", "0"), ("u", "c", "2")]
    assert found.report.rows == 3


def test_sessions_of_several_files(tmp_path):
    paths = [write(tmp_path / "a.txt", "x y\nz\n"), write(tmp_path / "b.txt", "z w\n")]
    assert rows(read_events(paths)) == [(None, *pair) for pair in zip("xyzzw", "00122", strict=True)]


def test_several_files_are_numbered_together(tmp_path):
    first = write(tmp_path / "a.csv", "user,item\nu,a\nv,b\n")
    second = write(tmp_path / "b.tsv", "item\tuser\nb\tw\nc\tu\n")
    third = write(tmp_path / "c.jsonl", '{"user": "w", "item": "a"}\n{"user": "w"}\n')
    found = read_events([str(first), str(second), third])
    assert rows(found) == [("u", "a"), ("v", "b"), ("w", "b"), ("u", "c"), ("w", "a")]
    assert found.user_words == ["u", "v", "w"]
    assert found.report.examples == [f"{third}: line 2: has no item"]
    with pytest.raises(DataError, match="has the columns user, item, time"):
        read_events([first, write(tmp_path / "d.csv", CSV.replace(",rating", ",x"))])


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CSV.encode())))
    assert rows(read_events("-")) == WHOLE


def test_progress(tmp_path):
    path = write(tmp_path / "x.csv", CSV)
    said = []
    read_events([path, path], progress=lambda *numbers: said.append(numbers))
    assert said[-1] == (2 * len(CSV), 2 * len(CSV))


@pytest.mark.parametrize("error", [OSError(errno.EBADF, "Bad file descriptor"), ValueError("closed file")])
def test_a_file_may_be_closed_while_its_progress_is_told(tmp_path, monkeypatch, error):
    """A thread reads ahead and closes the file at its end, maybe just before its position is asked for."""

    with contextlib.closing(TextStream(write(tmp_path / "x.csv", CSV))) as stream:
        text = b"".join(stream)
        assert stream.position() == len(text) == len(CSV)
        stream._raw.close()
        monkeypatch.setattr(
            stream, "_raw", SimpleNamespace(closed=False, tell=Mock(side_effect=error), close=Mock())
        )
        assert stream.position() == len(CSV)


# columns


def test_named_columns(tmp_path):
    text = "who,what,when,basket,brand,user\na,x,1,s1,B|C,?\nb,y,2,s1,,?\na,y,3,s2,D,?\nc,x,3,s2,E,?\n"
    how = {"user": "who", "item": "what", "time": "when", "session": "basket", "side": ("brand",)}
    found = read(tmp_path, "x.csv", text, **how)
    assert rows(found) == [("a", "x", 1, "s1"), ("b", "y", 2, "s1"), ("a", "y", 3, "s2"), ("c", "x", 3, "s2")]
    assert found.sides == {"brand": {"x": ["B", "C"], "y": ["D"]}}


def test_sessions_need_no_user(tmp_path):
    found = read(tmp_path, "x.csv", "basket,item\n7,x\n7,y\n", session="basket")
    assert rows(found) == [(None, "x", "7"), (None, "y", "7")]
    text = f"user,basket,item\nu,7,x\n,7,y\n  ,8,x\nv,8,x\n{'u' * 5000},8,x\n"
    found = read(tmp_path, "x.csv", text, session="basket")
    assert rows(found) == [("u", "x", "7"), (None, "y", "7"), (None, "x", "8"), ("v", "x", "8")]
    assert found.user_words == ["u", "v"]
    assert found.report.examples == ["line 6: has an id of more than 4,096 bytes"]


@pytest.mark.parametrize(
    ("header", "how", "message"),
    [
        ("who,item", {}, r"no column is called user, .*\(user=, or --user\), or one of.*: who, item|are who"),
        ("user,what", {}, "no column is called item, .*the columns are user, what"),
        ("user,item", {"time": "when"}, "time='when': there is no such column; the columns are user, item"),
        ("user,item", {"side": ("x",)}, "side='x': there is no such column"),
        ("user,item,x,x", {"time": "x"}, "several columns have this name"),
        ("user,item,item", {}, "item='item': several columns have this name"),
        ("user,item", {"min_rating": 3}, "no column is called rating, .*or leave min_rating out"),
        ('"user,item', {}, "line 1: a quote opens a field and is not closed"),
        ('"user"x,item', {}, "its first line is no header"),
    ],
)
def test_columns_that_are_not_there(tmp_path, header, how, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path, "x.csv", f"{header}\n1,2\n", **how)


def test_settings_that_do_not_fit(tmp_path):
    with pytest.raises(ConfigError, match="format='xml'"):
        LogReading(format="xml")
    with pytest.raises(ConfigError, match="as a tuple"):
        LogReading(side="brand")
    with pytest.raises(DataError, match="no such column; the columns are item, session"):
        read(tmp_path, "x.txt", "a b\n", user="x")
    with pytest.raises(DataError, match="no such column; the columns are user, item, rating, time"):
        read(tmp_path, "u.data", "1\t2\t3\t4\n", time="x")
    with pytest.raises(ConfigError, match="format='csv': is for files"):
        read_events([("a", "b")], LogReading(format="csv"))
    with pytest.raises(DataError, match="no such file"):
        read_events(tmp_path / "nothing.csv")


# times and weights


def stamp(*parts):
    return datetime(*parts, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("1600000000", 1600000000),
        ("-1.25", -1.25),
        (".5", 0.5),
        ("7.", 7),
        (" 8 ", 8),
        ("1e3", 1000),
        ("+12", 12),
        ("0.1", 0.1),
        ("123456.789012345678", 123456.789012345678),
        ("00000000000000000000000012", 12),
        ("2010-12-01 08:26:00", stamp(2010, 12, 1, 8, 26)),
        ("2010-12-01T08:26:30Z", stamp(2010, 12, 1, 8, 26, 30)),
        ("2010-12-01", stamp(2010, 12, 1)),
        ("2010-12-01T08:26", stamp(2010, 12, 1, 8, 26)),
        ("2010-12-01 08:26:00.250", stamp(2010, 12, 1, 8, 26) + 0.25),
        ("2010-12-01 08:26:00+02:00", stamp(2010, 12, 1, 6, 26)),
        ("2000-02-29", stamp(2000, 2, 29)),
        ("1969-12-31", -DAY),
        ("0001-01-01", stamp(1, 1, 1)),
    ],
)
def test_times(tmp_path, cell, seconds):
    assert times_of(tmp_path, cell) == [seconds]


def time_of(cell):
    """Read one cell, whatever its unit."""
    faults = {}
    column = value_column("time", [cell], VALUE, faults)
    (found,), (kind,) = read_times(column)
    assert kind
    assert not faults
    return found


@given(st.datetimes(), st.sampled_from(["T", " "]), st.sampled_from(["", "Z", "+00:00"]))
def test_any_date(when, between, zone):
    expected = (when - datetime(1970, 1, 1)).total_seconds()
    assert time_of(when.isoformat(between) + zone) == pytest.approx(expected, abs=1e-4, rel=1e-15)


@given(st.floats(-1e18, 1e18), st.integers(0, 12))
def test_any_number(number, digits):
    text = f"{number:.{digits}f}"
    assert time_of(text) == float(text)
    assert time_of(number) == number


@pytest.mark.parametrize(
    "cell",
    ["", "x", "nan", "inf", "1e999", "1_0", "2010-13-01", "2011-02-29", "2010-12-01 24:01", "1.2.3", "-", "."]
    + [
        "12/1/2010 8:26",
        "\u0663",
        "2010-12-0\u0663",
        "2010-12-01 08:61:00",
        "0000-01-01",
    ],
)
def test_bad_times(tmp_path, cell):
    found = read(tmp_path, "x.csv", f"user,item,time\nu,i,{cell}\nu,j,5\n")
    assert rows(found) == [("u", "j", 5)]
    assert found.item_words == ["j"]
    assert found.report.examples[0].startswith(
        f"line 2: has a time that is neither a number nor an ISO date ({cell!r}"
    )


def test_long_digits_are_no_hurdle(tmp_path):
    """They are read once, not once from each digit on."""
    assert times_of(tmp_path, f"{'9' * 200_000}x", 5) == [5]


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_units_of_time(tmp_path, unit):
    seconds = [1600000000, 1600000060]
    assert times_of(tmp_path, *(round(second * unit) for second in seconds)) == seconds


def test_low_ratings_are_not_bad(tmp_path):
    found = read(tmp_path, "x.csv", CSV + "u3,i3,x,400\nu3,i1,9,500\n", min_rating=3.5)
    assert rows(found) == [*WHOLE[:2], ("u3", "i1", 500, 9)]
    assert found.user_words == ["u1", "u2", "u3"]
    assert found.item_words == ["i1", "i2"]
    report = found.report
    assert (report.rows, report.kept, report.bad, report.low) == (5, 3, 1, 1)
    assert report.examples == ["line 5: has a weight that is not a number ('x')"]
    assert report.lines() == [
        "1 of 5 rows are below min_rating and were left out",
        "1 of 5 rows are bad and were left out, for example:",
        "  line 5: has a weight that is not a number ('x')",
    ]
    with pytest.raises(DataError, match="no row is left: 3 of 3 rows are below min_rating"):
        read(tmp_path, "x.csv", CSV, min_rating=10)


# bad rows

BAD = [
    (",i,1", "has no user"),
    ("u, ,1", "has no item"),
    ("u,i", "has 2 fields, not 3"),
    ("u,i,1,2", "has 4 fields, not 3"),
    ('u,"i"x,1', f"has text behind a closing quote: {MEND_QUOTES}"),
    (f"u,{'x' * 4097},1", "has an id of more than 4,096 bytes"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_bad_rows_are_counted(tmp_path, line, reason):
    text = f"user,item,time\na,b,1\n{line}\n\nu,{'x' * 4096},2\n{line}\n"
    found = read(tmp_path, "x.csv", text)
    assert rows(found) == [("a", "b", 1), ("u", "x" * 4096, 2)]
    assert (found.report.rows, found.report.bad) == (4, 2)
    assert found.report.examples == [f"line 3: {reason}", f"line 6: {reason}"]
    with pytest.raises(DataError, match=r"x\.csv: line 3: " + reason):
        read(tmp_path, "x.csv", text, strict=True)


@pytest.mark.parametrize(
    "line", ["x", "[1]", '{"user": "u"}', '{"user": null, "item": 1}', "[" * 9999, '{"item": 1}']
)
def test_bad_json_lines(tmp_path, line):
    found = read(tmp_path, "x.jsonl", f'{{"user": 1, "item": 2}}\n{line}\n')
    assert rows(found) == [("1", "2")]
    assert found.report.bad == 1
    assert found.report.examples[0].startswith("line 2: ")


def test_the_numbers_of_lines_beside_lines_of_tabs(tmp_path):
    text = "user\titem\tx\na\tb\t\n\t\t\n\tc\t\n\n\t\t\na\tc\t\na\td\t\na\te\t\n"
    found = read(tmp_path, "x.tsv", text)
    assert found.report.examples == [f"line {line}: has no user" for line in (3, 4, 6)]
    assert (found.report.rows, found.report.kept) == (7, 4)


def test_at_most_five_examples(tmp_path):
    found = read(tmp_path, "x.csv", "user,item\n" + ",b\n" * 9 + "a,b\n")
    assert found.report.bad == 9
    assert found.report.examples == [f"line {line}: has no user" for line in range(2, 7)]


@pytest.mark.parametrize("text", ["", "\n\n", "user,item\n", "user,item\n,b\n"])
def test_logs_without_events(tmp_path, text):
    with pytest.raises(DataError, match="no row is left|no column"):
        read(tmp_path, "x.csv", text)


# quotes


def test_quotes(tmp_path):
    text = 'user,item,time\n"a,b","x ""y""",1\n"line\n\nbreak",x,2\n"""",a""b,"3"\r\nlast,"",4\n'
    found = read(tmp_path, "x.csv", text)
    assert rows(found) == [("a,b", 'x "y"', 1), ("line\n\nbreak", "x", 2), ('"', 'a""b', 3)]
    assert found.report.examples == ["line 7: has no item"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('a,b,1\nc,"d,2\ne,f,3\n', 3),
        ('a,b,1\nc,"d,2\ne,"f",3\ng,h,4\n', 3),  # the quote closes in another row
    ],
)
def test_a_quote_that_is_not_closed(tmp_path, text, line):
    with pytest.raises(DataError, match=f"line {line}: a quote opens a field and is not closed"):
        read(tmp_path, "x.csv", "user,item,time\n" + text)


def test_a_quote_does_not_take_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MOST_HELD", 100)
    monkeypatch.setattr(events, "BLOCK", 64)
    with pytest.raises(DataError, match="line 3: a quote opens"):
        read(tmp_path, "x.csv", 'user,item\na,b\nc,"d\n' + "e,f\n" * 1000)


CELL = st.text(st.sampled_from('ab,"\n\r \u00e9'), max_size=4)


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8), st.integers(8, 60))
def test_any_cells_in_blocks_of_any_size(tmp_path_factory, cells, block):
    """Against Python's own reader; rows are cut into blocks and parts at every place."""
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows([("user", "x", "item"), *cells])
    path = write(tmp_path_factory.mktemp("log") / "x.csv", out.getvalue() + "end,,end\n")
    blank = "".join(map(chr, range(33)))
    expected = [(a, b) for a, _, b in [*cells, ("end", "", "end")] if a.strip(blank) and b.strip(blank)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "BLOCK", block)
        found = read_events(path)
    assert rows(found) == expected
    assert found.report.rows == len(cells) + 1
    assert found.user_words == [*dict.fromkeys(user for user, _ in expected)]


def test_many_words(tmp_path):
    """Tables have to grow."""
    text = "user,item\n" + "".join(f"u{n * 7919 % 30000},item number {n}\n" for n in range(30000))
    found = read(tmp_path, "x.csv", text)
    assert found.users.tolist() == found.items.tolist() == [*range(30000)]
    assert found.item_words[29999] == "item number 29999"
    assert found.user_words[1] == "u7919"


def test_bytes_that_are_not_utf8(tmp_path):
    assert rows(read(tmp_path, "x.csv", b"user,item\na,caf\xe9\n")) == [("a", "caf\udce9")]


def test_what_is_not_text_is_refused(tmp_path):
    data = b"user,item\na,b\n" + bytes(1000)
    with pytest.raises(DataError, match="NULs"):
        read(tmp_path, "x.csv", data)
    assert read(tmp_path, "x.csv", data, force=True).report.kept == 1


# values of Python


def test_tuples():
    numbers = (5, 5.0, np.int64(5), np.float32(5), b"5")
    assert rows(read_events([("u", number) for number in numbers])) == [("u", "5")] * 5
    nulls = (None, np.float32("nan"), np.datetime64("NaT"))
    assert read_events([("u", 5), *(("u", null) for null in nulls)]).report.bad == 3
    found = read_events(iter([("u", "a", date(1970, 1, 2), "3"), ("u", "b", datetime(1970, 1, 1), 4)]))
    assert rows(found) == [("u", "a", DAY, 3), ("u", "b", 0, 4)]
    found = read_events(
        [("u", "a"), ("u", None), (float("nan"), "a"), ("u", "a", 1), "ua", (" ", "a"), ([], "a")]
    )
    assert rows(found) == [("u", "a")]
    assert found.report.examples[:3] == [
        "row 2: has no item",
        "row 3: has no user",
        "row 4: is not like the first row: a dict, or a tuple of as many values",
    ]
    assert found.report.bad == 6


@pytest.mark.parametrize(
    "source", [["ab", "cd"], [("a",)], [tuple("abcde")], [["a"] * 6], 5, b"ab", [3], {"a": 1}]
)
def test_what_is_no_log(source):
    with pytest.raises(DataError):
        read_events(source)


def test_dicts():
    found = read_events(
        [
            {"user": 1, "item": "a", "tags": ["x", "y"]},
            {"user": 2.0, "item": "b", "tags": None},
            {"user": 2, "item": "b", "tags": "z|x"},
            {"item": "a"},
            5,
        ],
        LogReading(side=("tags",)),
    )
    assert rows(found) == [("1", "a"), ("2", "b"), ("2", "b")]
    assert found.sides == {"tags": {"a": ["x", "y"], "b": ["z", "x"]}}
    assert [example.partition(":")[0] for example in found.report.examples] == ["row 4", "row 5"]


def test_lists_of_sessions():
    lists = [["a", "b c"], [], ["a", None]]
    found = read_events(lists, LogReading(format="sessions"))
    assert rows(found) == [(None, "a", "0"), (None, "b c", "0"), (None, "a", "2")]
    assert found.report.examples == ["row 3: has no item"]
    found = read_events([(7, "a", "b"), (7,), (None, "a")], LogReading(format="user-sessions"))
    assert rows(found) == [("7", "a", "0"), ("7", "b", "0")]
    assert found.report.examples == ["row 3: has no user"]
    found = read_events([["a"], "ab"], LogReading(format="sessions"))
    assert found.report.examples == ["row 2: has no item"]


def test_rows_beyond_one_chunk():
    found = read_events((n % 7, n) for n in range(20000))
    assert found.items.tolist() == [*range(20000)]
    assert found.user_words == [*"0123456"]


# tables


def frame(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


def test_frames():
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    when = pd.to_datetime(["1970-01-02", "1970-01-03", None, "1970-01-04"])
    found = read_events(
        frame(user=[1.0, None, 3, 3], item=["a", "b", "b", "c"], time=when, count=[1, 2, 3, 4]),
    )
    assert rows(found) == [("1", "a", DAY, 1), ("3", "c", 3 * DAY, 4)]
    assert found.report.examples == [
        "row 2: has no user",
        "row 3: has a time that is neither a number nor an ISO date ('')",
    ]
    dates = ["1970-01-02", "1970-01-03", "6"]
    categories = frame(user=pd.Categorical(["x", "y", None]), item=[3, 4, 5], date=dates)
    assert rows(read_events(categories)) == [("x", "3", DAY), ("y", "4", 2 * DAY)]
    assert rows(read_events(frame(user=[1], item=[2], time=pd.to_datetime(["1970-01-02T02:00+02:00"])))) == [
        ("1", "2", DAY)
    ]


def test_polars_and_arrow():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    columns = {
        "user": ["u", "v"],
        "item": [1, 2],
        "time": [date(1970, 1, 2), None],
        "tag": [["a", "b"], ["c"]],
    }
    how = LogReading(side=("tag",))
    for table in (pl.DataFrame(columns), pa.table(columns), pa.table(columns).to_reader()):
        found = read_events(table, how)
        assert rows(found) == [("u", "1", DAY)]
        assert found.sides == {"tag": {"1": ["a", "b"]}}
    with pytest.raises(DataError, match="no column is called user"):
        read_events(pa.table({"item": [1]}))


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"user": ["u"] * 3, "item": ["a", "b", "a"], "rating": [1.0, None, 3.0], "wide": ["x" * 99] * 3}
    columns["timestamp"] = pa.array([10**9, 2 * 10**9, 3 * 10**9], pa.timestamp("ns"))
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=2)
    said = []
    found = read_events(tmp_path / "x.parquet", progress=lambda *numbers: said.append(numbers))
    assert rows(found)[::2] == [("u", "a", 1, 1), ("u", "a", 3, 3)]
    assert np.isnan(found.weights[1])  # a rating that is not used may be missing
    rated = read_events(tmp_path / "x.parquet", LogReading(min_rating=0))
    assert rated.report.examples == ["row 2: has a weight that is not a number ('')"]
    assert said[-1][0] == said[-1][1] == (tmp_path / "x.parquet").stat().st_size
    with pytest.raises(DataError, match="it is a parquet file, but the format is csv"):
        read_events(tmp_path / "x.parquet", LogReading(format="csv"))
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path, "y.parquet", "nothing")


@pytest.mark.parametrize("column", ["user", "tag"])
def test_cells_that_point_behind_their_dictionary(column):
    pa = pytest.importorskip("pyarrow")
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 55]), ["x"], safe=False)
    table = pa.table({"user": ["u", "u"], "item": ["a", "b"], "tag": ["s", "t"], column: broken})
    with pytest.raises(DataError, match="cannot be read"):
        read_events(table, LogReading(side=("tag",)))


def test_the_same_log_from_everywhere(tmp_path):
    pa = pytest.importorskip("pyarrow")
    rng = np.random.default_rng(1)
    cells = [(f"u{a}", f"i{b}", float(c)) for a, b, c in rng.integers(0, 50, (500, 3)).tolist()]
    dicts = [dict(zip(("user", "item", "time"), row, strict=True)) for row in cells]
    lines = "\n".join(map(json.dumps, dicts))
    text = "user,item,time\n" + "".join(f"{a},{b},{c}\n" for a, b, c in cells)
    sources = [
        cells,
        dicts,
        pa.Table.from_pylist(dicts),
        write(tmp_path / "x.jsonl", lines),
        write(tmp_path / "x.csv", text),
    ]
    first, *others = map(read_events, sources)
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first[:3], other[:3], strict=True))
        assert first.user_words == other.user_words
        assert first.item_words == other.item_words


def test_a_row_of_a_session_needs_no_user(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,basket\n,a,1\nu,b,2\n,c,2\n")
    events = read_events(tmp_path / "log.csv", LogReading(session="basket"))
    assert events.users.tolist() == [-1, 0, -1]
    assert events.report.bad == 0
    assert read_events(tmp_path / "log.csv").report.bad == 2  # without sessions, a row needs its user


def test_dates_written_as_whole_numbers():
    rows = [("u", "a", 20231231), ("u", "b", 20240115), ("u", "c", 20240301)]
    found = read_events(rows, LogReading()).times
    assert np.diff(found).tolist() == [15 * DAY, 46 * DAY]
    assert found[0] == datetime(2023, 12, 31, tzinfo=UTC).timestamp()
    no_dates = read_events([("u", "b", 20241340), ("u", "a", 20249999)], LogReading())
    assert no_dates.times.tolist() == [20241340, 20249999]


@pytest.mark.parametrize("wrong", [1, 5, 8])
def test_some_dates_among_other_numbers_are_an_error(wrong):
    """If half of them were no dates, all were taken for seconds, without a word."""
    times = [20240101 + day for day in range(10 - wrong)] + [20241340] * wrong
    with pytest.raises(DataError, match=f"{wrong} of 10 times are no dates, such as 20241340"):
        read_events([("u", "a", time) for time in times])
