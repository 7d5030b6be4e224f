"""`unhot phrases` as a shell meets it."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import unhot
from unhot.cli import main
from unhot.corpus.phrases import Phrases

TEXT = "".join(f"w{i} new york x{i} bank of england y{i}\n" for i in range(15))
JOINED = TEXT.replace("new york", "new_york").replace("bank of", "bank_of")


@pytest.fixture
def run(capsys):
    """Run the command in this process: exit code, output, errors."""

    def call(*arguments):
        code = main._run(["phrases", *map(str, arguments)], False)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    return tmp_path / "text.txt"


SETTINGS = ("--min-count", 3, "--threshold", 4)


def test_text_and_list(run, text, tmp_path):
    result = run(
        text,
        "-o",
        tmp_path / "joined.txt",
        "--phrases",
        tmp_path / "list.json",
        *SETTINGS,
        "--connectors",
        "english",
    )
    assert result.returncode == 0, result.stderr
    joined = (tmp_path / "joined.txt").read_text()
    assert joined == JOINED.replace("bank_of england", "bank_of_england")
    assert "120 words (50 different)" in result.stderr
    assert "75 words, 45 fewer than before" in result.stderr
    assert "pass 1: 120 words, 2 phrases" in result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["new_york", "bank_of_england"]
    assert [phrase for phrase, _, _ in Phrases.load(tmp_path / "list.json").phrases] == [
        "new_york",
        "bank_of_england",
    ]
    again = run(text, "-o", tmp_path / "again.txt", "--apply", tmp_path / "list.json")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.txt").read_text() == joined
    assert again.stdout == result.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "again.txt",
        "joined.txt",
        "list.json",
        "text.txt",
    ]


@pytest.mark.parametrize(("ending", "module"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_compressed(run, text, tmp_path, ending, module):
    out = tmp_path / f"joined.txt.{ending}"
    assert run(text, "-o", out, *SETTINGS, "-q").returncode == 0
    assert module.open(out, "rt").read() == JOINED


def test_json(run, text):
    answer = json.loads(run(text, *SETTINGS, "--score", "gensim", "-n", 1, "--json").stdout)
    best = Phrases(min_count=3, threshold=4, score="gensim").fit(text).phrases
    assert len(best) > 1
    assert answer["found"] == [len(best)]
    assert answer["phrases"] == [dict(zip(("phrase", "score", "count"), best[0], strict=True))]
    assert answer["words"] == 120
    assert answer["out"] is None


def test_settings(run, text, tmp_path):
    (tmp_path / "inside.txt").write_text("of\nand the\n")
    path = tmp_path / "list.json"
    options = (
        "--threshold",
        "0.9,0.5",
        "--score",
        "npmi",
        "--delimiter",
        "~",
        "--target",
        3,
        "--memory",
        "5MB",
        "--threads",
        1,
    )
    result = run(text, "--phrases", path, *options, "--connectors", tmp_path / "inside.txt")
    assert result.returncode == 0, result.stderr
    phrases = Phrases.load(path)
    assert (phrases.thresholds, phrases.score, phrases.delimiter, phrases.target) == (
        (0.9, 0.5),
        "npmi",
        "~",
        3,
    )
    assert phrases.inside == {"of", "and", "the"}
    assert phrases.passes == 2


def test_pipes(text):
    command = [sys.executable, "-m", "unhot", "phrases", "-", "-o", "-", *map(str, SETTINGS)]
    done = subprocess.run(
        command,
        input=TEXT.encode() + b"x\xff\n",
        capture_output=True,
        timeout=300,
        cwd=Path(unhot.__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == JOINED.encode() + b"x\xff\n"
    assert b"1 words are not valid UTF-8" in done.stderr


def test_quiet(run, text):
    result = run(text, *SETTINGS, "-q")
    assert (result.stdout, result.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "Missing argument 'INPUT...'"),
        (("none.txt",), 1, "none.txt: no such file"),
        (("text.txt", "-o", "text.txt"), 2, "text.txt: is an input that would be replaced"),
        (
            ("text.txt", "-o", "out.txt", "--phrases", "./out.txt"),
            2,
            "-o out.txt and --phrases ./out.txt: are the same file",
        ),
        (
            ("text.txt", "-o", "out.txt", "--phrases", "link.txt"),
            2,
            "-o out.txt and --phrases link.txt: are the same file",
        ),
        (
            ("text.txt", "-o", "link.json", "--apply", "list.json"),
            2,
            "link.json: is an input that would be replaced",
        ),
        (
            ("text.txt", "--phrases", "list.json", "--connectors", "list.json"),
            2,
            "list.json: is an input that would be replaced",
        ),
        (
            ("empty.txt", "-o", "out.txt", "--delimiter", " "),
            2,
            "delimiter=' ': contains white space, which splits phrases again in a text",
        ),
        (("text.txt", "-o", "none/out.txt"), 1, "there is no folder none"),
        (("text.txt", "-o", "."), 1, "is a folder"),
        (("text.txt", "-o", "a.zst"), 2, "unhot reads zst but does not write it"),
        (("text.txt", "-o", "-", "--json"), 2, "both would go to standard output"),
        (("text.txt", "-o", "/dev/stdout", "--json"), 2, "both would go to standard output"),
        (("text.txt", "--threshold", "5,x"), 2, "--threshold 5,x: must be a number"),
        (("text.txt", "--threshold", "5,4", "--passes", "3"), 2, "passes=3"),
        (("text.txt", "--score", "npmi", "--threshold", "3"), 2, "between -1 and 1"),
        (("text.txt", "--connectors", "german"), 1, "--connectors german: cannot be read"),
        (("text.txt", "--apply", "text.txt"), 1, "is not valid JSON"),
        (("text.txt", "--apply", "list.json", "--min-count", "3"), 2, "--min-count: --apply uses a list"),
        (("text.txt", "--memory", "100"), 2, "memory=100: counting pairs"),
        (("empty.txt",), 1, "has no words"),
    ],
)
def test_errors(run, text, tmp_path, monkeypatch, arguments, code, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "list.json").write_text("of and\n")
    (tmp_path / "link.json").hardlink_to(tmp_path / "list.json")
    (tmp_path / "link.txt").symlink_to(tmp_path / "out.txt")
    result = run(*arguments)
    assert result.returncode == code
    assert message in result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") <= 2
    assert (tmp_path / "list.json").read_text() == "of and\n"
    assert not (tmp_path / "out.txt").exists()


def test_help_says_what_is_left_out(run):
    shown = " ".join(run("--help").stdout.split())
    assert (
        "Skip pairs that occur at most this often; with --score npmi, pairs that occur less often." in shown
    )
    assert "a file of words" in shown


def test_standard_output_is_the_text_alone(run, text, monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
    assert run(text, "-o", "-", *SETTINGS).returncode == 0
    assert out.getvalue().decode() == JOINED


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_open_files(run, text, tmp_path):
    """They are written as they are: the shell gives /dev/fd/N for >(command)."""
    assert run(text, "-o", "/dev/stdout", "-q", *SETTINGS).stdout == JOINED
    os.mkfifo(tmp_path / "pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_text()))
    reader.start()
    result = run(text, "-o", tmp_path / "pipe", *SETTINGS)
    reader.join(60)
    assert got == [JOINED]
    assert "new_york" in result.stdout
