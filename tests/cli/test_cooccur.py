"""`unhot cooccur`, and `unhot info` of what it leaves."""

import json
import signal
import subprocess
import tempfile
from pathlib import Path

import commands
import numpy as np
import pytest

from unhot.cli import main
from unhot.corpus.cells import Cells
from unhot.corpus.cooccurrence import cooccurrences
from unhot.corpus.encoding import encode
from unhot.data import sotu_path
from unhot.train.bar import TrainingBar

GOLDEN = Path(__file__).parent.parent / "golden"
TEXT = GOLDEN / "fasttext_unsup_train.txt"


@pytest.fixture
def run(capsys):
    """Run a command in this process: exit code, output, errors."""

    def call(*arguments):
        code = main._run([*map(str, arguments)], False)
        return subprocess.CompletedProcess(arguments, code, *capsys.readouterr())

    return call


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("starts", "columns", "values")
    )


def test_cells_of_a_text(run, tmp_path):
    done = run(
        "cooccur",
        TEXT,
        "-o",
        tmp_path / "cells",
        "--min-count",
        2,
        "--window",
        3,
        "--sides",
        "left",
        "--weights",
        "dynamic",
    )
    assert done.returncode == 0, done.stderr
    assert "131 words" in done.stderr
    assert f"saved to {tmp_path / 'cells'}: " in done.stderr
    assert len(done.stdout.splitlines()) == 10
    assert done.stdout.split()[:2] == ["the", "in"]
    with (
        Cells.open(tmp_path / "cells") as cells,
        encode(TEXT, min_count=2) as corpus,
        cooccurrences(corpus, window=3, sides="left", weights="dynamic") as expected,
    ):
        assert same(cells, expected)
        assert cells.vocabulary == corpus.vocabulary


def test_json_and_info(run, tmp_path):
    done = run("cooccur", TEXT, "-o", tmp_path / "cells", "--min-count", 1, "--json", "-n", 2)
    assert done.stderr == ""
    facts = json.loads(done.stdout)
    assert facts.pop("seconds") > 0
    assert facts.pop("out") == str(tmp_path / "cells")
    with Cells.open(tmp_path / "cells") as cells:
        assert (facts["words"], facts["cells"], facts["rows"]) == (59, len(cells), 59)
        assert facts["density"] == len(cells) / 59**2
        assert facts["sum"] == pytest.approx(cells.values.sum())
        assert facts["heaviest"][0] == {"word": "the", "context": "the", "value": cells.values[0]}
    assert facts["settings"] == {
        "window": 10,
        "weights": "distance",
        "sides": "both",
        "sample": 0.0,
        "seed": 1,
    }
    told = json.loads(run("info", tmp_path / "cells", "--json").stdout)
    assert told.pop("format") == "cells"
    assert told.pop("bytes") == sum(path.stat().st_size for path in (tmp_path / "cells").iterdir())
    assert told.pop("heaviest")[:2] == facts.pop("heaviest")
    assert told == facts
    shown = run("info", tmp_path / "cells").stdout
    assert "weights      distance" in shown
    assert "cells        " in shown
    assert shown.splitlines()[-10].split()[:2] == ["the", "the"]


def test_info_of_damaged_cells(run, tmp_path):
    run("cooccur", TEXT, "-o", tmp_path / "cells")
    (tmp_path / "cells" / "cells.values").write_bytes(b"")
    done = run("info", tmp_path / "cells")
    assert done.returncode == 1
    assert "0 bytes, expected" in done.stderr


@pytest.mark.parametrize("name", ["g", "g.bin"])
def test_files_for_glove_and_back(run, tmp_path, name):
    how = ("--window", 5, "--sides", "both")
    done = run("cooccur", TEXT, "-o", tmp_path / "cells", "--min-count", 1, *how, "--glove", tmp_path / name)
    assert done.returncode == 0, done.stderr
    assert f"wrote {tmp_path / 'g.bin'} and {tmp_path / 'g.vocab.txt'}" in done.stderr
    assert (tmp_path / "g.bin").stat().st_size == (GOLDEN / "glove_cooccur.bin").stat().st_size
    assert sorted((tmp_path / "g.vocab.txt").read_text().split("\n")) == sorted(
        (GOLDEN / "glove_vocab.txt").read_text().split("\n")
    )
    done = run(
        "cooccur",
        tmp_path / "g.bin",
        "--vocab",
        tmp_path / "g.vocab.txt",
        "-o",
        tmp_path / "again",
        "--json",
        *how,
    )
    assert json.loads(done.stdout)["settings"] == {"window": 5, "sides": "both"}
    with Cells.open(tmp_path / "cells") as cells, Cells.open(tmp_path / "again") as again:
        assert same(cells, again)
        assert cells.vocabulary == again.vocabulary


def test_a_shuffled_file_of_glove(run, tmp_path):
    done = run(
        "cooccur",
        GOLDEN / "glove_shuffled.bin",
        "--vocab",
        GOLDEN / "glove_vocab.txt",
        "-o",
        tmp_path / "cells",
        "-q",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads(run("info", tmp_path / "cells", "--json").stdout)["cells"] == 548


def test_words_that_glove_refuses_are_found_before_counting(run, tmp_path):
    (tmp_path / "text.txt").write_text("a <unk> b\n" * 5)
    done = run("cooccur", tmp_path / "text.txt", "-o", tmp_path / "cells", "--glove", tmp_path / "g")
    assert done.returncode == 1
    assert "GloVe's programs cannot read words that are empty" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((TEXT,), 2, "Missing option '-o'"),
        (("-o", "cells"), 2, "Missing argument"),
        ((TEXT, "-o", "cells", "--memory", "1kB"), 2, "needs at least"),
        (
            (TEXT, "-o", "cells", "--memory", "much"),
            2,
            "memory='much': must be a number of bytes, such as 200MB or 1GB",
        ),
        ((TEXT, "-o", "cells", "--window", "0"), 2, "window=0: must be >= 1"),
        ((TEXT, "-o", "cells", "--min-count", "99"), 1, "min_count"),
        (("nothing.txt", "-o", "cells"), 1, "nothing.txt"),
        ((TEXT, "-o", "taken"), 1, "taken: exists and holds no cells"),
        ((TEXT, "-o", "cells", "--glove", "nowhere/g"), 1, "cannot be written; give the name of a file"),
        ((TEXT, TEXT, "-o", "cells", "--vocab", "v"), 2, "several files: with --vocab"),
        (
            (TEXT, "-o", "cells", "--vocab", "v", "--min-count", "3", "--memory", "1GB"),
            2,
            "--memory, --min-count: with --vocab",
        ),
        ((TEXT, "-o", "cells", "--vocab", "v"), 1, "v: cannot be read"),
        ((TEXT, "-o", "taken/mine.txt"), 1, "taken/mine.txt: is a file; give a directory"),
        ((TEXT, "-o", "cells", "--vocab", GOLDEN / "glove_vocab.txt"), 1, "ends inside a record"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(run, tmp_path, monkeypatch, arguments, code, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    done = run("cooccur", *arguments)
    assert done.returncode == code
    assert said in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("unhot: ")
    assert [path.as_posix() for path in sorted(Path().rglob("*"))] == ["taken", "taken/mine.txt"]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--window", 0, "window=0: must be >= 1"),
        ("--window", 99999999, "window=99999999: must be <= 10000"),
        ("--sample", "nan", "sample=nan: must be >= 0"),
        ("--seed", -1, "seed=-1: must be >= 0"),
        ("--memory", "nan", "--memory='nan': must be a number of bytes"),
    ],
)
def test_settings_are_checked_before_the_text_is_read(run, tmp_path, option, value, said):
    done = run("cooccur", TEXT, "-o", tmp_path / "cells", option, value)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert said in done.stderr


def test_phrases_are_joined_first(run, tmp_path):
    assert (
        run(
            "phrases", TEXT, "--phrases", tmp_path / "p.json", "--min-count", 2, "--threshold", 1, "-q"
        ).returncode
        == 0
    )
    done = run(
        "cooccur", TEXT, "-o", tmp_path / "cells", "--phrases", tmp_path / "p.json", "--min-count", 1, "-q"
    )
    assert done.returncode == 0, done.stderr
    with Cells.open(tmp_path / "cells") as cells:
        assert any("_" in word for word in cells.vocabulary)


def test_old_cells_are_replaced(run, tmp_path):
    for window in (2, 4):
        assert run("cooccur", TEXT, "-o", tmp_path / "cells", "--window", window, "-q").returncode == 0
    assert json.loads(run("info", tmp_path / "cells", "--json").stdout)["settings"]["window"] == 4


def test_ctrl_c_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    # in the middle of it
    monkeypatch.setattr(TrainingBar, "counting", lambda *_: signal.raise_signal(signal.SIGINT))
    command = ("cooccur", sotu_path(), "-o", "cells", "--memory", "100MB", "--corpus-dir", "corpus")
    done = commands.run(*command, cwd=tmp_path)
    assert done.returncode == 130, done.stderr
    assert done.stderr.splitlines()[-1] == "unhot: interrupted"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus", "tmp"]
    assert list((tmp_path / "tmp").iterdir()) == []
