"""Further columns of events: numbers and categories, kept with the log."""

import json
import shutil

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError, FormatError
from unhot.logs.encoding import read_log
from unhot.logs.features import EventColumns
from unhot.logs.log import Log
from unhot.models.fitting import Tells
from unhot.models.log_data import LogSettings, opened_log

# u and v in turns; the newest row comes first
ROWS = [
    {"user": "u", "item": "a", "time": 9, "device": "tv", "price": "2.5", "age": None, "town": "Rome"},
    {"user": "v", "item": "b", "time": 8, "device": "web", "price": None, "age": "30", "town": ""},
    {"user": "u", "item": "c", "time": 5, "device": " ", "price": "1e3", "age": "41", "town": None},
    {"user": "u", "item": "b", "time": 4, "device": "web", "price": "7", "age": "40", "town": "Oslo"},
    {"user": "v", "item": "a", "time": 3, "device": "app", "price": "0", "age": None, "town": " "},
]
KEPT = {"features": ("device", "price", "age", "town")}


def said(feature):
    """The values of a feature, None where one is missing."""
    if feature.categories is None:
        assert feature.values.dtype == np.float32
        return [None if np.isnan(value) else value for value in feature.values.tolist()]
    assert feature.values.dtype == np.int32
    return [feature.categories[i] if i >= 0 else None for i in feature.values]


def test_columns_follow_their_events(tmp_path):
    with read_log(ROWS, **KEPT, directory=tmp_path / "log") as made:
        for log in (made, Log.open(tmp_path / "log")):
            assert [log.users.words[u] for u in log.user_of] == ["v", "u"]
            assert log.features.keys() == {*KEPT["features"]}
            assert said(log.features["device"]) == ["app", "web", "web", None, "tv"]
            assert said(log.features["price"]) == [0, None, 7, 1000, 2.5]
            # the most frequent category has the lowest id
            assert log.features["device"].categories == ["web", "app", "tv"]
        assert isinstance(log.features["price"].values.base, np.memmap)


def test_a_part_knows_nothing_of_what_comes_later():
    log = read_log(ROWS, **KEPT)
    with log.part(log.starts[:-1] + [1, 2]) as part:
        assert said(part.features["device"]) == ["app", "web", None]
        assert part.features["device"].categories == ["app", "web"]
        assert said(part.features["price"]) == [0, 7, 1000]
        assert said(part.features["age"]) == [None, 40, 41]
        assert said(part.features["town"]) == [None, "Oslo", None]


def test_cores_merged_repeats_and_sessions_keep_columns_in_place():
    rows = [
        {"user": u, "item": i, "time": t, "n": t, "w": f"w{t}"}
        for u, i, t in zip("uuvuw", "abaax", range(5), strict=True)
    ]
    how = {"features": ("n", "w")}
    log = read_log(rows, **how, core=2)
    assert said(log.features["n"]) == [0, 3]
    assert said(log.features["w"]) == ["w0", "w3"]
    log = read_log(rows, **how, repeats="merge")
    assert said(log.features["n"]) == [0, 1, 2, 4]
    log = read_log(rows, **how, gap=1 / 60)
    assert said(log.features["w"]) == ["w0", "w1", "w2", "w3", "w4"]


def test_numbers_may_be_categories():
    rows = [{"user": "u", "item": i, "hour": hour} for i, hour in zip("abc", (7, 23, 7), strict=True)]
    assert said(read_log(rows, features=("hour",)).features["hour"]) == [7, 23, 7]
    feature = read_log(rows, features=("hour",), categories=("hour",)).features["hour"]
    assert said(feature) == ["7", "23", "7"]
    assert feature.categories == ["7", "23"]


@pytest.mark.parametrize("cell", ["nan", "1,5", "inf", "1e99", "x"])
def test_one_value_that_is_no_number_makes_a_column_categories(cell):
    rows = [{"user": "u", "item": "a", "x": value} for value in ("1", cell, None, "1")]
    feature = read_log(rows, features=("x",)).features["x"]
    assert said(feature) == ["1", cell, None, "1"]


def test_columns_of_every_type(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "user": ["u", "u", "v"],
        "item": ["a", "b", "a"],
        "float": pa.array([0.5, None, 3.0]),
        "int": pa.array([2, 1, None], pa.int8()),
        "bool": [True, False, None],
        "coded": pa.array(["x\ny", None, "\\"]).dictionary_encode(),
        "none": pa.nulls(3),
    }
    parquet.write_table(pa.table(columns), tmp_path / "x.parquet")
    names = tuple(columns)[2:]
    read_log(tmp_path / "x.parquet", features=(*names, "item"), directory=tmp_path / "log").close()
    found = Log.open(tmp_path / "log").features
    assert {name: said(feature) for name, feature in found.items()} == {
        "float": [0.5, None, 3],
        "int": [2, 1, None],
        "bool": ["true", "false", None],
        "coded": ["x\ny", None, "\\"],
        "none": [None, None, None],
        "item": ["a", "b", "a"],  # a column may be read as several things
    }


def test_a_line_says_what_columns_are_read_as(tmp_path):
    (tmp_path / "log.csv").write_text("user,item,device,age,other\nu,a,x,4,?\n")
    reader = LogSettings(features="device,age")
    lines = []
    with opened_log(reader, tmp_path / "log.csv", Tells(note=lines.append)) as log:
        assert said(log.features["age"]) == [4]
    assert "feature device: 1 categories; feature age: numbers" in lines[0]
    assert lines[0].endswith("not used: other")


def test_columns_that_cannot_be():
    with pytest.raises(
        DataError, match="features='color': there is no such column; the columns are user, item"
    ):
        read_log(ROWS, features=("color",))
    with pytest.raises(ConfigError, match="features='age': give the names of the columns as a tuple"):
        read_log(ROWS, features="age")
    with pytest.raises(ConfigError, match="categories='hour': is not in features"):
        read_log(ROWS, features=("device",), categories=("hour",))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "log"
    read_log(ROWS, **KEPT, directory=folder).close()
    return folder


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, how) for name in ("0/values.bin", "1/values.bin") for how in ("gone", "short")),
        *((name, how) for name in ("0/vocab.txt", "0/counts.bin") for how in ("gone", "short", "noise")),
        ("0/values.bin", "noise"),
    ],
)
def test_a_damaged_column_is_refused(kept, tmp_path, name, how):
    shutil.copytree(kept, tmp_path / "log")
    path = tmp_path / "log" / "features" / name
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "short":
        path.write_bytes(data[:-1])
    else:
        path.write_bytes(b"\x7f" * len(data))
    with pytest.raises(FormatError):
        Log.open(tmp_path / "log")


@pytest.mark.parametrize(
    "entry",
    [1, [], ["device"], ["x", 0, 3], ["x", "3"], ["x", -1], ["x", [3]]],
)
def test_a_damaged_index_is_refused(kept, tmp_path, entry):
    shutil.copytree(kept, tmp_path / "log")
    path = tmp_path / "log" / "log.json"
    for features in ([entry], entry):
        path.write_text(json.dumps({**json.loads(path.read_text()), "features": features}))
        if features:
            with pytest.raises(FormatError):
                Log.open(tmp_path / "log")


def test_columns_are_saved_as_finite_numbers():
    """A saved model with an infinite number or a NaN is damaged."""
    columns = read_log(ROWS, **KEPT).columns
    tensors = columns.tensors("x.")
    assert all(np.isfinite(array).all() for array in tensors.values())
    found = EventColumns.of_tensors(tensors, "x.", 5)
    assert found.times.tolist() == columns.times.tolist()
    assert {name: said(each) for name, each in found.features.items()} == {
        name: said(each) for name, each in columns.features.items()
    }
    assert found.tensors("x.").keys() == tensors.keys()
    assert EventColumns.of_tensors({}, "x.", 5).tensors("x.") == {}


@pytest.mark.parametrize(
    "name", ["x.times", "x.0.values", "x.0.text", "x.0.starts", "x.1.values", "x.1.missing"]
)
def test_damaged_columns_of_a_model_are_refused(name):
    tensors = read_log(ROWS, **KEPT).columns.tensors("x.")
    damages = [tensors[name][:-1], tensors[name][..., None], tensors[name].astype(np.float16)]
    damages += [None] * (name.endswith("values")) + [tensors[name] + 7] * (
        name in ("x.0.values", "x.1.missing")
    )
    for damage in damages:
        kept = {key: array for key, array in tensors.items() if key != name}
        with pytest.raises(FormatError):
            EventColumns.of_tensors(kept if damage is None else {**kept, name: damage}, "x.", 5)


def test_logs_of_older_versions_have_none(kept, tmp_path):
    shutil.copytree(kept, tmp_path / "log")
    path = tmp_path / "log" / "log.json"
    facts = json.loads(path.read_text())
    del facts["features"]
    path.write_text(json.dumps(facts))
    log = Log.open(tmp_path / "log")
    assert log.features == {}
