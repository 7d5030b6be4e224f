"""Logs as sequences: order, sessions, repeats, cores, files on disk, parts."""

import json
import shutil
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unhot.corpus import given_ids
from unhot.corpus.corpus import Corpus
from unhot.corpus.shards import ShardWriter
from unhot.errors import ConfigError, DataError, FormatError
from unhot.logs.encoding import RUN, grouped, read_log
from unhot.logs.log import Log, first_places, merged_lines
from unhot.models.fitting import opened

ROWS = [("u", "a", 5), ("v", "a", 1), ("u", "b", 2), ("u", "a", 9), ("v", "c", 1), ("w", "a", 3)]


def lines(log):
    """The user and the items of each line."""
    ids, starts = log.ids_of_lines, log.starts
    users = [log.users.words[user] if user >= 0 else None for user in log.user_of]
    words = [[log.items.words[i] for i in ids[a:b]] for a, b in zip(starts, starts[1:], strict=False)]
    return [*zip(users, ["".join(line) for line in words], strict=True)]


def test_sorted_by_time_with_ties_in_file_order():
    log = read_log(ROWS)
    assert lines(log) == [("v", "ac"), ("u", "baa"), ("w", "a")]  # lines by their first event
    assert log.times.tolist() == [1, 1, 2, 5, 9, 3]
    assert log.items.words == ["a", "b", "c"]
    assert log.items.counts.tolist() == [4, 1, 1]
    assert (log.words, log.sentences, len(log.users)) == (6, 3, 3)


def test_without_times_the_file_is_in_order():
    log = read_log([row[:2] for row in ROWS])
    assert lines(log) == [("u", "aba"), ("v", "ac"), ("w", "a")]
    assert log.times.size == log.weights.size == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=1, max_size=5 * RUN))
def test_grouping_is_a_stable_sort(events):
    groups, times = (np.array(column) for column in zip(*events, strict=True))
    order, starts = grouped(groups.astype(np.int32), 4, times.astype(np.float64))
    assert order.tolist() == sorted(range(len(events)), key=lambda i: (groups[i], times[i]))
    assert starts.tolist() == [0, *np.cumsum(np.bincount(groups, minlength=4))]


def test_sessions_by_a_gap():
    rows = [("u", "a", 0), ("u", "b", 1800), ("u", "c", 3601), ("v", "d", 1900)]
    assert lines(read_log(rows, gap=30)) == [("u", "ab"), ("v", "d"), ("u", "c")]
    with pytest.raises(ConfigError, match="no times"):
        read_log([row[:2] for row in rows], gap=30)


def test_a_session_of_two_users_is_two_lines():
    rows = [{"user": u, "item": i, "s": s} for u, i, s in [("u", "a", 1), ("v", "b", 1), ("u", "c", 1)]]
    assert lines(read_log(rows, session="s")) == [("u", "ac"), ("v", "b")]


def test_repeats_are_merged_with_their_weights():
    rows = [("u", "a", 1, 2.0), ("u", "b", 2, 1.0), ("u", "a", 3, 5.0), ("v", "a", 4, 1.0)]
    log = read_log(rows, repeats="merge")
    assert lines(log) == [("u", "ab"), ("v", "a")]
    assert log.weights.tolist() == [7.0, 1.0, 1.0]
    assert log.times.tolist() == [1, 2, 4]
    assert read_log(rows).weights.tolist() == [2.0, 1.0, 5.0, 1.0]


def test_the_core_is_found_again_and_again():
    rows = [("u", "a"), ("u", "b"), ("v", "a"), ("v", "b"), ("w", "a"), ("w", "c"), ("x", "c")]
    # x goes first, then c with one event, then w with one event
    assert lines(read_log(rows, core=2)) == [("u", "ab"), ("v", "ab")]
    with pytest.raises(DataError, match="core=3"):
        read_log(rows, core=3)


def test_a_part_counts_items_anew_and_keeps_what_belongs_to_them(tmp_path):
    (tmp_path / "items.csv").write_text("item,name\na,An a\nb,\nc,A c\n")
    log = read_log(ROWS, items=tmp_path / "items.csv")
    assert log.names == ["An a", "", "A c"]
    part = log.part(log.starts[:-1] + [2, 1, 0])
    assert lines(part) == [("v", "ac"), ("u", "b")]
    assert part.items.counts.tolist() == [1, 1, 1]
    assert part.names == ["An a", "", "A c"]
    assert part.times.tolist() == [1, 1, 2]
    assert len(part.users) == 2
    with pytest.raises(DataError, match="nothing to learn from"):
        log.part(log.starts[:-1])


def test_side_columns_follow_their_items(tmp_path):
    rows = [
        {"user": u, "item": i, "kind": k} for u, i, k in [("u", "b", "x|y"), ("u", "a", "z"), ("v", "a", "z")]
    ]
    with read_log(rows, side=("kind",), directory=tmp_path / "log") as log:
        for each in (log, Log.open(tmp_path / "log"), log.part(log.starts[1:])):
            side = each.sides["kind"]
            ids, starts = given_ids.flat(side)
            found = [
                [side.vocabulary.words[i] for i in ids[a:b]] for a, b in zip(starts, starts[1:], strict=False)
            ]
            assert each.items.words == ["a", "b"]
            assert [sorted(values) for values in found] == [["z"], ["x", "y"]]


def test_odd_names_survive(tmp_path):
    odd = ["a b", "x\ny", "user:1", "\\n", "\udcff", "é"]
    rows = [(f"{name}!", name, time) for time, name in enumerate(odd)]
    read_log(rows, directory=tmp_path / "log").close()
    log = Log.open(tmp_path / "log")
    assert sorted(log.items.words) == sorted(odd)
    assert sorted(log.users.words) == sorted(f"{name}!" for name in odd)


def test_a_kept_log_opens_again(tmp_path):
    kept = read_log([(*row, 2.5) for row in ROWS], directory=tmp_path / "log")
    for log in (Log.open(tmp_path / "log"), opened(tmp_path / "log")):
        assert isinstance(log, Log)
        assert lines(log) == lines(kept)
        assert np.array_equal(log.times, kept.times)
        assert np.array_equal(log.weights, kept.weights)
        assert log.users.counts.tolist() == [1, 1, 1]


def test_many_shards_are_one_log(monkeypatch):
    monkeypatch.setattr(given_ids, "BLOCK", 2)
    monkeypatch.setattr(ShardWriter.__init__, "__defaults__", (2,))
    log = read_log(ROWS)
    assert len(log.shards) == 3
    assert lines(log) == [("v", "ac"), ("u", "baa"), ("w", "a")]


DAMAGE = ["log.json", "corpus.json", "times.bin", "weights.bin", "names.txt", "beside/users/corpus.json"]
DAMAGE += ["sides/kind/corpus.json", "vocab.txt", "counts.bin"]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    (folder / "items.csv").write_text("item,name\na,An a\nb,A b\nc,A c\n")
    rows = [{"user": u, "item": i, "time": t, "rating": 1, "kind": "k"} for u, i, t in ROWS]
    read_log(rows, items=folder / "items.csv", side=("kind",), directory=folder / "log").close()
    return folder / "log"


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.parametrize("how", ["gone", "short", "noise"])
def test_a_damaged_log_is_refused(kept, tmp_path, name, how):
    shutil.copytree(kept, tmp_path / "log")
    path = tmp_path / "log" / name
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "short":
        path.write_bytes(data[: len(data) // 2])
    else:
        path.write_bytes(b"\xff" * (len(data) + 3))
    with pytest.raises(FormatError):
        Log.open(tmp_path / "log")


@pytest.mark.parametrize(
    "facts",
    [
        {"files": 1},
        {"files": [1]},
        {"sides": ["../x"]},
        {"sides": "ab"},
        {"sides": ["gone"]},
        {"report": None},
    ],
)
def test_a_damaged_index_is_refused(kept, tmp_path, facts):
    shutil.copytree(kept, tmp_path / "log")
    path = tmp_path / "log" / "log.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **facts}))
    with pytest.raises(FormatError):
        Log.open(tmp_path / "log")


def test_users_of_another_log_are_refused(kept, tmp_path):
    shutil.copytree(kept, tmp_path / "log")
    other = read_log([("a b", "c"), ("d", "e"), ("f", "g")], directory=tmp_path / "other")
    text = given_ids.IdText(np.array([0, 1, 0], np.int32), np.array([0, 2, 3, 3]), other.users)
    shutil.rmtree(tmp_path / "log" / "beside" / "users")
    with given_ids.Workplace(tmp_path / "log" / "beside" / "users") as place:
        given_ids.write_ids(text, place, Corpus, {})
    with pytest.raises(FormatError, match="several users"):
        Log.open(tmp_path / "log")


def test_lines_as_sets():
    log = read_log(ROWS)
    assert first_places(log.ids_of_lines, log.starts).tolist() == [0, 1, 2, 3, 5]
    with merged_lines(log) as sets:
        assert sets.vocabulary.words == log.items.words
        assert sets.vocabulary.counts.tolist() == [3, 1, 1]
        assert sets.shards[0].ids.tolist() == [0, 2, 1, 0, 0]


def test_nonsense_is_refused():
    for how in ({"repeats": "x"}, {"core": -1}, {"core": 1.5}, {"gap": -1}, {"format": "x"}):
        with pytest.raises(ConfigError):
            read_log(ROWS, **how)
    with pytest.raises(DataError):
        read_log([])


def test_side_columns_are_in_the_log_or_in_the_file_of_items(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,colour\nu,a,red\nu,b,blue\n")
    (tmp_path / "items.csv").write_text("item,name,brand\na,an apple,x|y\nb,,z\n")
    with read_log(tmp_path / "log.csv", side=("colour", "brand"), items=tmp_path / "items.csv") as log:
        values = {name: _values(side) for name, side in log.sides.items()}
    assert values == {"colour": [["red"], ["blue"]], "brand": [["x", "y"], ["z"]]}
    with pytest.raises(DataError, match="'size'"):
        read_log(tmp_path / "log.csv", side=("size",), items=tmp_path / "items.csv")


def _values(side):
    ids, starts = side.shards[0]
    words = side.vocabulary.words
    return [[words[i] for i in ids[a:b]] for a, b in zip(starts[:-1], starts[1:], strict=True)]


def test_a_log_shows_its_size():
    with read_log([("u", "a"), ("u", "b"), ("v", "a")]) as log:
        assert repr(log).startswith("Log(3 events of 2 users with 2 items, 2 lines in ")


def test_a_full_disk_is_named_also_if_numpy_notices_it(tmp_path, monkeypatch):
    """Its error of a short write has no number, so it said "20000 requested and 1536 written" alone."""

    def short(*args):
        raise OSError("20000 requested and 1536 written")

    monkeypatch.setattr("unhot.logs.log.write_ids", short)
    with pytest.raises(DataError, match="disk full: .* more than the .* there"):
        read_log([("u", "a"), ("u", "b")], directory=tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_names_that_are_not_utf8_keep_their_bytes_and_are_said(tmp_path):
    """They became question marks, without a word."""
    (tmp_path / "items.csv").write_bytes("item,name\na,Amélie\nb,Élan\nc,Plain\n".encode("latin-1"))
    with read_log(ROWS, items=tmp_path / "items.csv", directory=tmp_path / "log") as log:
        assert [name.encode("utf-8", "surrogateescape") for name in log.names] == [
            b"Am\xe9lie",
            b"\xc9lan",
            b"Plain",
        ]
        assert Log.open(tmp_path / "log").names == log.names
        (line,) = log.facts["report"]
    assert "2 of 3 items have names that are not UTF-8; the file seems to be Latin-1" in line
    assert line.endswith(": Amélie, Élan")


def test_sorting_and_writing_copy_no_column(monkeypatch):
    """16 bytes an event for its user, item and time, 4 for its place, and what a batch takes; it was 44."""
    pyarrow = pytest.importorskip("pyarrow")
    monkeypatch.setattr("unhot.logs.log.BLOCK", 1 << 14, raising=False)
    rng, events = np.random.default_rng(1), 500_000
    columns = {"user": rng.integers(500, size=events), "item": rng.integers(300, size=events)}
    table = pyarrow.table({**columns, "time": 1_600_000_000 + rng.permutation(events)})
    read_log(table.slice(0, 1000)).close()  # compile
    tracemalloc.start()
    with read_log(table) as log:
        assert log.words == events
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 38 * events


def test_places_take_four_bytes():
    order, _ = grouped(np.zeros(3, np.int32), 1, np.array([2.0, 3.0, 1.0]))
    assert order.tolist() == [2, 0, 1]
    assert order.dtype == np.int32
