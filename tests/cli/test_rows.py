"""One file, one reading, whichever command opens it, and by whatever name it comes."""

import contextlib
import gzip
import json
import os
from datetime import datetime
from pathlib import Path

import pytest
from commands import run

import unhot
from unhot.corpus.encoding import encode
from unhot.errors import DataError
from unhot.graphs.reading import read_graph
from unhot.logs.events import read_events
from unhot.logs.log_reading import LogReading

ROWS = [{"id": f"00{i}", "text": f"good w{i % 5}\nbad w{i % 3}", "label": "ab"[i % 2]} for i in range(60)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
FILES = {
    "x.jsonl": LINES,
    "x.json": LINES,
    "x.json.gz": gzip.compress(LINES),
    "x": LINES,
    "list.json": json.dumps(ROWS, indent=1).encode(),
    "list": json.dumps(ROWS).encode(),
}
NAMES = [*FILES, "-"]
PRETTY = json.dumps({"a": [1, 2], "b": 3}, indent=1)
FEW = "--dim 4 --epochs 1 --threads 1".split()
NGRAMS = "--order 2 --smoothing witten_bell".split()


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    for name, data in FILES.items():
        (place / name).write_bytes(data)
    (place / "pretty.json").write_text(PRETTY)
    with contextlib.chdir(place):
        unhot.Classifier(dim=4, epochs=2, threads=1).fit("x.jsonl").save("classifier")
        unhot.NGramModel(order=2, smoothing="witten_bell").fit([row["text"] for row in ROWS]).save("lm")
        unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1).fit("x.jsonl").save("words")
        yield place


def told(name, label=""):
    name = "standard input" if name == "-" else name
    return f"{name}: read as JSON lines, text = text{label}"


def run_on(name, *arguments):
    return run(*arguments, text=LINES if name == "-" else b"")


@pytest.mark.parametrize("name", NAMES)
def test_predict_keeps_all_columns(name, tmp_path):
    out = tmp_path / "o.jsonl"
    result = run_on(name, "classify", "predict", "classifier", name, "-o", out, "--rename", "label=guess")
    assert (result.returncode, result.stderr) == (0, told(name) + "\n")
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [{key: row[key] for key in ROWS[0]} for row in found] == ROWS
    assert {row["guess"] for row in found} <= {"a", "b"}


@pytest.mark.parametrize("name", NAMES)
def test_a_classifier_is_tested_on_the_labels(name):
    result = run_on(name, "classify", "test", "classifier", name, "--json")
    assert (result.returncode, result.stderr) == (0, told(name, ", label = label") + "\n")
    assert json.loads(result.stdout)["examples"] == 60


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_those_of_the_column(name, tmp_path):
    out = tmp_path / "o.jsonl"
    result = run_on(name, "lm", "score", "lm", name, "-o", out)
    assert (result.returncode, result.stderr.splitlines()[0]) == (0, told(name))
    assert [json.loads(line)["id"] for line in out.read_text().splitlines()] == [row["id"] for row in ROWS]


@pytest.mark.parametrize("name", NAMES)
def test_the_perplexity_is_that_of_the_column(name):
    result = run_on(name, "lm", "perplexity", "lm", name, "--json")
    assert (result.returncode, result.stderr) == (0, told(name) + "\n")
    assert json.loads(result.stdout)["tokens"] == 5 * len(ROWS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "command", [["lm", "train", *NGRAMS], ["train", *FEW, "--min-count", 1], ["classify", "train", *FEW]]
)
def test_all_trainings_read_the_column(command, name, tmp_path):
    label = ", label = label" * ("classify" in command)
    result = run_on(name, *command, name, "-o", tmp_path / "m")
    assert result.returncode == 0, result.stderr
    assert told(name, label) in result.stderr.splitlines()
    assert "240 words (7 different) in 60 sentences" in result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_commands_on_text_read_the_column(name, tmp_path):
    commands = [
        (["lm", "count", name], "bad w1 </s>     20"),
        (["phrases", name, "--min-count", 1, "-n", 1], ""),
        (["cooccur", name, "-o", tmp_path / "cells", "--min-count", 1, "-n", 1], "bad  w0           32.0000"),
        (["evaluate", "words", "--text", name], "pairs                   720"),
    ]
    for command, figure in commands:
        result = run_on(name, *command)
        assert (result.returncode, figure in result.stdout) == (0, True), result.stderr
        assert told(name) in result.stderr.splitlines()


ASKED = {  # commands that read text, and what they show of the column `body`
    ("lm", "count", "FILES"): "good w1 </s>     60",
    ("phrases", "FILES", "-n", 1): "180 words (3 different)",
    ("cooccur", "FILES", "-o", "cells", "-n", 1): "2 cells in",
    ("evaluate", "words", "--text", "FILES"): "pairs                   120",
    ("lm", "perplexity", "lm", "FILES"): "in 120 lines",
    ("classify", "test", "classifier", "FILES"): "\n120 lines;",
}


@pytest.mark.parametrize("command", ASKED)
def test_commands_on_text_take_a_format_a_column_and_several_files(command, tmp_path):
    for name in ("x1", "x2"):
        (tmp_path / name).write_text("id,body,label\n" + "1,good w1,a\n2,bad,b\n" * 30)
    files = [str(tmp_path / "x?")] if "evaluate" in command else [tmp_path / "x1", str(tmp_path / "x[2]")]
    arguments = [each for part in command for each in (files if part == "FILES" else [part])]
    result = run(*arguments, "--format", "csv", "--column", "body")
    assert (result.returncode, ASKED[command] in result.stdout + result.stderr) == (0, True), result
    (tmp_path / "x2").write_text("id,body,label\n" + "1,good w1,a\n2,bad\n3,good w1,a\n" * 30)
    result = run(*arguments, "--format", "csv", "--column", "body")
    assert (result.returncode, "30 of 150 rows are bad" in result.stderr) == (0, True), result
    assert f"  {tmp_path / 'x2'}: line 3: has 2 fields, not 3" in result.stderr
    result = run(*arguments, "--format", "csv", "--column", "body", "--strict")
    assert (result.returncode, "x2: line 3: has 2 fields" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    "command",
    [["lm", "train", *NGRAMS], ["train", *FEW, "--min-count", 1], ["classify", "train", *FEW]],
)
def test_trainings_take_files_folders_and_patterns(command, tmp_path):
    (tmp_path / "dir").mkdir()
    for name in ("dir/a.jsonl", "a1.jsonl", "a2.jsonl"):
        (tmp_path / name).write_bytes(LINES)
    (tmp_path / "b.csv").write_text("text,label\n" + "good,a\nbad,b\n" * 10)
    given = [tmp_path / "b.csv", tmp_path / "dir", str(tmp_path / "a*.jsonl")]
    result = run(*command, *given, "-o", tmp_path / "m")
    assert (result.returncode, "740 words (7 different) in 200 sentences" in result.stderr) == (0, True)


def test_fit_takes_several_files(tmp_path):
    (tmp_path / "b.csv").write_text("text,label\n" + "good,a\nbad,b\n" * 10)
    given = ["x.jsonl", str(tmp_path / "b.csv")]
    assert unhot.SkipGram(dim=4, epochs=1, min_count=1, threads=1).fit(given).history.words == 260
    assert unhot.Classifier(dim=4, epochs=1, threads=1).fit(given).history.words == 260
    found = unhot.NGramModel(order=2, smoothing="witten_bell").fit(given).perplexity(given)
    assert (found.lines, found.tokens) == (80, 340)


@pytest.mark.parametrize(
    "command",
    [
        ("train", "pretty.json", "-o", "never"),
        ("phrases", "pretty.json"),
        ("cooccur", "pretty.json", "-o", "never"),
        ("lm", "count", "pretty.json"),
        ("evaluate", "words", "--text", "pretty.json"),
        ("lm", "train", "pretty.json", "-o", "never"),
        ("classify", "train", "pretty.json", "-o", "never"),
        ("classify", "predict", "classifier", "pretty.json", "-o", "never"),
        ("lm", "perplexity", "lm", "pretty.json"),
        ("recommend", "train", "pretty.json", "-o", "never"),
    ],
)
def test_what_is_unclear_names_the_choices(command):
    result = run(*command)
    assert result.returncode == 1
    assert "neither JSON lines" in result.stderr
    assert "--format text|csv|tsv|jsonl" in result.stderr
    assert not Path("never").exists()


def test_a_format_that_is_given(tmp_path):
    (tmp_path / "x").write_text("id,body\n" + "1,good w1\n2,bad\n" * 30)
    how = ("--format", "csv", "--column", "body")
    for command in (["train", *FEW, "--min-count", 1, "--sample", 0], ["lm", "train", *NGRAMS]):
        result = run(*command, tmp_path / "x", "-o", tmp_path / command[0], *how)
        assert (result.returncode, "90 words (3 different) in 60 sentences" in result.stderr) == (0, True)
    result = run("lm", "perplexity", "lm", tmp_path / "x", *how, "--json")
    assert (result.returncode, json.loads(result.stdout)["lines"]) == (0, 60)
    as_text = run("lm", "perplexity", "lm", "x.jsonl", "--format", "text", "--json")
    assert (json.loads(as_text.stdout)["tokens"], as_text.stderr) == (60 * 9, "")


BAD = {
    "x.csv": (b"text,label\ngood,a\nw1,b,c\nw2,b\n", "line 3"),
    "x.tsv": (b"text\tlabel\ngood\ta\nw1\nw2\tb\n", "line 3"),
    "x.jsonl": (
        b'{"text": "good", "label": "a"}\n{"text": 5, "label": "b"}\n{"text": "w2", "label": "b"}\n',
        "line 2",
    ),
    "x.json": (
        b'[{"text": "good", "label": "a"}, {"text": [5], "label": "b"}, {"text": "w2", "label": "b"}]',
        "row 2",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_counted_or_an_error(name, tmp_path):
    data, where = BAD[name]
    (tmp_path / name).write_bytes(data)
    commands = [
        (
            "classify",
            "predict",
            "classifier",
            tmp_path / name,
            "-o",
            tmp_path / "o.jsonl",
            "--rename",
            "label=x",
            "-q",
        ),
        ("classify", "test", "classifier", tmp_path / name),
        ("classify", "train", tmp_path / name, "-o", tmp_path / "c", *FEW),
        ("lm", "score", "lm", tmp_path / name, "-o", tmp_path / "s.jsonl", "-q"),
        ("lm", "perplexity", "lm", tmp_path / name, "--column", "text"),
        ("lm", "train", tmp_path / name, "-o", tmp_path / "l", "--column", "text", *NGRAMS),
    ]
    for command in commands:
        result = run(*command)
        assert (result.returncode, "1 of 3 rows are bad" in result.stderr) == (0, True), result.stderr
        assert f"  {where}: " in result.stderr
        result = run(*command, "--strict", *["--overwrite"] * ("train" in command))
        assert (result.returncode, f"{name}: {where}: " in result.stderr) == (1, True), result.stderr


EMPTY = {  # ten rows: seven with a text, two without, and a bad one
    "x.csv": "text,label\n" + "good w1,a\n" * 7 + ",b\n" * 2 + "w2\n",
    "x.jsonl": '{"text": "good w1", "label": "a"}\n' * 7
    + '{"text": null, "label": "b"}\n{"label": "b"}\nw2\n',
}


@pytest.mark.parametrize("name", EMPTY)
def test_rows_without_a_text_are_counted(name, tmp_path):
    """In all readers with the same words; rows that were read and skipped add up to those of the file."""
    path, column = tmp_path / name, ("--column", "text")
    path.write_text(EMPTY[name])
    lines = [
        "7 of 10 rows were read",
        "2 of 10 rows have no text and were left out",
        "1 of 10 rows are bad and were left out, for example:",
    ]
    for command in (
        ("train", path, "-o", tmp_path / "v", *column, *FEW, "--min-count", "1", "--sample", "0"),
        ("lm", "train", path, "-o", tmp_path / "l", *column, *NGRAMS),
        ("lm", "count", path, *column),
        ("lm", "perplexity", "lm", path, *column),
        ("phrases", path, *column),
        ("cooccur", path, "-o", tmp_path / "c", "--min-count", "1", *column),
        ("evaluate", "words", "--text", path, *column),
    ):
        result = run(*command)
        assert result.returncode == 0, result.stderr
        assert [line for line in result.stderr.splitlines() if " of 10 rows " in line] == lines, command
    read, empty = "9 of 10 rows were read", "2 of 10 rows have no text and count as empty texts"
    for command in (
        ("classify", "train", path, "-o", tmp_path / "m", *FEW),
        ("classify", "test", "classifier", path),
    ):
        result = run(*command)
        told = [line for line in result.stderr.splitlines() if " of 10 rows " in line]
        assert (result.returncode, told) == (0, [read, empty, lines[2]]), result.stderr
    unscored = "were copied without a score"
    for command, source in (("lm", "lm"), ("classify", "classifier")):
        more = ("--rename", "label=x") * (command == "classify")
        result = run(
            command,
            "score" if command == "lm" else "predict",
            source,
            path,
            "-o",
            tmp_path / f"o{path.suffix}",
            *more,
        )
        told = [line for line in result.stderr.splitlines() if " of 10 rows " in line]
        assert told[1:] == [
            f"2 of 10 rows have no text and {unscored}",
            f"1 of 10 rows are bad and {unscored}, for example:",
        ]
    with encode(path, column="text", min_count=1, empty_lines=True) as corpus:
        found = corpus.report
    assert found.said[1:3] == ("9 of 10 rows were read", "2 of 10 rows have no text and are empty lines")


STRINGS = ["good w1", "bad\nw2 \u2028", "", 'say "good"']


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["x.json", "x", "x.txt", "x.json.gz"])
def test_a_json_list_of_strings_is_a_column_of_texts(name, indent, tmp_path):
    data = json.dumps(STRINGS, indent=indent).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    with encode(tmp_path / name, min_count=1, empty_lines=True) as corpus:
        assert corpus.report.said == (f"{tmp_path / name}: read as JSON lines, text = text",)
        assert (corpus.sentences, corpus.report.words) == (4, 7)
    result = run("lm", "score", "lm", tmp_path / name, "-o", tmp_path / "o.jsonl")
    assert result.returncode == 0, result.stderr
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert [row["text"] for row in rows] == STRINGS


def test_a_list_of_strings_with_other_items(tmp_path):
    (tmp_path / "x.json").write_text('["good w1", 5, {"text": "bad"}, null, "bad", "w1", "w2"]')
    with encode(tmp_path / "x.json", min_count=1) as corpus:
        assert "4 of 7 rows were read" in corpus.report.said
        assert corpus.report.said[-2:] == (
            "  row 2: text is 5 of type int, not text",
            "  row 3: text is {'text': 'bad'}, which is nested",
        )
    lines = '["the", "cat"]\n["a", "dog"]\n'  # lines of lists are neither
    (tmp_path / "x").write_text(lines)
    with pytest.raises(
        DataError, match=r"begins as a JSON list, and is not one .* \(kind=, or --format text\)"
    ):
        encode(tmp_path / "x")
    with encode(tmp_path / "x", kind="text", min_count=1) as corpus:
        assert corpus.sentences == 2
    (tmp_path / "x").write_text('["Hello", he said.]\n')  # begins as one until the comma
    with pytest.raises(DataError, match="begins as a JSON list, and is not one"):
        encode(tmp_path / "x")
    (tmp_path / "x").write_text('["Hello" he said, "and bye"]\n')
    with encode(tmp_path / "x", min_count=1) as corpus:
        assert corpus.report.said == ()


def test_rows_without_a_text_are_none_in_counts(tmp_path):
    for name, nulls in (("good", 0), ("all", 9)):
        rows = [{"text": "a b"}, *[{"text": None}] * nulls]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = [run("lm", "count", tmp_path / f"{name}.jsonl", "--json").stdout for name in ("good", "all")]
    assert found[0] == found[1]


OPEN = {  # rows of names, in which a quote is not closed
    "x.tsv": "text\tlabel\n" + 'good w1\ta\n"nail 5"\tb\n' * 10 + '"nail 5\tb\n',
    "x.csv": "text,label\n" + 'good w1,a\n"nail 5",b\n' * 10 + '"nail 5,b\n',
}


@pytest.mark.parametrize("name", OPEN)
def test_quotes_that_are_characters(name, tmp_path):
    (tmp_path / name).write_text(OPEN[name])
    kind = ("--format", f"{name[2:]}-unquoted")
    commands = [
        ["train", tmp_path / name, "-o", tmp_path / "w", *FEW, "--min-count", 1, "--sample", 0],
        ["classify", "train", tmp_path / name, "-o", tmp_path / "c", *FEW],
        ["lm", "train", tmp_path / name, "-o", tmp_path / "l", "--column", "text", *NGRAMS],
    ]
    for command in commands:
        result = run(*command)
        assert (result.returncode, f"{name}: line 22: a quote opens a field" in result.stderr) == (1, True)
        assert "--format csv-unquoted or tsv-unquoted" in result.stderr
        result = run(*command, *kind)
        assert (result.returncode, "42 words (" in result.stderr) == (0, True), result.stderr
        assert f"{name}: read as {name[2:].upper()} without quotes, text = text" in result.stderr
    out, line = tmp_path / f"o.{name[2:]}", OPEN[name].splitlines()[-1]
    assert run("lm", "score", "lm", tmp_path / name, "-o", out, "-q", *kind).returncode == 0
    assert out.read_text().splitlines()[-1].startswith(line)  # no quotes are added
    assert run("lm", "score", "lm", tmp_path / name, "-o", tmp_path / "o.jsonl", "-q", *kind).returncode == 0
    assert json.loads((tmp_path / "o.jsonl").read_text().splitlines()[-1])["text"] == '"nail 5'


def test_logs_side_tables_and_graphs_without_quotes(tmp_path):
    (tmp_path / "x.tsv").write_text("user\titem\n" + 'u1\t"nail\nu2\tb c\n' * 5)
    (tmp_path / "i.tsv").write_text('item\tname\n"nail\t5" nail\nb c\t"Two\n')
    command = ["recommend", "train", tmp_path / "x.tsv", "-o", tmp_path / "m", "--model", "popularity"]
    for more in ([], ["--items", tmp_path / "i.tsv"]):
        result = run(*command, *more, "--overwrite")
        assert (result.returncode, "--format csv-unquoted or tsv-unquoted" in result.stderr) == (1, True)
        result = run(*command, *more, "--overwrite", "--format", "tsv-unquoted", "--split", "none")
        assert (result.returncode, "10 events of 2 users with 2 items" in result.stderr) == (0, True)
    found = json.loads(run("recommend", "for", tmp_path / "m", "--history", "b c", "--json").stdout)
    assert [(each["item"], each["name"]) for each in found["b c"]] == [('"nail', '5" nail')]
    command = ["graph", "train", tmp_path / "x.tsv", "-o", tmp_path / "g", "--dim", 4, "--epochs", 1]
    columns = ("--sources", "user", "--targets", "item")
    result = run(*command, *columns, "--format", "tsv-unquoted")
    assert (result.returncode, "a graph of 4 nodes and 2 edges" in result.stderr) == (0, True), result.stderr


LOG = "user,item\n" + "".join(f"u{i % 5},i{i % 7}\n" for i in range(60))


@pytest.mark.parametrize(
    ("items", "lines"),
    [
        (
            "item,name\ni0,x\ni0,y\nzz,q\ni1,t\n",
            [
                "i.csv: 1 of 3 items are not in the log: zz",
                "i.csv: 1 of 3 items have several rows, and the first one counts: i0",
            ],
        ),
        (
            "item,name\ni0,x,3\ni1,y\n",
            [
                "i.csv: 1 of 2 rows are bad and were left out, for example:",
                "i.csv: line 2: has 3 fields, not 2",
            ],
        ),
        (
            "item,name\nI0,x\nI1,y\n",
            [
                "unhot: i.csv: none of its 2 items, such as I0, I1, is in the log, whose items are i0, i1, "
                "i2, i3, i4: give a file with the same ids"
            ],
        ),
    ],
)
def test_a_table_of_items_that_does_not_fit_the_log(items, lines, tmp_path):
    with contextlib.chdir(tmp_path):
        Path("x.csv").write_text(LOG)
        Path("i.csv").write_text(items)
        command = [
            "recommend",
            "train",
            "x.csv",
            "--items",
            "i.csv",
            "-o",
            "m",
            "--model",
            "popularity",
            "-q",
        ]
        result = run(*command)
        assert (result.stderr.splitlines(), result.returncode) == (lines, int("unhot: " in lines[0]))
        if "bad" in lines[0]:
            result = run(*command, "--overwrite", "--strict")
            assert (result.returncode, "i.csv: line 2: has 3 fields, not 2" in result.stderr) == (1, True)


def test_logs_and_graphs_say_what_they_read(tmp_path):
    with contextlib.chdir(tmp_path):
        Path("dir").mkdir()
        rows = [{"user": f"u{i % 5}", "item": f"i{i % 7}"} for i in range(60)]
        for name in ("dir/x.json", "a1", "a2"):
            Path(name).write_text(json.dumps(rows))
        Path("x.csv").write_text(LOG)
        result = run("recommend", "train", "x.csv", "dir", "a*", "-o", "m", "--model", "popularity")
        assert (result.returncode, "240 events of 5 users with 7 items" in result.stderr) == (0, True)
        said = "x.csv: read as CSV; dir/x.json: read as JSON lines; columns: user = user, item = item"
        assert said in result.stderr
        Path("s.txt").write_text("a b c\nb c d\n")
        result = run("recommend", "train", "s.txt", "-o", "s", "--model", "popularity")
        assert (result.returncode, "s.txt: read as lines of sessions\n" in result.stderr) == (0, True)
        result = run("graph", "train", "x.csv", "a1", "-o", "g", "--dim", 4, "--epochs", 1)
        said = "a1: read as JSON lines, sources = user, targets = item\n"
        assert (result.returncode, said in result.stderr) == (0, True), result.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("train", *FEW, "-o", "m"),
        ("classify", "train", *FEW, "-o", "m"),
        ("classify", "predict", "classifier", "-o", "o.jsonl", "--rename", "label=x"),
        ("classify", "test", "classifier"),
        ("lm", "perplexity", "lm"),
        ("recommend", "train", "--model", "popularity", "-o", "m"),
        ("graph", "train", "-o", "m"),
    ],
)
def test_more_bad_rows_than_good_ones(command, tmp_path):
    (tmp_path / "x.csv").write_text("text,user,item,label\ngood,u,i,a\n" + "x\n" * 5)
    result = run(*command[:2], *command[2:], tmp_path / "x.csv")
    assert result.returncode == 1
    assert "5 of 6 rows are bad (line 3: has 1 fields, not 4; line 4: " in result.stderr
    assert "check the format and the columns (" in result.stderr or command[0] == "graph"
    result = run(*command, "--strict", tmp_path / "x.csv")
    assert (result.returncode, "x.csv: line 3: has 1 fields, not 4; fix it" in result.stderr) == (1, True)


@pytest.mark.parametrize("name", ["list.json", "x.json", "x", "list"])
def test_json_lists_and_lines_as_logs(name, tmp_path):
    rows = [{"user": f"0{i % 3}", "item": f"1e{i}", "time": "2019-10-01 00:00:00 UTC"} for i in range(6)]
    text = json.dumps(rows) if "list" in name else "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / name).write_text(text)
    found = read_events(tmp_path / name)
    assert (found.user_words, found.item_words) == (["00", "01", "02"], [f"1e{i}" for i in range(6)])
    assert set(found.times.tolist()) == {1569888000.0}


IDS = ["007", "1e5", "nan", "NULL"]


def frames(folder):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import ipc, parquet

    columns = {"user": IDS, "item": IDS[::-1]}
    table = arrow.table(columns)
    parquet.write_table(table, folder / "x.parquet")
    for name, make in (("x.arrow", ipc.new_file), ("x.arrows", ipc.new_stream)):
        with make(folder / name, table.schema) as writer:
            writer.write_table(table)
    (folder / "x.csv").write_text(
        "".join(f"{a},{b}\n" for a, b in [("user", "item"), *zip(IDS, IDS[::-1], strict=True)])
    )
    rows = [dict(zip(columns, pair, strict=True)) for pair in zip(*columns.values(), strict=True)]
    (folder / "x.json").write_text(json.dumps(rows))
    (folder / "x.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = polars.DataFrame(columns)
    yield from (folder / name for name in ("x.csv", "x.json", "x.jsonl", "x.parquet", "x.arrow", "x.arrows"))
    yield from (table, rows, pandas.DataFrame(columns), frame)
    yield frame.cast(polars.Categorical)
    yield frame.cast(polars.Enum(IDS))
    yield pandas.DataFrame(columns).astype("category")


def test_ids_keep_their_spelling(tmp_path):
    for source in frames(tmp_path):
        found = read_events(source)
        assert [found.user_words[i] for i in found.users] == IDS
        assert [found.item_words[i] for i in found.items] == IDS[::-1]


@pytest.mark.parametrize(
    ("cells", "how", "times", "bad"),
    [
        (["2019-10-01 00:00:00 UTC"] * 3, {}, [1569888000.0] * 3, 0),
        (["20231127"] * 3, {}, [1701043200.0] * 3, 0),
        (
            ["27.11.2023 01:00", "x", "28.11.2023 00:00"],
            {"time_format": "%d.%m.%Y %H:%M"},
            [1701046800.0, 1701129600.0],
            1,
        ),
        (["2023-11-27", "1700000000", "2023-11-28"], {}, [1701043200.0, 1701129600.0], 1),
    ],
)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_times(cells, how, times, bad, form, tmp_path):
    rows = [{"user": "u", "item": "i", "time": cell} for cell in cells]
    lines = ["user,item,time", *(f"u,i,{cell}" for cell in cells)]
    (tmp_path / f"x.{form}").write_text("\n".join(lines) if form == "csv" else json.dumps(rows))
    found = read_events(tmp_path / f"x.{form}", LogReading(**how))
    assert (found.times.tolist(), found.report.bad, found.report.rows) == (times, bad, 3)


def test_a_time_format_on_the_command_line(tmp_path):
    (tmp_path / "x.csv").write_text(
        "user,item,time\n" + "".join(f"u{i % 4},i{i % 3},{i + 1}.11.2023\n" for i in range(12))
    )
    how = ("--model", "popularity", "--split", "none", "-q")
    result = run(
        "recommend", "train", tmp_path / "x.csv", "-o", tmp_path / "m", "--time-format", "%d.%m.%Y", *how
    )
    assert (result.returncode, result.stderr) == (0, "")
    result = run("recommend", "train", tmp_path / "x.csv", "-o", tmp_path / "n", *how)
    assert result.returncode == 1


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz", "x.json.gz"])
def test_a_truncated_file_is_an_error(name, tmp_path):
    rows = [{"text": os.urandom(40).hex(), "label": "a"} for _ in range(20_000)]
    text = {"x.csv.gz": "\n".join(["text,label", *(f"{row['text']},a" for row in rows)])}.get(
        name, "".join(json.dumps(row) + "\n" for row in rows)
    )
    (tmp_path / name).write_bytes(gzip.compress(text.encode())[:-1000])
    out = ("-o", tmp_path / f"o.{name.split('.')[1]}")
    for command in (("classify", "predict", "classifier", "--rename", "label=x"), ("lm", "score", "lm")):
        result = run(*command, tmp_path / name, *out)
        assert (result.returncode, "damaged or cut short" in result.stderr) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    with pytest.raises(DataError, match="damaged or cut short"):
        read_events(tmp_path / name, LogReading(user="label", item="text"))


def test_copies_keep_the_bytes_of_fields(tmp_path):
    lines = b'{ "text":"a\\u00e9",  "n": 1.50,"big":1e400 }\r\n{"n":007,"text":"b"}\n{"text":"c","n":null}\n'
    (tmp_path / "x").write_bytes(lines)
    result = run("classify", "predict", "classifier", tmp_path / "x", "-o", tmp_path / "o")
    assert (result.returncode, "1 of 3 rows are bad" in result.stderr) == (0, True)
    found = (tmp_path / "o").read_bytes().splitlines(keepends=True)
    assert found[0].startswith(b'{ "text":"a\\u00e9",  "n": 1.50,"big":1e400, "label": ')
    assert found[1] == b'{"n":007,"text":"b"}\n'
    assert found[2].startswith(b'{"text":"c","n":null, "label": ')


def test_a_column_that_comes_later(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "good"}\n' * 1500 + '{"text": "w1", "more": 1}\n')
    command = ("lm", "score", "lm", tmp_path / "x.jsonl", "-q", "-o")
    assert run(*command, tmp_path / "o.jsonl").returncode == 0
    assert json.loads((tmp_path / "o.jsonl").read_text().splitlines()[-1])["more"] == 1
    for name in ("o.csv", "o.parquet", "o.arrow"):
        result = run(*command, tmp_path / name)
        assert result.returncode == 1
        assert "x.jsonl: line 1501 has columns that the first rows lack (more): " in result.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"x.jsonl", "o.jsonl"}


def test_a_truncated_file_names_its_last_line(tmp_path):
    lines = [json.dumps({"text": os.urandom(40).hex()}) + "\n" for _ in range(20_000)]
    packed = gzip.compress("".join(lines).encode())
    (tmp_path / "x.gz").write_bytes(packed[: len(packed) // 2])
    result = run("lm", "perplexity", "lm", tmp_path / "x.gz")
    last = int(result.stderr.partition("cut short behind line ")[2].partition(":")[0].replace(",", ""))
    assert 5_000 < last < 15_000


def test_a_number_among_dates_that_is_none(tmp_path):
    (tmp_path / "x.csv").write_text("user,item,time\n" + "u,i,20231127\n" * 3 + "u,i,20231327\n")
    command = ["recommend", "train", tmp_path / "x.csv", "-o", tmp_path / "m", "--model", "popularity"]
    result = run(*command)
    assert (result.returncode, "1 of 4 times are no dates, such as 20231327" in result.stderr) == (1, True)
    result = run(*command, "--time-format", "%Y%m%d", "--split", "none")
    assert (result.returncode, "  line 5: has a time that" in result.stderr) == (0, True), result.stderr


@pytest.mark.parametrize(
    "cell",
    [
        *("2019-10-01T02:00:00+02:00", "2019-10-01 02:00:00+02:00", "2019-10-01T00:00:00Z", "2019-10-01"),
        *("2019-10-01T00:00:00.000Z", "2019-10-01T00:00:00.000000000Z", "2019-10-01T02:00:00.0+0200"),
        *("1569888000", "1569888000.0", "1569888000000", "1569888000000000", "1569888000000000000"),
    ],
)
def test_one_time_in_many_spellings(cell, tmp_path):
    (tmp_path / "x.csv").write_text("user,item,time\n" + f"u,i,{cell}\n" * 3)
    assert read_events(tmp_path / "x.csv").times.tolist() == [1569888000.0] * 3


def test_times_of_arrow(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    day = datetime(2019, 10, 1)  # noqa: DTZ001
    kinds = ["date32", "date64", *(f"timestamp[{unit}]" for unit in ("s", "ms", "us", "ns"))]
    columns = [arrow.array([day.date() if "date" in kind else day] * 3, kind) for kind in kinds]
    zoned = arrow.array([1569888000] * 3).cast(arrow.timestamp("s", "Europe/Berlin"))
    for cells in (
        *columns,
        zoned,
        arrow.array([20191001] * 3),
        arrow.array(["2019-10-01"] * 3).dictionary_encode(),
    ):
        table = arrow.table({"user": ["u"] * 3, "item": ["i"] * 3, "time": cells})
        parquet.write_table(table, tmp_path / "x.parquet")
        for source in (table, tmp_path / "x.parquet"):
            assert read_events(source).times.tolist() == [1569888000.0] * 3


@pytest.mark.parametrize("codecs", ["zstd", "gzip", "none", {"id": "none", "text": "zstd", "tags": "gzip"}])
def test_a_copy_of_parquet_is_packed_as_its_source(codecs, tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"id": range(900), "text": ["good w1"] * 900, "tags": ["x"] * 900}
    parquet.write_table(arrow.table(columns), tmp_path / "x.parquet", compression=codecs, row_group_size=400)
    for rename, out in (("label=guess", "o.parquet"), ("label=x", "o.arrow")):
        result = run(
            "classify",
            "predict",
            "classifier",
            tmp_path / "x.parquet",
            "-o",
            tmp_path / out,
            "--rename",
            rename,
        )
        assert result.returncode == 0, result.stderr
    found = parquet.ParquetFile(tmp_path / "o.parquet").metadata
    assert [found.row_group(i).num_rows for i in range(found.num_row_groups)] == [400, 400, 100]
    for name in (codecs, codecs, codecs) if isinstance(codecs, str) else codecs.values():
        assert name in ("none", *(found.row_group(0).column(i).compression.lower() for i in range(3)))
    packed = [found.row_group(2).column(i).compression for i in range(5)]
    usual = {"none": "UNCOMPRESSED"}
    given = [codecs] * 5 if isinstance(codecs, str) else [*codecs.values(), "none", "none"]
    assert packed == [usual.get(codec, codec.upper()) for codec in given]
    assert parquet.read_table(tmp_path / "o.parquet").num_rows == 900


def test_cells_of_frames_are_texts_and_labels():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    texts, labels = ["good w1", "bad w2", None, "good w3"] * 10, ["a", "b", "a", None] * 10
    frame, arrow = pandas.DataFrame({"text": texts, "label": labels}), pytest.importorskip("pyarrow")
    table = arrow.table({"text": texts, "label": labels})
    encoded = [column.dictionary_encode() for column in table.columns]
    both, numbers = polars.from_arrow(table), frame.assign(label=[1.0, 2.0, float("nan"), 1.0] * 10)
    words = [word for word in dict.fromkeys(texts) if word]
    sources = [table, frame, frame.astype("category"), frame.astype("string"), both, numbers]
    sources += [arrow.table(encoded, table.column_names), both.cast(polars.Categorical)]
    sources += [both.with_columns(polars.col("text").cast(polars.Enum(words)))]
    for source in sources:
        found = unhot.Classifier(dim=4, epochs=1, threads=1).fit(source)
        assert found.labels == (["1", "2"] if source is numbers else ["a", "b"])
        model = unhot.NGramModel(order=2, smoothing="witten_bell").fit(source, column="text")
        assert model.perplexity(source, column="text")[:2] == (30, 90)  # rows without a text are none
    log = pandas.DataFrame({"user": ["u", "v", None, "u"], "item": [1.0, 2.0, 3.0, float("nan")]})
    log["time"] = pandas.to_datetime(["2023-01-01", None, "2023-01-02", "2023-01-03"])
    found = read_events(log)
    assert (found.user_words, found.item_words, found.report.bad) == (["u"], ["1"], 3)


def test_names_and_cells_that_are_not_utf8(tmp_path):
    """Names of columns, bad times and the strings of parquet may be any bytes."""
    name, cell = b"it\xe9m", b"a\xff"
    (tmp_path / "x.csv").write_bytes(b"user,item,time," + name + b"\nu,i,5,b\nu,j," + cell + b",c\nu,k,6,c\n")
    found = read_events(tmp_path / "x.csv")
    assert (found.seen[-1], found.report.bad) == ("it\udce9m", 1)
    assert "('a\\udcff')" in found.report.examples[0]
    (tmp_path / "x.jsonl").write_bytes(b"".join([b'{"user": "u", "', name, b'": "i"}\n'] * 3))
    assert read_events(tmp_path / "x.jsonl", LogReading(item="it\udce9m")).item_words == ["i"]
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    raw = arrow.array([b"good", cell], arrow.binary()).view(arrow.string())
    parquet.write_table(arrow.table({"text": raw}), tmp_path / "x.parquet")
    result = run("classify", "predict", "classifier", tmp_path / "x.parquet", "-o", tmp_path / "o.jsonl")
    assert (result.returncode, result.stderr.splitlines()[1:]) == (0, [])
    found = [json.loads(line)["text"] for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert found == ["good", "a\udcff"]


def test_numbers_that_only_some_parsers_take(tmp_path):
    """A line that Python refuses is a bad row, whichever column is read."""
    (tmp_path / "x.jsonl").write_text('{"n": ' + "9" * 5000 + ', "text": "good", "label": "a"}\n')
    result = run("classify", "test", "classifier", tmp_path / "x.jsonl")
    assert (result.returncode, "1 of 1 rows are bad" in result.stderr) == (1, True), result.stderr


@pytest.mark.parametrize("late", ['"n": 5.5', '"n": 5, "deep": {"a": 1, "b": 2}'])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_later_value_that_does_not_fit_its_column_is_an_error(late, ending, tmp_path):
    """Arrow would cut 5.5 to 5, and leave out b."""
    lines = ['{"text": "good w1", "n": 5, "deep": {"a": 1}}'] * 30_000 + [f'{{"text": "bad", {late}}}']
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    result = run("lm", "score", "lm", tmp_path / "x.jsonl", "-o", tmp_path / f"o.{ending}")
    assert (result.returncode, "where a column has one type" in result.stderr) == (1, True), result.stderr
    assert not (tmp_path / f"o.{ending}").exists()


def test_a_column_that_is_null_at_first_is_text(tmp_path):
    lines = ['{"text": "good", "url": null}'] * 40_000 + ['{"text": "bad", "url": "late"}']
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    result = run("lm", "score", "lm", tmp_path / "x.jsonl", "-o", tmp_path / "o.parquet")
    assert result.returncode == 0, result.stderr
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "o.parquet")["url"].to_pylist()[-2:] == [None, "late"]


def test_bad_rows_in_a_copy_of_another_format_are_told(tmp_path):
    (tmp_path / "x.csv").write_text("text,n\ngood,1\nbad\nw1,2\n")
    result = run("lm", "score", "lm", tmp_path / "x.csv", "-o", tmp_path / "o.jsonl")
    assert "1 of 3 rows are bad and are empty in the copy, which has another format" in result.stderr


@pytest.mark.parametrize("separator", [",", "\t"])
@pytest.mark.parametrize("name", ["-", "page", "page.txt"])
def test_a_header_with_a_usual_name_tells_a_table(separator, name, tmp_path):
    rows = [["id", "text", "label"], ["1", "good w1", "a"], ["2", "bad", "b"]]
    data = "".join(separator.join(row) + "\n" for row in rows)
    (tmp_path / "page").write_text(data)
    (tmp_path / "page.txt").write_text(data)
    source = name if name == "-" else tmp_path / name
    result = run("lm", "score", "lm", source, "-o", tmp_path / "o.csv", text=data.encode())
    said = {",": "read as CSV, text = text", "\t": "read as TSV, text = text"}[separator]
    assert (result.returncode, said in result.stderr) == (0, True), result.stderr
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == "id,text,label,score,perplexity"


@pytest.mark.parametrize("separator", [";", "|", "\t"])
def test_csv_with_another_separator(separator, tmp_path):
    rows = [["id", "text", "label"], ["1", "good, w1", "a"], ["2", '"b\nad"', "b"]]
    (tmp_path / "x.csv").write_text("".join(separator.join(row) + "\n" for row in rows))
    out = tmp_path / "o.csv"
    result = run("classify", "predict", "classifier", tmp_path / "x.csv", "-o", out, "--rename", "label=x")
    assert result.returncode == 0, result.stderr
    assert out.read_text().startswith(separator.join(["id", "text", "label", "x", "score"]) + "\n")
    assert [line.count(separator) for line in out.read_text().splitlines()] == [4, 4, 1, 3]
    (tmp_path / "log.csv").write_text("user;item\nu;a,b\nu;c\n")
    assert read_events(tmp_path / "log.csv").item_words == ["a,b", "c"]


def test_language_models_do_not_learn_from_bad_rows(tmp_path):
    good = [{"text": "good w1"}, {"text": "bad"}] * 20
    for name, rows in (("good", good), ("all", [*good, *[{"text": 5}, {"text": None}] * 10])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = [
        unhot.NGramModel(order=2, smoothing="witten_bell").fit(tmp_path / f"{n}.jsonl")
        for n in ("good", "all")
    ]
    assert models[0].perplexity(["good w1"]) == models[1].perplexity(["good w1"])
    found = [models[0].perplexity(tmp_path / f"{name}.jsonl") for name in ("good", "all")]
    assert found[0] == found[1]


def test_the_score_of_labels_that_were_numbers_in_a_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["good"] * 30 + ["bad"] * 30, "label": [1] * 30 + [2] * 30})
    model = unhot.Classifier(dim=4, epochs=20, threads=1, lr=1.0).fit(frame)
    assert model.score(frame.text, frame.label) == 1.0


def test_text_that_is_no_json_is_no_text_without_words(tmp_path):
    (tmp_path / "x.jsonl").write_text("id,text\n1,good\n")
    for command in (["train", *FEW], ["lm", "train", *NGRAMS]):
        result = run(*command, tmp_path / "x.jsonl", "-o", tmp_path / "m")
        assert (result.returncode, "2 of 2 rows are bad" in result.stderr) == (1, True), result.stderr


def test_percentiles_are_within_the_numbers(tmp_path):
    (tmp_path / "x.txt").write_text("good w1\n" * 10)
    result = run("lm", "score", "lm", tmp_path / "x.txt", "-o", tmp_path / "o.jsonl")
    score = json.loads((tmp_path / "o.jsonl").read_text().splitlines()[0])["perplexity"]
    percents = result.stderr.splitlines()[-1].partition("percentiles: ")[2].split(", ")
    assert {each.split(": ")[1] for each in percents} == {f"{score:,.1f}"}


def test_impossible_dates_and_mixed_units(tmp_path):
    rows = [("u", "a", 20230228), ("u", "b", 20230231), ("u", "c", 20230301)]
    with pytest.raises(DataError, match="1 of 3 times are no dates, such as 20230231"):
        read_events(rows)
    mixed = [("u", "a", 1577836800), ("u", "b", 1577836700000), ("u", "c", 1577836600)]
    assert "1 times seem to be in another unit than most" in "\n".join(read_events(mixed).report.lines())
    assert read_events(mixed[:1] * 3).report.lines() == []


def test_hidden_files_of_folders_are_no_data(tmp_path):
    (tmp_path / ".ipynb_checkpoints").mkdir()
    for name in ("part-0.csv", ".ipynb_checkpoints/part-0.csv", ".part-0.csv.crc"):
        (tmp_path / name).write_text("user,item\nu,a\n")
    (tmp_path / "_SUCCESS").write_text("")
    assert read_events(tmp_path).item_words == ["a"]
    assert read_events(tmp_path).report.rows == 1


def test_names_of_columns_with_types(tmp_path):
    (tmp_path / "ml.inter").write_text("user_id:token\titem_id:token\ttimestamp:float\n1\t2\t5\n1\t3\t6\n")
    found = read_events(tmp_path / "ml.inter")
    assert (found.user_words, found.item_words, found.times.tolist()) == (["1"], ["2", "3"], [5.0, 6.0])


def test_tensors_are_numbers():
    torch = pytest.importorskip("torch")
    assert read_events([*torch.tensor([[1, 2], [1, 3]])]).item_words == ["2", "3"]
    assert read_graph(torch.tensor([[0, 1], [1, 2]])).vocabulary.words == ["1", "0", "2"]


def test_logs_are_kept_on_this_machine():
    with pytest.raises(unhot.errors.ConfigError, match="is kept on this machine only"):
        unhot.read_log([("u", "a")], directory="s3://bucket/kept")
