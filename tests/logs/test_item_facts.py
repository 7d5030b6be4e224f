"""Names and side columns of items from every kind of file."""

import gzip
import json

import pytest

from unhot.errors import UnhotError
from unhot.logs.item_facts import GENRES, read_item_facts


def read(tmp_path, file, data, **how):
    path = tmp_path / file
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_item_facts(path, **how)[:2]


def test_csv_and_tsv(tmp_path):
    text = 'Item ID,brand,Title\n1,A|B,One\n2,,"Two, too"\n1,C,Other\n2,D,\n3,,\n'
    expected = ({"1": "One", "2": "Two, too"}, {"brand": {"1": ["A", "B"], "2": ["D"]}})
    assert read(tmp_path, "x.csv", text, side=["brand"]) == expected
    assert read(tmp_path, "x.csv.gz", gzip.compress(text.encode()), side=["brand"]) == expected
    found = read(tmp_path, "x.tsv", "a\tb\tc\n1\tx\ty|z\n", item="a", name="b", side=("c",))
    assert found == ({"1": "x"}, {"c": {"1": ["y", "z"]}})


def test_json(tmp_path):
    objects = [{"item": 1, "name": "One", "tags": ["a", "b", "a"]}, {"item": 2.0, "tags": "c"}]
    expected = ({"1": "One"}, {"tags": {"1": ["a", "b"], "2": ["c"]}})
    how = {"side": ["tags"]}
    assert read(tmp_path, "x.jsonl", "\n".join(map(json.dumps, objects)), **how) == expected
    assert read(tmp_path, "x.json", json.dumps(objects), **how) == expected
    assert read(tmp_path, "x.json", "\n".join(map(json.dumps, objects)), **how) == expected
    keyed = {"1": {"name": "One", "tags": ["a", "b"]}, "2": {"tags": "c"}}
    assert read(tmp_path, "x.json", json.dumps(keyed), **how) == expected
    assert read(tmp_path, "x.json", '{"1": ["a", 5], "2": "Two"}') == (
        {"2": "Two"},
        {"attribute": {"1": ["a", "5"]}},
    )
    assert read(tmp_path, "x.json", '{"1": "One"}') == ({"1": "One"}, {})


def test_movielens(tmp_path):
    flags = ["1" if genre in ("Comedy", "Western") else "0" for genre in GENRES]
    line = "|".join(["7", "Am\xe9lie (2001)", "01-Jan-2001", "", "http://x", *flags])
    found = read(tmp_path, "u.item", f"{line}\n\n".encode("latin-1"))
    assert found == ({"7": "Am\xe9lie (2001)"}, {"genre": {"7": ["Comedy", "Western"]}})
    assert len(GENRES) == 19
    found = read(tmp_path, "movies.dat", "7::Am\xe9lie::Comedy|Drama\r\n8::A::B::\n".encode("latin-1"))
    assert found == ({"7": "Am\xe9lie", "8": "A::B"}, {"genre": {"7": ["Comedy", "Drama"]}})
    found = read(tmp_path, "movies.csv", 'movieId,title,genres\n7,"One, Two",Comedy|Drama\n')
    assert found == ({"7": "One, Two"}, {"genres": {"7": ["Comedy", "Drama"]}})


@pytest.mark.parametrize(
    ("name", "data", "how", "message"),
    [
        ("x.csv", "a,b\n1,2\n", {}, "no column item, itemid.*the columns are a, b"),
        ("x.csv", "item,b\n1,2\n", {"side": ["c"]}, "says nothing about items"),
        ("x.csv", "item,b\n1,2\n", {}, "says nothing about items"),
        ("x.csv", "item,name\n,2\n", {}, "line 2: has no item"),
        ("x.csv", "item,name\n1\n", {}, "line 2: has 1 fields"),
        ("x.json", "[5]", {}, "not an object"),
        ("x.json", "5", {}, "not an object"),
        ("x.json", "{", {}, "not valid JSON"),
        ("x.json", '[{"item": {"a": 1}, "name": "x"}]', {}, "row 1: item is {'a': 1}, which is nested"),
        ("u.item", "1|2\n", {}, "line 1: has 2 fields"),
        ("movies.dat", "::a::b\n", {}, "row 1: has no item"),
        ("x.txt", "1 a\n", {}, "does not say its kind"),
    ],
)
def test_files_that_say_too_little(tmp_path, name, data, how, message):
    with pytest.raises(UnhotError, match=message):
        read(tmp_path, name, data, **how)


@pytest.mark.parametrize(
    ("name", "data", "where"),
    [
        ("x.csv", "item,name,brand\n1,One,A\n ,None,B\n2,Two,\n", "line 3"),
        (
            "x.jsonl",
            '{"item": 1, "name": "One", "brand": "A"}\n{"name": "None"}\n{"item": 2, "name": "Two"}\n',
            "line 2",
        ),
        (
            "x.json",
            '[{"item": 1, "name": "One", "brand": "A"}, {"item": null}, {"item": 2, "name": "Two"}]',
            "row 2",
        ),
        ("movies.dat", "1::One::A\n::None::B\n2::Two::\n", "row 2"),
    ],
)
def test_a_row_without_an_item_is_skipped_and_counted(tmp_path, name, data, where):
    side = "genre" if name == "movies.dat" else "brand"
    (tmp_path / name).write_text(data)
    found = read_item_facts(tmp_path / name, side=[side])
    assert found.names == {"1": "One", "2": "Two"}
    assert found.sides == {side: {"1": ["A"]}}
    assert found.listed == {"1": 1, "2": 1}
    assert found.said == [
        "1 of 3 rows are bad and were left out, for example:",
        f"  {where}: has no item",
    ]
    with pytest.raises(UnhotError, match=f"{where}: has no item; fix it, or leave strict out"):
        read_item_facts(tmp_path / name, side=[side], strict=True)


def test_long_names_are_kept(tmp_path):
    name = "x" * 5000
    assert read(tmp_path, "x.csv", f"item,description\n1,{name}\n") == ({"1": name}, {})


def test_no_file(tmp_path):
    with pytest.raises(UnhotError, match="no such file"):
        read_item_facts(tmp_path / "x.csv")
