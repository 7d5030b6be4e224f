"""`unhot evaluate` as a shell meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

import unhot
from unhot.evaluate import held_out
from unhot.kernels.loop import Params

TEXT = "The cat sat on the mat\nthe zebra sat on the cat\n"
WORDS = "the cat sat on mat".split()


def run(*arguments, text=None):
    command = [sys.executable, "-m", "unhot", "evaluate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, input=text, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, rng, none = tmp_path_factory.mktemp("evaluate"), np.random.default_rng(1), np.zeros(0, np.float32)
    model = unhot.SkipGram(dim=4, window=2, output="nce:k=2", tokenizer="words")
    model._keep(unhot.Vocabulary(WORDS, [9, 5, 4, 3, 1]), Params(*rng.normal(0, 1, (2, 5, 4)).astype(np.float32), none, none, none))
    model.save(folder / "model")
    model.vectors.save(folder / "vectors.bin")
    model.vectors.save(folder / "vectors")
    (folder / "text.txt").write_text(TEXT)
    return folder


def test_json_is_what_the_library_gives(folder):
    result = run(folder / "model", "--text", folder / "text.txt", "--json")
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    expected = held_out(unhot.load(folder / "model"), folder / "text.txt").as_dict()
    assert json.loads(result.stdout) == {"held_out": pytest.approx(expected)}
    assert (expected["pairs"], expected["unknown"]) == (32, 1)


def test_options_reach_the_library(folder):
    options = ("--window", 3, "--shrink", "--sample", 0.1, "--tokenizer", "whitespace")
    found = json.loads(run(folder / "model", "--text", "-", *options, "--json", text=TEXT).stdout)["held_out"]
    expected = held_out(unhot.load(folder / "model"), folder / "text.txt", window=3, shrink=True, sample=0.1, tokenizer="whitespace")
    assert found == pytest.approx(expected.as_dict())
    assert found["unknown"] == 2


def test_table_and_statement(folder):
    result = run(folder / "model", "--text", folder / "text.txt")
    assert result.returncode == 0, result.stderr
    expected = held_out(unhot.load(folder / "model"), folder / "text.txt")
    *rows, statement = result.stdout.splitlines()
    shown = dict(row.rsplit("  ", 1) for row in rows)
    shown = {name.strip(): value.strip() for name, value in shown.items()}
    assert shown["cross entropy"] == f"{expected.cross_entropy:.4f} nats"
    assert shown["perplexity"] == f"{expected.perplexity:,.2f}"
    assert {"pairs", "unknown words", "log Z mean", "log Z variance"} < shown.keys()
    assert statement == str(expected)
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["model"], 2, "--text FILE"),
        ([], 2, "Missing argument 'MODEL'"),
        (["nowhere", "--text", "text.txt"], 1, "nowhere: no such model"),
        (["vectors.bin", "--text", "text.txt"], 1, "only a model of unhot with its output layer"),
        (["vectors", "--text", "text.txt"], 1, "only a model of unhot with its output layer"),
        (["model", "--text", "nothing.txt"], 1, "nothing.txt"),
        (["model", "--text", "text.txt", "--window", "0"], 2, "window=0"),
        (["model", "--text", "text.txt", "--tokenizer", "tok"], 2, "tokenizer='tok'"),
    ],
)
def test_errors_are_one_line(folder, arguments, code, told):
    command = [sys.executable, "-m", "unhot", "evaluate", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
    assert result.returncode == code
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr
    assert result.stdout == ""


def test_the_help_has_examples():
    assert "unhot evaluate model --text held_out.txt" in run("--help").stdout
