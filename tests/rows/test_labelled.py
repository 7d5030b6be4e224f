"""Rows with labels, from every kind of source, and what happens to odd ones."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from unhot.errors import ConfigError, DataError
from unhot.rows.labelled import LabelledRows

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
import pyarrow.parquet  # noqa: E402

ROWS = [("some words", ["a"]), ("more", ["b"])]
TEXTS, LABELS = ["some words", "more"], ["a", "b"]


def write(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


def rows(source, *args, **how):
    return list(LabelledRows(source, *args, **how))


def lines(tmp_path, data, **how):
    return rows(write(tmp_path / "x.txt", data), **how)


def counts(source, **how):
    found = LabelledRows(source, **how)
    list(found)
    return found.report


# label lines


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("__label__a some words", ("some words", ["a"])),
        ("__label__a __label__b x", ("x", ["a", "b"])),
        ("x __label__a y __label__b", ("x y", ["a", "b"])),
        ("  __label__a\t\tx\vy", ("x y", ["a"])),
        ("__label__a", ("", ["a"])),
        ("__label____label__a x", ("x", ["__label__a"])),
        ("x__label__b __label__a", ("x__label__b", ["a"])),
        (" ".join(f"__label__{i}" for i in range(20)) + " x", ("x", [str(i) for i in range(20)])),
        ("__label__a\u00a0b c", ("c", ["a\u00a0b"])),  # only ASCII blanks separate tokens
        ("__label__a x\u2028y\x1cz", ("x\u2028y\x1cz", ["a"])),
        ("__label__a x\0y", ("x y", ["a"])),
    ],
)
def test_tokens_with_the_prefix_are_labels(line, row, tmp_path):
    text, labels = lines(tmp_path, line + "\n")[0]
    assert (text.split(" "), labels) == ([*row[0].split(" ")], row[1]) or (
        " ".join(text.split()),
        labels,
    ) == row
    assert rows([line, "__label__z"])[0] == (text, labels)  # from Python, too


def slow_row(line, prefix="__label__"):
    tokens = [
        token for token in line.decode().translate(dict.fromkeys(b"\t\v\f\r\0", " ")).split(" ") if token
    ]
    return (
        [token for token in tokens if not token.startswith(prefix)],
        [token[len(prefix) :] for token in tokens if token.startswith(prefix)],
    )


def test_many_lines_beside_a_slow_reader(tmp_path):
    rng = np.random.default_rng(1)
    pieces = [
        b"__label__a",
        b"__label__b",
        b"word",
        b"\xc3\xa9",
        b"\t",
        b"  ",
        b"_",
        b"__label_",
        b"x__label__",
        b"\r",
    ]
    data = [
        b" ".join(pieces[i] for i in rng.integers(0, len(pieces), rng.integers(0, 12))) for _ in range(30_000)
    ]
    wanted = [slow_row(line) for line in data]
    found = [(text.split(" ") if text else [], labels) for text, labels in lines(tmp_path, b"\n".join(data))]
    assert [([token for token in text if token], labels) for text, labels in found] == [
        row for row in wanted if row[1]
    ]


def test_other_prefixes(tmp_path):
    assert lines(tmp_path, "#a x __label__b\n", prefix="#") == [("x __label__b", ["a"])]
    for prefix in ("", "a b", "\t", "a\0"):
        with pytest.raises(ConfigError, match="prefix=.*must be at least one character"):
            lines(tmp_path, "x\n", prefix=prefix)


def test_odd_lines(tmp_path):
    data = "\n__label__a x\r\n\r\nno label\n__label__b\n   \n__label__a __label__b y"
    path = write(tmp_path / "x.txt", data)
    found = LabelledRows(path)
    assert list(found) == [("x", ["a"]), ("", ["b"]), ("y", ["a", "b"])]
    report = found.report
    assert (report.rows, report.without_label, report.without_text, report.several_labels) == (4, 1, 1, 1)
    assert report.lines() == [
        "3 of 4 rows were read",
        "1 of 4 rows have no label and were left out",
        "1 of 4 rows have no text and count as empty texts",
    ]
    assert len(list(found)) == 3  # again
    assert found.report == report
    assert counts(write(path, "__label__a x\n")).lines() == []


def test_a_label_must_have_a_name(tmp_path):
    for line in ("__label__ x", "x __label__", "__label__"):
        with pytest.raises(DataError, match=r"x.txt: line 3: a label is empty.*prefix __label__"):
            lines(tmp_path, f"__label__a x\n\n{line}\n", strict=True)
    many = LabelledRows(write(tmp_path / "x.txt", "__label__a x\n" * 200_000 + "__label__ x\n"))
    assert len(list(many)) == 200_000
    assert many.report.lines() == [
        "200,000 of 200,001 rows were read",
        "1 of 200,001 rows are bad and were left out, for example:",
        "  line 200001: a label is empty, there is only its prefix __label__",
    ]


def test_long_lines(tmp_path):
    text = "word " * 2_000_000
    assert lines(tmp_path, f"__label__a {text}\n__label__b x") == [(text.strip(), ["a"]), ("x", ["b"])]
    labels = [str(i) for i in range(300_000)]
    assert lines(tmp_path, " ".join(f"__label__{label}" for label in labels)) == [("", labels)]


def test_invalid_utf8_survives(tmp_path):
    assert lines(tmp_path, b"__label__\xff caf\xe9\n") == [("caf\udce9", ["\udcff"])]


def test_a_byte_order_mark_is_no_text(tmp_path):
    assert lines(tmp_path, b"\xef\xbb\xbf__label__a x\n") == [("x", ["a"])]
    path = write(tmp_path / "x.csv", b"\xef\xbb\xbftext,label\nx,a\n")
    assert rows(path) == [("x", ["a"])]


def test_binary_files_are_refused(tmp_path):
    data = bytes(range(256)) * 50
    with pytest.raises(DataError, match="does not look like text"):
        lines(tmp_path, data)
    assert counts(tmp_path / "x.txt", force=True).rows > 0


# files


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["x", "x.csv", "x.jsonl"])
def test_compressed_files(name, pack, tmp_path):
    data = {
        "x": b"__label__a x\n",
        "x.csv": b"text,label\nx,a\n",
        "x.jsonl": b'{"text": "x", "label": "a"}\n',
    }[name]
    ending = {gzip.compress: "gz", bz2.compress: "bz2", lzma.compress: "xz"}[pack]
    assert rows(write(tmp_path / f"{name}.{ending}", pack(data))) == [("x", ["a"])]
    assert rows(write(tmp_path / name, pack(data))) == [("x", ["a"])]


def test_several_files(tmp_path):
    write(tmp_path / "1.txt", "__label__a 1")
    write(tmp_path / "2.csv", "label,text\nb,2\n")
    write(tmp_path / "3.jsonl", '{"text": "3", "label": "c"}\n')
    wanted = [("1", ["a"]), ("2", ["b"]), ("3", ["c"])]
    paths = sorted(tmp_path.iterdir())
    assert (
        rows(tmp_path) == rows(str(tmp_path / "*")) == rows(paths) == rows([str(p) for p in paths]) == wanted
    )
    with pytest.raises(DataError, match="no such file"):
        LabelledRows(tmp_path / "none")


def test_standard_input(monkeypatch):
    for kind, data in (
        (None, b"__label__a x\n"),
        ("csv", b"text,label\nx,a\n"),
        ("jsonl", b'{"text":"x","label":"a"}'),
    ):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        found = LabelledRows("-", kind=kind)
        assert list(found) == [("x", ["a"])]
        assert not found.again
        with pytest.raises(DataError, match="were read already"):
            list(found)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_named_pipes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = LabelledRows(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[b"__label__a x\n"])
    writer.start()
    assert list(found) == [("x", ["a"])]
    writer.join()
    with pytest.raises(DataError, match="were read already"):
        list(found)


def test_a_kind_instead_of_an_ending(tmp_path):
    path = write(tmp_path / "x.data", "text\tlabel\nx\ta\n")
    assert rows(path, kind="tsv") == [("x", ["a"])]
    with pytest.raises(ConfigError, match="kind='xml': must be one of text, csv, tsv, jsonl, parquet"):
        rows(path, kind="xml")


def test_lines_have_no_columns(tmp_path):
    for how in ({"column": "x"}, {"label_column": "x"}):
        with pytest.raises(ConfigError, match="only tables have columns"):
            lines(tmp_path, "__label__a x", **how)
        with pytest.raises(ConfigError, match="only tables have columns"):
            rows([("x", "a")], **how)


# CSV and TSV


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_delimited_files(name, tmp_path):
    cells = [["id", "text", "label"], ["1", 'a "b", \tc\nd\r\ne', "x y"], ["2", "", "z"], ["3", "none", ""]]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter="\t" if name == "x.tsv" else ",").writerows(cells)
    path = write(tmp_path / name, out.getvalue())
    found = LabelledRows(path)
    assert list(found) == [(cells[1][1], ["x y"]), ("", ["z"])]
    assert (found.report.rows, found.report.without_label, found.report.without_text) == (3, 1, 1)
    assert rows(path, column="id", label_column="text")[0] == ("1", [cells[1][1]])


def test_the_only_other_column_is_the_text(tmp_path):
    assert rows(write(tmp_path / "x.csv", "body,labels\nx,a\n\n")) == [("x", ["a"])]
    with pytest.raises(DataError, match=r"2 columns can be text.*choose one.*b \(text\), c \(text\)"):
        rows(write(tmp_path / "x.csv", "label,b,c\nx,a,b\n"))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("text,label\nx,a\ny\n", "x.csv: line 3: has 1 fields, not 2"),
        ('text,label\n"a\nb",x\n1,2,3\n', "x.csv: line 4: has 3 fields, not 2"),
        ('text,label\nx,"a\ny,b\n', "x.csv: line 2: a quote opens a field and is not closed"),
        ('text,label\n"x"y,b\n', "x.csv: line 2: has text behind a closing quote"),
        ("text,topic\nx,a\n", r"there is no column label or labels.*columns are text, topic"),
        ("text,text,label\nx,y,a\n", "several columns are called 'text'"),
    ],
)
def test_damaged_csv(data, error, tmp_path):
    with pytest.raises(DataError, match=error):
        rows(write(tmp_path / "x.csv", data), strict=True)


def test_missing_columns(tmp_path):
    path = write(tmp_path / "x.csv", "text,label\nx,a\n")
    with pytest.raises(DataError, match="column 'nope': there is no such column; the columns are text"):
        rows(path, column="nope")
    with pytest.raises(DataError, match="there is no column nope.*the columns are text, label"):
        rows(path, label_column="nope")


def test_empty_files(tmp_path):
    for name in ("x", "x.csv", "x.jsonl"):
        assert rows(write(tmp_path / name, "")) == []
    assert rows(write(tmp_path / "x.csv", "text,label\n")) == []
    assert rows(write(tmp_path / "x.csv", "text,label\n" + '"' + "long " * 2_000_000 + '",a\n'))[0][1] == [
        "a"
    ]


# JSON lines


def test_json_lines(tmp_path):
    objects = [
        {"text": "a\nb \u2028 é", "label": "x"},
        {"label": ["x", "y"], "text": None, "n": {"deep": [1]}},
        {"text": "n", "label": 3},
        {"text": "b", "label": True},
        {"text": "f", "label": 4.5},
        {"text": "f", "label": 4.0},
        {"text": "no", "label": None},
        {"text": "no", "label": []},
        {"text": "big", "label": 10**400},
        {"text": "\ud800", "label": "\udcff"},
    ]
    data = "\r\n".join(json.dumps(each) for each in objects) + "\n\n \n"
    found = LabelledRows(write(tmp_path / "x.jsonl", data))
    assert list(found) == [
        ("a\nb \u2028 é", ["x"]),
        ("", ["x", "y"]),
        ("n", ["3"]),
        ("b", ["True"]),
        ("f", ["4.5"]),
        ("f", ["4"]),
        ("big", [str(10**400)]),
        ("\ud800", ["\udcff"]),
    ]
    assert found.report.without_label == 2


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"text": "x"', "line 3: is not valid JSON"),
        ("[1]", "line 3: is of type list, not an object"),
        ("[" * 100_000, "line 3: is not valid JSON"),
        ("9" * 5000, "line 3: is not valid JSON"),
        ('{"text": 1, "label": "a"}', "line 3: text is 1 of type int, not text"),
        ('{"text": ["x"], "label": "a"}', r"line 3: text is \['x'\], which is nested"),
        ('{"text": "x", "label": {"a": 1}}', "line 3: label is {'a': 1}, which is nested"),
        ('{"text": "x", "label": ["a", {"a": 1}]}', "line 3: label is .*, which is nested"),
    ],
)
def test_damaged_json_lines(line, error, tmp_path):
    path = write(tmp_path / "x.jsonl", '{"text": "x", "label": "a"}\n\n' + line + "\n")
    with pytest.raises(DataError, match=f"x.jsonl: {error}"):
        rows(path, strict=True)
    found = LabelledRows(path)
    assert list(found) == [("x", ["a"])]
    assert re.search(error, found.report.examples[0])
    with pytest.raises(DataError, match=f"2 of 3 rows are bad.*{error}.*check the format"):
        rows(write(path, path.read_text() + line))


# tables


TABLE = {"n": [1, 2, 3], "body": ["some words", "more", None], "label": ["a", "b", None]}


def test_tables(tmp_path):
    table = pa.table(TABLE)
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.parquet.write_table(table, tmp_path / "no_ending")
    for source in (
        table,
        pd.DataFrame(TABLE),
        pl.DataFrame(TABLE),
        tmp_path / "x.parquet",
        tmp_path / "no_ending",
    ):
        found = LabelledRows(source)
        assert list(found) == list(found) == ROWS
        assert (found.report.rows, found.report.without_label, found.report.without_text) == (3, 1, 1)
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    found = LabelledRows(reader)
    assert list(found) == ROWS
    with pytest.raises(DataError, match="were read already"):
        list(found)


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        ([1, 2], ["1", "2"]),
        ([True, False], ["True", "False"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
    ],
)
def test_label_types_of_arrow(cells, labels):
    assert rows(pa.table({"text": TEXTS, "label": cells})) == [
        (t, [x]) for t, x in zip(TEXTS, labels, strict=True)
    ]


def test_rows_without_columns_have_no_label(tmp_path):
    table = pa.table({"text": ["a"] * 4}).select([])
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    found = counts(tmp_path / "x.arrow")
    assert (found.rows, found.without_label) == (4, 4)


def test_lists_of_labels_and_nulls():
    source = {"text": ["x", "y", "z"], "labels": [["a", "b"], None, []]}
    for make in (pa.table, pd.DataFrame, pl.DataFrame):
        found = LabelledRows(make(source))
        assert list(found) == [("x", ["a", "b"])]
        assert found.report.without_label == 2
        assert found.report.several_labels == 1


def test_ints_with_nulls_in_pandas():
    assert rows(pd.DataFrame({"text": ["x", "y"], "label": [1, None]})) == [("x", ["1"])]


def test_tokens_are_no_text():
    with pytest.raises(DataError, match="column 'text' holds lists of tokens"):
        rows(pa.table({"text": [["a"]], "label": ["x"]}))


def test_invalid_utf8_in_arrow(tmp_path):
    raw = pa.array([b"caf\xe9", b"x", None])
    bad = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    lists = pa.ListArray.from_arrays([0, 2, 2, 3], bad)
    for column in (bad, pa.DictionaryArray.from_arrays([0, 1, 2], bad)):
        table = pa.table({"text": column, "label": bad})
        assert rows(table) == [("caf\udce9", ["caf\udce9"]), ("x", ["x"])]
    assert rows(pa.table({"text": bad, "label": lists})) == [("caf\udce9", ["caf\udce9", "x"])]
    pyarrow.parquet.write_table(pa.table({"text": bad, "label": bad}), tmp_path / "x.parquet")
    assert rows(tmp_path / "x.parquet")[0] == ("caf\udce9", ["caf\udce9"])


def test_damaged_parquet(tmp_path):
    pyarrow.parquet.write_table(pa.table(TABLE), tmp_path / "x.parquet")
    data = (tmp_path / "x.parquet").read_bytes()
    for damaged in (data[:-5], b"", b"PAR1PAR1"):
        with pytest.raises(DataError, match="x.parquet: the parquet file cannot be read"):
            rows(write(tmp_path / "x.parquet", damaged))
    with pytest.raises(DataError, match="packed inside"):
        rows(write(tmp_path / "x.parquet.gz", gzip.compress(data)))


class FakeLabels:
    """What `datasets.ClassLabel` shows of itself."""

    names = ["neg", "pos"]


class FakeList:
    """What a list of class labels shows of itself."""

    feature = FakeLabels()


class FakeDataset:
    """What a Hugging Face dataset shows of itself."""

    def __init__(self, table, features):
        self.table, self.features = table, features
        self.column_names = table.column_names

    def with_format(self, name):
        assert name == "arrow"
        return self

    def iter(self, batch_size):
        for start in range(0, len(self.table), batch_size):
            yield self.table.slice(start, batch_size)


def test_class_labels_of_datasets():
    table = pa.table({"text": ["x", "y", "z"], "label": [1, 0, -1]})
    assert rows(FakeDataset(table, {"label": FakeLabels()})) == [("x", ["pos"]), ("y", ["neg"])]
    assert rows(FakeDataset(table, None))[2] == ("z", ["-1"])
    assert rows(FakeDataset(table, {"label": object()}))[0] == ("x", ["1"])
    several = pa.table({"text": ["x"], "labels": [[0, 1]]})
    assert rows(FakeDataset(several, {"labels": FakeList()})) == [("x", ["neg", "pos"])]
    with pytest.raises(DataError, match="the label is 7, but labels are numbers below 2"):
        rows(FakeDataset(pa.table({"text": ["x"], "label": [7]}), {"label": FakeLabels()}))


# from Python


def test_rows_that_are_dicts():
    source = [{"text": text, "label": label} for text, label in zip(TEXTS, LABELS, strict=True)]
    found = LabelledRows(source)
    assert list(found) == list(found) == rows(iter(source)) == ROWS
    many = LabelledRows({"text": "x", "label": i} for i in range(10_000))
    assert [labels for _, labels in many] == [[str(i)] for i in range(10_000)]
    assert rows([{"text": float("nan"), "label": "a"}, {"text": "x", "label": float("nan")}]) == [("", ["a"])]
    with pytest.raises(DataError, match="row 2: is not like the first row"):
        rows([source[0], "x"], strict=True)
    assert rows([source[0], "x", {"a": 1}]) == ROWS[:1]


def test_pairs():
    assert rows(zip(TEXTS, LABELS, strict=True)) == rows([["some words", ["a"]], ("more", "b")]) == ROWS
    with pytest.raises(DataError, match=r"row 2: is not like the first row: a dict, or a tuple"):
        rows([("x", "y"), ("x", "y", "z")], strict=True)
    with pytest.raises(DataError, match="row 2 is 3: give pairs"):
        rows(["__label__a x", 3])
    for wrong in (3, b"x"):
        with pytest.raises(DataError, match="the source: .* is of type"):
            LabelledRows(wrong)
    with pytest.raises(DataError, match="a dict with the keys 'train'"):
        rows({"train": []})


@pytest.mark.parametrize(
    "make",
    [list, tuple, iter, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])],
)
def test_texts_and_labels(make):
    assert rows(make(TEXTS), make(LABELS)) == ROWS
    assert rows(TEXTS, make([1, 2])) == [(TEXTS[0], ["1"]), (TEXTS[1], ["2"])]


def test_many_kinds_of_labels():
    labels = ["a", 1, np.int64(2), True, np.bool_(False), ["b", 3], np.array([4, 5]), None, "", 2.5, {"s"}]
    found = rows(["x"] * len(labels), labels)
    assert [each for _, each in found] == [
        ["a"], ["1"], ["2"], ["True"], ["False"], ["b", "3"], ["4", "5"], ["2.5"], ["s"],
    ]  # fmt: skip
    assert rows(pd.DataFrame({"t": TEXTS, "n": [1, 2]}), LABELS) == ROWS
    assert rows(pa.table({"t": TEXTS, "u": LABELS}), LABELS, column="t") == ROWS


@pytest.mark.parametrize(("texts", "labels"), [(3, 2), (2, 3), (0, 1), (5, 1)])
def test_lengths_must_be_equal(texts, labels):
    error = f"there are {texts} texts, but {labels} labels"
    with pytest.raises(DataError, match=error):
        LabelledRows(["x"] * texts, ["a"] * labels)
    with pytest.raises(DataError, match=error):
        rows(iter(["x"] * texts), iter(["a"] * labels))


def test_wrong_texts_and_labels():
    found = LabelledRows(["x", 5, "y"], ["a", "b", {"c": 1}], strict=False)
    with pytest.raises(DataError, match="2 of 3 rows are bad .*row 2: text is 5 of type int.*; row 3"):
        list(found)
    with pytest.raises(DataError, match="row 2: text is 5 of type int, not text; fix it"):
        rows(["x", 5], LABELS, strict=True)
    assert rows(TEXTS, ["a", b"x"]) == [(TEXTS[0], ["a"]), (TEXTS[1], ["x"])]
    for texts, labels, what in (
        ("x.txt", LABELS, "texts"),
        (Path("x"), LABELS, "texts"),
        (TEXTS, "ab", "labels"),
    ):
        with pytest.raises(DataError, match=f"the {what}: .* is of type"):
            LabelledRows(texts, labels)


def test_an_iterator_is_read_once():
    found = LabelledRows(iter(TEXTS), LABELS)
    assert list(found) == ROWS
    with pytest.raises(DataError, match="were read already: give a list or a file"):
        list(found)
