"""`unhot train` with models that learn from cells, and with phrases."""

import json

import numpy as np
import pytest
from commands import run

import unhot
from unhot.corpus.phrases import Phrases

RNG = np.random.default_rng(3)
LINES = [" ".join(f"w{i}" for i in RNG.zipf(1.5, 30) % 40) + " new york" for _ in range(200)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "t.txt").write_text("\n".join(LINES))
    return folder


def test_glove_from_text_and_from_cells(folder):
    trained = run(
        "train",
        folder / "t.txt",
        "-o",
        folder / "g",
        "--model",
        "glove",
        "--dim",
        8,
        "--epochs",
        3,
        "--log-json",
        folder / "l",
    )
    assert trained.returncode == 0, trained.stderr
    assert "cells/s" in trained.stderr
    assert "words/s" not in trained.stderr
    assert run("cooccur", folder / "t.txt", "-o", folder / "cells", "--quiet").returncode == 0
    again = run(
        "train",
        folder / "cells",
        "-o",
        folder / "h",
        "--model",
        "glove",
        "--dim",
        8,
        "--epochs",
        3,
        "--threads",
        1,
        "--quiet",
    )
    assert again.returncode == 0, again.stderr
    files = [(folder / name / "v1" / "model.safetensors").read_bytes() for name in ("g", "h")]
    assert files[0] == files[1]
    lines = [json.loads(line) for line in (folder / "l").read_text().splitlines()]
    assert [line["loss"] for line in lines if line["event"] == "epoch"] == unhot.load(
        folder / "g"
    ).history.losses
    assert "w1" in run("neighbors", folder / "g", "w2", "-n", 40).stdout
    assert '"glove"' in run("info", folder / "g", "--json").stdout
    assert run("verify", folder / "g").returncode == 0
    refused = run("evaluate", folder / "g", "--text", folder / "t.txt")
    assert refused.returncode == 1
    assert "output layer" in refused.stderr
    begun = run(
        "train",
        folder / "t.txt",
        "-o",
        folder / "s",
        "--start",
        folder / "g",
        "--dim",
        8,
        "--epochs",
        1,
        "--quiet",
    )
    assert begun.returncode == 0, begun.stderr  # its vectors are vectors like any others


def test_svd(folder):
    trained = run(
        "train",
        folder / "t.txt",
        "-o",
        folder / "v",
        "--model",
        "svd",
        "--dim",
        5,
        "--window",
        2,
        "--shift",
        2,
    )
    assert trained.returncode == 0, trained.stderr
    model = unhot.load(folder / "v")
    assert (model.name, model.window, model.shift, len(model.singular_values)) == ("svd", 2, 2.0, 5)
    resumed = run("train", "--resume", folder / "v")
    assert resumed.returncode == 0
    assert "its training is complete, nothing is left to do" in resumed.stderr


def test_skipgram_on_cells(folder):
    trained = run(
        "train",
        folder / "t.txt",
        "-o",
        folder / "c",
        "--on",
        "cells",
        "--output",
        "softmax",
        "--dim",
        5,
        "--epochs",
        2,
    )
    assert trained.returncode == 0, trained.stderr
    assert unhot.load(folder / "c").on == "cells"


def test_phrases_first(folder):
    assert (
        run(
            "phrases", folder / "t.txt", "--phrases", folder / "p.json", "--threshold", 2, "--quiet"
        ).returncode
        == 0
    )
    assert ("new_york") in [phrase for phrase, *_ in Phrases.load(folder / "p.json").phrases]
    for model in ("skipgram", "glove", "svd"):
        trained = run(
            "train",
            folder / "t.txt",
            "-o",
            folder / f"p{model}",
            "--model",
            model,
            "--dim",
            4,
            "--phrases",
            folder / "p.json",
        )
        assert trained.returncode == 0, trained.stderr
        words = unhot.load(folder / f"p{model}").vocabulary.words
        assert "new_york" in words
        assert "york" not in words


def test_sums_of_ngrams(folder):
    small = ("--model", "fasttext", "--dim", 4, "--epochs", 1, "--min-count", 1, "--buckets", 100, "-q")
    trained = run("train", folder / "t.txt", "-o", folder / "s", *small, "--combine", "sum")
    assert trained.returncode == 0, trained.stderr
    facts = json.loads(run("info", folder / "s", "--json").stdout)
    assert (facts["combine"], facts["lr"]) == ("sum", 0.0125)
    written = run("convert", folder / "s", folder / "s.bin", "--to", "fasttext")
    assert (written.returncode, "sums of rows" in written.stderr) == (0, True), written.stderr
    on = ("train", folder / "t.txt", "-o", folder / "on", "--start", folder / "s", "--epochs", 1, "-q")
    mixed = run(*on, "--combine", "mean")
    assert mixed.returncode != 0
    assert "the same combine" in mixed.stderr
    for model, combine in (("fasttext", "sum"), ("cbow", "mean")):  # that of cbow is about words
        assert run(*on, "--model", model, "--overwrite").returncode == 0
        assert unhot.load(folder / "on").combine == combine


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--model", "glove", "--output", "softmax"],
            "--output: is a setting of skipgram, cbow, fasttext, neural, classifier, not of --model glove",
        ),
        (["--model", "svd", "--x-max", "5"], "--x-max: is a setting of glove, not of --model svd"),
        (["--model", "glove", "--combine", "none"], "'none' is not one of"),
        (["--model", "cbow", "--combine", "word"], "combine='word'"),
        (["--model", "fasttext", "--combine", "half"], "combine='half': must be one of mean, sum"),
        (["--model", "glove", "--memory", "1kB"], "memory"),
        (["--model", "svd", "--start", "g"], "--start: --model svd always starts from scratch"),
        (["--model", "svd", "--dim", "500"], "dim=500"),
    ],
)
def test_wrong_settings(folder, options, message):
    (folder / "g.vec").write_text("1 2\nw1 1 2\n")
    given = [str(folder / "g.vec") if option == "g" else option for option in options]
    refused = run("train", folder / "t.txt", "-o", folder / "no", *given)
    assert refused.returncode != 0
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_help_has_a_part_for_each_kind_of_model():
    shown = run("train", "--help").stdout
    for title in (
        "Options:",
        "Settings of all models:",
        "Settings of glove, svd:",
        "Settings of fasttext:",
        "Settings of svd:",
        "Output layers",
    ):
        assert f"\n{title}" in shown


def test_folders_that_were_encoded_or_counted_are_no_text(folder):
    small = ("--dim", 4, "--epochs", 1, "--threads", 1, "-q")
    kept = run("train", folder / "t.txt", "-o", folder / "k", *small, "--corpus-dir", folder / "ids")
    assert kept.returncode == 0, kept.stderr
    again = run("train", folder / "ids", "-o", folder / "l2", *small)
    assert again.returncode == 0, again.stderr
    files = [(folder / name / "v1" / "model.safetensors").read_bytes() for name in ("k", "l2")]
    assert files[0] == files[1]
    assert run("cooccur", folder / "t.txt", "-o", folder / "near", "--window", 3, "-q").returncode == 0
    exact = run(
        "train",
        folder / "near",
        "-o",
        folder / "x",
        "--on",
        "cells",
        "--output",
        "softmax",
        "--dim",
        4,
        "--epochs",
        1,
    )
    assert exact.returncode == 0, exact.stderr
    refused = run("train", folder / "near", "-o", folder / "no", "--model", "cbow")
    assert refused.returncode == 2
    assert "Cells as a source" in refused.stderr
    for option in ("--window", "--max-vocab", "--min-count"):
        refused = run("train", folder / "near", "-o", folder / "no", "--model", "glove", option, 5)
        assert refused.returncode == 2
        assert f"{option}: {folder / 'near'} is already encoded" in refused.stderr
