"""`unhot bench outputs` as a shell meets it."""

import csv
import json
import re
import signal
import sys

import numpy as np
import pytest
from commands import run

from unhot.bench import Measured, Settings
from unhot.bench.outputs import Status
from unhot.bench.timetable import Timetable
from unhot.cli.comparison_bar import ComparisonBar
from unhot.cli.main import main
from unhot.outputs.negative import NegativeSampling

SHORT = "--dim 8 --window 3 --min-count 1 --held-out 0.1 --seconds 0.1 --threads 1 --lr 0.05 --no-exact"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("bench"), np.random.default_rng(0)
    lines = (" ".join(f"w{i}" for i in rng.integers(0, 4) * 5 + rng.integers(0, 5, 20)) for _ in range(400))
    (folder / "text.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def at(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return lambda arguments: run("bench", *arguments.split())


def test_table_and_files(at, folder):
    result = at(
        f"outputs text.txt {SHORT} --layers softmax:bias=true negative class_based:classes=1000 -o new/mine"
    )
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines()}
    assert rows["layer"][:4] == ["layer", "engine", "lr", "perplexity"]
    assert float(rows["negative"][3]) < 12
    assert rows["softmax:bias=true"][1:3] == ["compiled", "0.05"]
    assert rows["class_based:classes=1000"][2:] == ["-"] * 8
    assert "failed: class_based:classes=1000" in result.stdout
    assert "negative: perplexity" in result.stderr
    assert sorted(path.name for path in (folder / "new").iterdir()) == [
        "mine-curves.csv",
        "mine.csv",
        "mine.md",
        "mine.svg",
    ]
    with (folder / "new" / "mine.csv").open(newline="") as file:
        figures = {row["layer"]: row for row in csv.DictReader(file)}
    assert f"{float(figures['negative']['perplexity']):.1f}" == rows["negative"][3]
    assert "![" in (folder / "new" / "mine.md").read_text()


def test_it_says_how_long_it_takes_before_it_begins(at):
    """Without a terminal, too: the plan, and a line when a layer begins and when it is done."""
    result = at(f"outputs text.txt {SHORT} --layers softmax negative -o told")
    said = result.stderr.splitlines()
    assert re.fullmatch(r"each of 2 layers about \d+ s: 0.1 s of training, the rest to find .*", said[0])
    assert re.fullmatch(r"in all about \d+ s, at most about \d+ s, until \d\d:\d\d:\d\d", said[1])
    begins = r"{}: begins; about \d+ s left"
    lines = (
        begins.format("1/2 softmax"),
        "softmax: perp.*",
        begins.format("2/2 negative"),
        "negative: perp.*",
    )
    assert all(map(re.fullmatch, lines, said[2:6])), said
    assert at(f"outputs text.txt {SHORT} --layers softmax -q -o told").stderr == ""


def test_the_time_left_follows_the_layers_that_are_done(monkeypatch, capsys):
    """A busy machine makes every layer slower than the timetable says."""
    now = [0.0]
    monkeypatch.setattr("unhot.cli.comparison_bar.time.monotonic", lambda: now[0])
    table = Timetable(layers=3, seconds=2.0, epochs=40, exact=30.0, each=10.0, most=12.0)
    done = Measured(layer="x", failed="no")
    with ComparisonBar(Settings(), quiet=False) as tell:
        tell(Status(0, 4, "", "planned", timetable=table))
        tell(Status(1, 4, "exact", "preparing"))
        now[0] = 60.0
        tell(Status(1, 4, "exact", "done", measured=done))
        tell(Status(2, 4, "softmax", "preparing"))
        now[0] = 80.0
        tell(Status(2, 4, "softmax", "done", measured=done))
        tell(Status(3, 4, "nce", "preparing"))
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "begins" in line] == [
        "1/4 exact: begins; about 1 min 0 s left",
        "2/4 softmax: begins; about 30 s left",
        "3/4 nce: begins; about 40 s left",
    ]


def test_minutes_that_are_too_short_are_told(at, monkeypatch):
    monkeypatch.setattr("unhot.bench.timetable.LEAST", 0.2)
    without = SHORT.replace("--seconds 0.1 ", "")
    result = at(f"outputs text.txt {without} --minutes 0.01 --layers negative -o told")
    assert result.returncode == 0, result.stderr
    assert "0.2 s of training" in result.stderr
    assert "(0.01 minutes are too short; give more with --minutes)" in result.stderr


def test_the_exact_solution(at, folder):
    result = at(f"outputs text.txt {SHORT.removesuffix(' --no-exact')} --layers negative -o exact")
    assert result.returncode == 0, result.stderr
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.strip()}
    assert rows["layer"][-4:] == ["above", "exact", "train", "above"]
    assert rows["exact"][1] == "cells"
    assert rows["exact"][4] == "-"
    assert float(rows["exact"][-1]) == 0 < float(rows["negative"][-1])
    line = next(line for line in result.stderr.splitlines() if line.startswith("exact: perplexity"))
    assert "examples/s" not in line
    assert "The exact solution took" in (folder / "exact.md").read_text()


def test_json(at):
    result = at(f"outputs text.txt --layers softmax --model cbow {SHORT} --json --quiet -o json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["settings"]["model"] == "cbow"
    assert found["layers"][0]["result"]["pairs"] == found["held_out_words"]


def test_without_matplotlib(at, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = at(f"outputs text.txt --layers softmax {SHORT} -o bare")
    assert result.returncode == 0
    assert "pip install 'unhot[plot]'" in result.stderr
    assert sorted(path.name for path in folder.glob("bare*")) == ["bare-curves.csv", "bare.csv", "bare.md"]
    assert "![" not in (folder / "bare.md").read_text()


def test_a_picture_that_fails_costs_nothing_else(at, folder, monkeypatch):
    def fail(picture, path):
        path.write_text("half")
        raise ValueError("no\nfont")

    monkeypatch.setattr("unhot.bench.report.draw", fail)
    result = at(f"outputs text.txt --layers softmax {SHORT} -o plain")
    assert result.returncode == 0
    assert "no picture: no font" in result.stderr
    assert "softmax" in result.stdout
    assert sorted(path.name for path in folder.glob("plain*")) == [
        "plain-curves.csv",
        "plain.csv",
        "plain.md",
    ]
    assert "![" not in (folder / "plain.md").read_text()


def test_a_table_that_fails_does_not_cost_the_files(at, folder, monkeypatch):
    monkeypatch.setattr("unhot.cli.comparison_report.print_table", lambda *arguments: 1 / 0)
    assert at(f"outputs text.txt --layers softmax {SHORT} -o kept").returncode == 1
    assert "softmax" in (folder / "kept.csv").read_text()


@pytest.mark.parametrize("form", ["", "--json"])
def test_without_a_result_earlier_files_stay(at, folder, form):
    (folder / "good.csv").write_text("an earlier run")
    result = at(f"outputs text.txt --layers class_based:classes=1000 {SHORT} -o good {form}")
    assert result.returncode == 1
    assert "no layer has a result, so no files were written" in result.stderr
    assert "classes=1000" in result.stdout
    assert [path.name for path in folder.glob("good*")] == ["good.csv"]
    assert (folder / "good.csv").read_text() == "an earlier run"


def test_interrupted_before_the_first_layer(at, folder, monkeypatch):
    def pressed(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("unhot.bench.outputs._LayerRun", pressed)
    result = at(f"outputs text.txt --layers softmax {SHORT} -o none")
    assert result.returncode == 130
    assert "Interrupted" in result.stdout
    assert not list(folder.glob("none*"))


def test_bytes_that_are_not_utf8(at, folder, monkeypatch):
    from unhot.outputs import LAYERS

    def fail(self, counts):
        raise ValueError("cannot read \udcff")

    monkeypatch.setattr(LAYERS["negative"], "tables", fail)
    result = at(f"outputs text.txt --layers softmax negative {SHORT} -o odd")
    assert result.returncode == 0, result.stderr
    assert "cannot read \\xff" in result.stdout
    assert "cannot read \\udcff" in (folder / "odd.csv").read_text(encoding="utf-8")
    assert "cannot read \\udcff" in (folder / "odd.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("prefix", ["", ".", "..", "made/", "made/."])
def test_files_have_a_name(folder, monkeypatch, capsys, prefix):
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as end:
        main(["bench", "outputs", "text.txt", "-o", prefix])
    assert end.value.code == 2
    assert f"-o {prefix!r}: must end with a name" in capsys.readouterr().err
    assert not (folder / "made").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("outputs", 2, "Missing argument 'CORPUS'"),
        ("outputs nowhere.txt", 1, "nowhere.txt"),
        ("outputs text.txt --seconds 0", 2, "seconds=0"),
        ("outputs text.txt --minutes 0", 2, "minutes=0"),
        ("outputs text.txt --held-out 1", 2, "held_out=1"),
        ("outputs text.txt --layers nonsense", 2, "there is no layer 'nonsense'"),
        ("outputs text.txt --layers nce:noise=file:text.txt", 2, "ids of another vocabulary"),
        ("outputs text.txt --model glove", 2, "'glove' is not one of"),
        ("outputs text.txt -o text.txt/mine", 1, "-o text.txt/mine: cannot be written"),
        ("nonsense", 2, "No such command 'nonsense'"),
    ],
)
def test_errors_are_one_line(at, folder, arguments, code, told):
    result = at(arguments)
    assert result.returncode == code
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    assert not list(folder.glob("bench-outputs*"))


def test_ctrl_c_writes_what_there_is(folder, monkeypatch):
    monkeypatch.setattr(NegativeSampling, "tables", lambda *_: signal.raise_signal(signal.SIGINT))
    layers = ("--layers", "softmax", "negative", "-o", "cut")
    done = run("bench", "outputs", "text.txt", *SHORT.split(), *layers, cwd=folder)
    assert done.returncode == 130, done.stderr
    assert "failed: negative: interrupted" in done.stdout
    with (folder / "cut.csv").open(newline="") as file:
        figures = {row["layer"]: row for row in csv.DictReader(file)}
    assert figures.keys() == {"softmax", "negative"}
    assert float(figures["softmax"]["perplexity"]) < 20
