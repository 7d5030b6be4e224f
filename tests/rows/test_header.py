"""CSV and TSV without a header line, and other separators: wherever files of rows are read or copied."""

import json

import pytest
from commands import run

import unhot
from unhot.corpus.encoding import encode
from unhot.errors import ConfigError, DataError
from unhot.graphs.reading import read_graph
from unhot.logs.events import read_events
from unhot.logs.log_reading import LogReading
from unhot.rows.copied import copy_rows
from unhot.rows.labelled import LabelledRows

NEWS = ('"3","Fears for T N","Unions, ""workers""\nand more"\n', '"4","Rocket","x"\n', '"3","Oil","up"\n')
SHORT = ("--dim", "8", "--epochs", "1", "--threads", "1")


def write(path, data):
    path.write_bytes(data.encode())
    return path


def measured(texts):
    return [[text[:1] for text in texts], [float(len(text)) for text in texts]]


@pytest.mark.parametrize(
    "header", [("label", "title", "text"), "label,title,text", ["label", "title", "text"]]
)
@pytest.mark.parametrize("name", ["test.csv", "test", "test.txt"])
def test_rows_with_labels(header, name, tmp_path):
    path = write(tmp_path / name, "".join(NEWS))
    found = LabelledRows(path, header=header)
    wanted = [('Unions, "workers"\nand more', ["3"]), ("x", ["4"]), ("up", ["3"])]
    assert list(found) == list(found) == wanted
    assert found.report.rows == 3
    assert [text for text, _ in LabelledRows(path, header=header, column="title")] == [
        *("Fears for T N", "Rocket", "Oil")
    ]


@pytest.mark.parametrize(
    ("separator", "given"),
    [(";", ";"), ("\t", "\t"), ("\t", "tab"), ("\t", "\\t"), ("|", "|"), ("\x01", "\x01")],
)
@pytest.mark.parametrize("named", [False, True])
def test_separators(separator, given, named, tmp_path):
    lines = [["text", "label"]] * named + [["a, b", "x"], ["c|d" if separator != "|" else "c", "y;z"[:1]]]
    path = write(tmp_path / "x.csv", "".join(separator.join(line) + "\n" for line in lines))
    how = {} if named else {"header": ("text", "label")}
    found = list(LabelledRows(path, separator=given, **how))
    assert found == [("a, b", ["x"]), (lines[-1][0], ["y"])]


def test_a_quoted_name_may_have_a_comma(tmp_path):
    path = write(tmp_path / "x.csv", "1,2\n")
    assert list(LabelledRows(path, header='"a,b",label', column="a,b")) == [("1", ["2"])]


def test_a_header_of_another_size(tmp_path):
    path = write(tmp_path / "x.csv", "".join(NEWS))
    wrong = r"x.csv: the header has 2 names \(label, text\), but rows have 3 fields with ',' between them"
    with pytest.raises(DataError, match=wrong):
        list(LabelledRows(path, header=("label", "text")))
    with pytest.raises(DataError, match="has 2 names .* rows have 1 fields with '\\|' between them"):
        list(LabelledRows(path, header=("label", "text"), separator="|"))
    # one bad row says nothing about the others
    write(path, "1,2\n" + "".join(NEWS))
    found = LabelledRows(path, header=("label", "title", "text"))
    assert len(list(found)) == 3
    assert found.report.examples == ["line 1: has 2 fields, not 3"]
    assert list(LabelledRows(write(path, ""), header=("label", "text"))) == []


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"header": ()}, r"header=\(\): must name all columns"),
        ({"header": ""}, "header='': must name all columns"),
        ({"header": (1, 2)}, r"header=\(1, 2\): must name all columns"),
        ({"separator": ""}, "separator='': must be one ASCII character"),
        ({"separator": "::"}, "separator='::': must be one ASCII character"),
        ({"separator": "\u00a6"}, "separator='\u00a6': must be one ASCII character"),
        ({"separator": '"'}, "separator='\"': must be one ASCII character"),
        ({"separator": "\n"}, r"separator='\\n': must be one ASCII character"),
        (
            {"header": "a,b", "kind": "jsonl"},
            "header='a,b': only CSV and TSV have one, not jsonl; leave it out",
        ),
        ({"separator": ",", "kind": "text"}, "separator=',': only CSV and TSV have one, not text"),
        ({"separator": ",", "kind": "parquet"}, "only CSV and TSV have one, not parquet"),
    ],
)
def test_what_makes_no_sense(how, error, tmp_path):
    path = write(tmp_path / "x.csv", "1,2\n")
    for read in (LabelledRows, encode):
        with pytest.raises(ConfigError, match=error):
            read(path, **how)
    with pytest.raises(ConfigError, match=error):
        copy_rows(path, tmp_path / "o.csv", measured, **how)
    kind = {"format": how["kind"]} if "kind" in how else {}
    if kind.get("format") != "text":
        with pytest.raises(ConfigError, match=error):
            LogReading(**{name: one for name, one in how.items() if name != "kind"}, **kind)


def test_files_that_have_no_header(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"text": ["a"], "label": ["b"]}), tmp_path / "x.parquet")
    write(tmp_path / "x.jsonl", '{"text": "a", "label": "b"}\n')
    write(tmp_path / "x", '{"text": "a", "label": "b"}\n')
    write(tmp_path / "x.json", '[{"text": "a", "label": "b"}]')
    for name, what in (
        *(
            ("x.parquet", "parquet"),
            ("x.jsonl", "JSON lines"),
            ("x", "JSON lines"),
            ("x.json", "a JSON list"),
        ),
    ):
        path = tmp_path / name
        for how in ({"header": "text,label"}, {"separator": ";"}):
            wrong = f"{name}: is {what}, but a header or a separator is given, which only CSV and TSV have"
            with pytest.raises(DataError, match=wrong):
                list(LabelledRows(path, **how))
            with pytest.raises(DataError, match=wrong):
                encode(path, **how)
            with pytest.raises(DataError, match=wrong):
                read_events(path, LogReading(**how))
    for source in ([("a", "b")], [{"text": "a", "label": "b"}], pa.table({"text": ["a"], "label": ["b"]})):
        with pytest.raises(DataError, match=f"the source: is a {type(source).__name__}, but a header"):
            list(LabelledRows(source, header="text,label"))
        with pytest.raises(DataError, match=f"the source: is a {type(source).__name__}, but a header"):
            encode(source, header="text,label")


def test_texts(tmp_path):
    path = write(tmp_path / "x.csv", "".join(NEWS))
    with encode(path, header="label,title,text", column="title", min_count=1) as corpus:
        assert sorted(corpus.vocabulary.words) == ["Fears", "N", "Oil", "Rocket", "T", "for"]
        assert corpus.report.said == (f"{path}: read as CSV, text = title",)
    model = unhot.NGramModel(order=2).fit(path, header="label,title,text")
    assert model.perplexity(path, header=("label", "title", "text")).lines == 3


@pytest.mark.parametrize(
    ("out", "wanted"),
    [
        ("o.csv", "3;a b;x;a;3.0\n4;c;y;c;1.0\n"),
        ("o.tsv", "3\ta b\tx\ta\t3.0\n4\tc\ty\tc\t1.0\n"),
        ("o.csv.gz", None),
    ],
)
def test_a_copy_of_a_file_without_a_header_has_none(out, wanted, tmp_path):
    path, how = write(tmp_path / "x.csv", "3;a b;x\n4;c;y\n"), {"header": "label,text,z", "separator": ";"}
    copy_rows(path, tmp_path / out, measured, rename={"label": "predicted"}, **how)
    assert wanted is None or (tmp_path / out).read_text() == wanted
    copy_rows(path, tmp_path / "o.jsonl", measured, rename={"label": "predicted"}, **how)
    first = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])
    assert first == {"label": "3", "text": "a b", "z": "x", "predicted": "a", "score": 3.0}
    with pytest.raises(DataError, match="has a column 'label' already"):
        copy_rows(path, tmp_path / out, measured, **how)


def test_logs(tmp_path):
    path = write(tmp_path / "x.txt", "a;u1;100\nb;u2;200\na;u2;300\n")
    found = read_events(path, LogReading(header=("item", "user", "time"), separator=";"))
    assert (found.user_words, found.item_words, found.times.tolist()) == (
        ["u1", "u2"],
        ["a", "b"],
        [100, 200, 300],
    )
    assert found.columns == {"user": "user", "item": "item", "time": "time"}
    rated = write(
        tmp_path / "u.tsv", "1\t2\t3\t100\n5\t2\t4\t200\n"
    )  # MovieLens', but the header says otherwise
    found = read_events(rated, LogReading(header="item,user,x,time"))
    assert (found.user_words, found.item_words) == (["2"], ["1", "5"])
    with pytest.raises(DataError, match=r"the header has 2 names \(user, item\), but rows have 3 fields"):
        read_events(path, LogReading(header="user,item", separator=";"))


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("a;2;b\nb;3;c\nc;1;a\n", {"separator": ";", "header": "from,km,to"}),
        (
            "a;2;b\nb;3;c\nc;1;a\n",
            {"separator": ";", "header": ("x", "km", "y"), "columns": ("x", "y", "km")},
        ),
        ("a 2 b\nb 3 c\nc 1 a\n", {"header": ("source", "weight", "target")}),
    ],
)
def test_graphs(text, how, tmp_path):
    told = []
    graph = read_graph(write(tmp_path / "x.txt", text), tell=told.append, directed=True, **how)
    assert sorted(graph.vocabulary.words) == ["a", "b", "c"]
    assert graph.columns.size == 3
    assert sum(graph.values) == (3 if how.get("header") == "from,km,to" else 6)
    assert any("edge list with a header" in line for line in told)


def test_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{'pos' if i % 2 else 'neg'};{'good' if i % 2 else 'bad'} film {i}\n" for i in range(60)]
    write(tmp_path / "x.csv", "".join(rows))
    how = ("--header", "label,text", "--separator", ";")

    def ok(*arguments):
        ended = run(*arguments)
        assert ended.returncode == 0, ended.stderr
        return ended

    told = ok("classify", "train", "x.csv", "-o", "m", "--validation", "x.csv", *how, *SHORT).stderr
    assert "x.csv: read as CSV, text = text, label = label" in told
    assert "60 lines" in ok("classify", "test", "m", "x.csv", *how).stdout
    ended = run("classify", "calibrate", "m", "x.csv", *how)
    assert "60 lines" in ended.stdout + ended.stderr
    ok("classify", "predict", "m", "x.csv", "-o", "o.csv", "--rename", "label=guess", *how)
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 60
    tabs = ("--header", "label,text", "--separator", r"\t", "--column", "text")
    write(tmp_path / "x.txt", "".join(rows).replace(";", "\t"))
    ok("train", "x.txt", "-o", "v", "--min-count", "1", *SHORT, *tabs)
    assert "good" in unhot.Vectors.load("v").words
    ok("lm", "train", "x.txt", "-o", "lm", "--order", "2", *tabs)
    assert "60 lines" in ok("lm", "perplexity", "lm", "x.txt", *tabs).stdout
    ok("lm", "score", "lm", "x.txt", "-o", "s.tsv", *tabs)
    assert len((tmp_path / "s.tsv").read_text().splitlines()) == 60
    for command in (("lm", "count"), ("phrases",)):
        ok(*command, "x.txt", *tabs)
    ok("cooccur", "x.txt", "-o", "cells", "--min-count", "1", *tabs)
    ok("evaluate", "v", "--text", "x.txt", *tabs)
    log = "".join(f"i{i % 7};u{i % 9};{i}\n" for i in range(60))
    write(tmp_path / "log.csv", log)
    roles = ("--header", "item,user,time", "--separator", ";")
    ok("recommend", "train", "log.csv", "-o", "rec", "--model", "popularity", *roles)
    assert "i3" in ok("recommend", "for", "rec", "u1", "--log", "log.csv", "--keep-seen").stdout
    ok("graph", "train", "log.csv", "-o", "g", "--sources", "user", "--targets", "item", *SHORT, *roles)
    ended = run("classify", "test", "m", "x.csv", "--header", "a,b", "--format", "jsonl")
    assert ended.returncode == 2
    assert "header='a,b': only CSV and TSV have one, not jsonl" in ended.stderr


def test_a_training_is_resumed_with_its_header(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "x.csv", "".join(f"{i};the cat {i % 3} sat\n" for i in range(200)))
    how = ("--header", "n,text", "--separator", ";", "--min-count", "1", "--dim", "8", "--threads", "1")
    assert run("train", "x.csv", "-o", "m", "--epochs", "4000", *how, interrupt="epoch 3/").returncode == 130
    ended = run("train", "--resume", "m", interrupt="epoch 9")
    assert "resuming after" in ended.stderr
