"""`unhot bench outputs` as a shell meets it."""

import csv
import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from unhot.cli.main import main

SHORT = "--dim 8 --window 3 --min-count 1 --held-out 0.1 --seconds 0.1 --threads 1 --lr 0.05"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("bench"), np.random.default_rng(0)
    lines = (" ".join(f"w{i}" for i in rng.integers(0, 4) * 5 + rng.integers(0, 5, 20)) for _ in range(400))
    (folder / "text.txt").write_text("\n".join(lines))
    return folder


@pytest.fixture
def at(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)

    def call(arguments):
        with pytest.raises(SystemExit) as end:
            main(["bench", *arguments.split()])
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, end.value.code or 0, shown.out, shown.err)

    return call


def test_table_and_files(at, folder):
    result = at(f"outputs text.txt {SHORT} --layers softmax:bias=true negative class_based:classes=file:nowhere -o new/mine")
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines()}
    assert rows["layer"][:4] == ["layer", "engine", "lr", "perplexity"]
    assert float(rows["negative"][3]) < 12
    assert rows["softmax:bias=true"][1:3] == ["compiled", "0.05"]
    assert rows["class_based:classes=file:nowhere"][2:] == ["-"] * 8
    assert "failed: class_based:classes=file:nowhere" in result.stdout
    assert "negative: perplexity" in result.stderr
    assert sorted(path.name for path in (folder / "new").iterdir()) == ["mine-curves.csv", "mine.csv", "mine.md", "mine.svg"]
    with (folder / "new" / "mine.csv").open(newline="") as file:
        figures = {row["layer"]: row for row in csv.DictReader(file)}
    assert f"{float(figures['negative']['perplexity']):.1f}" == rows["negative"][3]
    assert "![" in (folder / "new" / "mine.md").read_text()


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


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("outputs", 2, "Missing argument 'CORPUS'"),
        ("outputs nowhere.txt", 1, "nowhere.txt"),
        ("outputs text.txt --seconds 0", 2, "seconds=0"),
        ("outputs text.txt --held-out 1", 2, "held_out=1"),
        ("outputs text.txt --layers nonsense", 2, "there is no layer 'nonsense'"),
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


SLOW = """
from unhot.outputs.negative import NegativeSampling
def slow(self, counts):
    print("begun", flush=True)
    import time; time.sleep(100)
NegativeSampling.tables = slow
from unhot.cli.main import main
main()
"""


def test_ctrl_c_writes_what_there_is(folder):
    command = [sys.executable, "-c", SLOW, "bench", "outputs", "text.txt", *SHORT.split(), "--layers", "softmax", "negative", "-o", "cut"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "failed: negative: interrupted" in shown
    with (folder / "cut.csv").open(newline="") as file:
        figures = {row["layer"]: row for row in csv.DictReader(file)}
    assert figures.keys() == {"softmax", "negative"}
    assert float(figures["softmax"]["perplexity"]) < 20
