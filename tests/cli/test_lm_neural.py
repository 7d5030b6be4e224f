"""The commands of `unhot lm` for neural models, mixtures and comparisons."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from grids import soak_only

pytest.importorskip("torch")

import unhot  # noqa: E402
from tests.cli.test_lm import run  # noqa: E402
from tests.models.test_neural_lm import TRAIN, VALID  # noqa: E402
from unhot.bench.language import LanguageSettings, compare_language  # noqa: E402

SMALL = ["--model", "neural", "--dim", 8, "--batch", 4, "--steps", 5, "--threads", 1, "-q"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("neural")
    (folder / "train.txt").write_text("\n".join(TRAIN) + "\n")
    (folder / "valid.txt").write_text("\n".join(VALID) + "\n")
    run("train", folder / "train.txt", "-o", folder / "ngrams", "--order", 2, "-q")
    how = [
        "--body",
        "gru:layers=2",
        "--output",
        "nce:k=3",
        "--validation",
        folder / "valid.txt",
        "--epochs",
        2,
    ]
    run("train", folder / "train.txt", "-o", folder / "neural", *SMALL, *how)
    return folder


def test_train_takes_settings(folder: Path) -> None:
    found = unhot.load(folder / "neural")
    assert isinstance(found, unhot.NeuralLM)
    assert (found.body, found.output) == ("gru:units=0,layers=2,recurrent=0.0", "nce:k=3")
    assert found.complete


def test_settings_of_the_other_model_are_refused(folder: Path) -> None:
    for options in (["--order", 3, *SMALL], ["--body", "gru"]):
        assert run("train", folder / "train.txt", "-o", folder / "no", *options, code=1) == ""
    assert not (folder / "no").exists()


def test_perplexity_in_detail(folder: Path) -> None:
    usual = json.loads(run("perplexity", folder / "neural", folder / "valid.txt", "--json"))
    alone = json.loads(run("perplexity", folder / "neural", folder / "valid.txt", "--json", "--alone"))
    found = json.loads(run("perplexity", folder / "neural", folder / "valid.txt", "--json", "--details"))
    assert usual["perplexity"] == found["perplexity"] != alone["perplexity"]
    assert found["log_z_variance"] > 0
    assert set(found["bands"]) == {"100-999"}
    shown = run("perplexity", folder / "neural", folder / "valid.txt", "--details")
    assert "bits per character" in shown
    assert "100-999" in shown


def test_all_questions(folder: Path, tmp_path: Path) -> None:
    words = json.loads(run("generate", folder / "neural", "a b", "--next", 3, "--json"))
    assert len(words) == 3
    assert run("generate", folder / "neural", "--seed", 1) == run("generate", folder / "neural", "--seed", 1)
    run("score", folder / "neural", folder / "valid.txt", "-o", tmp_path / "scored.tsv", "-q")
    assert len((tmp_path / "scored.tsv").read_text().splitlines()) == 1 + len(VALID)


def test_mix(folder: Path) -> None:
    names = [str(folder / name) for name in ("neural", "ngrams")]
    given = [*names, "--validation", folder / "valid.txt", "-o", folder / "mixture"]
    found = json.loads(run("mix", *given, "--json"))
    assert sum(found["weights"].values()) == pytest.approx(1)
    assert found["perplexity"] <= min(found["alone"].values()) * 1.0001
    again = json.loads(run("perplexity", folder / "mixture", folder / "valid.txt", "--json"))
    assert again["perplexity"] == pytest.approx(found["perplexity"])
    assert "together" in run("mix", *given)


def test_resume_and_start(folder: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    unhot.Vectors(["a", "b"], [[0.1] * 6, [0.2] * 6]).save(vectors)
    how = [each for each in SMALL if each not in ("--dim", 8)]
    run("train", folder / "train.txt", "-o", tmp_path / "m", *how, "--epochs", 1, "--start", vectors)
    assert unhot.load(tmp_path / "m").dim == 6
    assert run("train", "--resume", tmp_path / "m") == ""


def test_compare(folder: Path, tmp_path: Path) -> None:
    texts = [folder / "train.txt", folder / "valid.txt", folder / "valid.txt"]
    how = ["--dim", 8, "--batch", 4, "--steps", 5, "--threads", 1, "--epochs", 1, "--seeds", 2, "--order", 2]
    layers = ["--layers", "softmax", "sampled:k=2", "nce:k=2,ln_z=per_input"]
    shown = run("compare", *texts, *how, *layers, "-o", tmp_path / "x", "-q")
    assert "sampled:k=2 + n-grams" in shown
    assert "failed: nce:k=2,ln_z=per_input" in shown
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"x.csv", "x-curves.csv", "x.md", "x-time.svg", "x-bands.svg"}
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert len(lines) == 1 + 1 + 2 * (2 + 1) + 1  # header, n-grams, two layers with seeds and mixture, failed
    assert "| `softmax` |" in (tmp_path / "x.md").read_text()
    found = json.loads(
        run(
            "compare",
            *texts,
            *how[:-4],
            "--minutes",
            0.01,
            "--lr",
            0.01,
            "--layers",
            "softmax",
            "-q",
            "--json",
            "-o",
            tmp_path / "y",
        )
    )
    assert [row["kind"] for row in found["rows"]] == ["ngram", "layer", "mixture"]


def test_compare_reads_packed_texts_and_estimates_first(folder: Path, tmp_path: Path) -> None:
    packed = tmp_path / "valid.txt.gz"
    packed.write_bytes(gzip.compress((folder / "valid.txt").read_bytes()))
    how: dict[str, Any] = {"dim": 4, "batch": 4, "steps": 5, "threads": 1, "lr": 0.01, "order": 2}
    told: dict[Path, list[str]] = {}
    curves = []
    for valid in (packed, folder / "valid.txt"):
        told[valid] = []
        settings = LanguageSettings(**how, epochs=1)
        texts = (folder / "train.txt", valid, folder / "valid.txt")
        found = compare_language(*texts, ["softmax"], settings=settings, tell=told[valid].append)
        curves.append([[point[1] for point in row.curve] for row in found.rows])
    assert curves[0] == curves[1]
    assert len(curves[0][0]) == 1  # that of n-grams is a level
    assert "1 layers: at most about" in told[packed][1]


def test_compare_refuses_wrong_layers_at_once(folder: Path, tmp_path: Path) -> None:
    text = folder / "train.txt"
    given = ["compare", text, text, text, "-o", tmp_path / "x"]
    for layers, why in ((["brain"], "there is no layer 'brain'"), (["softmax", "softmax"], "given twice")):
        with pytest.raises(unhot.errors.ConfigError, match=why):
            run(*given, "--layers", *layers)
    assert list(tmp_path.iterdir()) == []


@soak_only  # tests/models has two processes without torchrun
def test_two_processes_of_torchrun(folder: Path, tmp_path: Path) -> None:
    given = [
        "-m",
        "unhot",
        "lm",
        "train",
        folder / "train.txt",
        "-o",
        tmp_path / "m",
        *SMALL[:-1],
        "--epochs",
        1,
    ]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *given]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=240, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("saved to") == 1
    assert unhot.load(tmp_path / "m").perplexity(VALID).perplexity < 6
