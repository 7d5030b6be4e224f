"""`unhot train`: cut off and resumed, started from other models, frozen words."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import run

import unhot
from unhot.train.epoch_run import EpochRun

RNG = np.random.default_rng(3)
LINES = [" ".join(f"w{i}" for i in RNG.integers(0, 20, 30)) for _ in range(200)]
SMALL = ("--dim", "8", "--min-count", "1", "--threads", "1")


def digest(folder):
    files = sorted(p for p in Path(folder).rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text, a model of it, and a training that was killed."""
    path = tmp_path_factory.mktemp("train")
    (path / "text.txt").write_text("\n".join(LINES))
    assert run("train", path / "text.txt", "-o", path / "model", *SMALL, "--epochs", 2, "-q").returncode == 0
    command = [
        sys.executable,
        "-m",
        "unhot",
        "train",
        "text.txt",
        "-o",
        "killed",
        *SMALL,
        "--epochs",
        "400",
        "--checkpoint-chunks",
        "50",
    ]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=path)
    while "checkpoint:" not in child.stderr.readline():
        pass
    os.kill(child.pid, signal.SIGKILL)
    child.wait(timeout=60)
    child.stderr.close()
    return path


def test_a_killed_training_is_a_model_and_says_how_to_go_on(folder):
    facts = json.loads(run("info", folder / "killed", "--json").stdout)
    assert facts["training"]["source"] == [str(folder / "text.txt")]
    assert len(facts["losses"]) == facts["training"]["epoch"] < 400
    assert run("neighbors", folder / "killed", "w1").returncode == 0
    again = run("train", "text.txt", "-o", "killed", *SMALL, cwd=folder)
    assert again.returncode == 1
    assert "continue it with --resume killed, or start over with --overwrite" in again.stderr


def test_resume_ends_with_the_bytes_of_an_uninterrupted_run(folder):
    resumed = run("train", "--resume", folder / "killed", "-o", folder / "resumed")
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming after" in resumed.stderr
    assert (
        run("train", folder / "text.txt", "-o", folder / "whole", *SMALL, "--epochs", 400, "-q").returncode
        == 0
    )
    assert digest(folder / "resumed") == digest(folder / "whole")


def interrupted(folder, target, *arguments):
    """What a training says that is stopped by Ctrl-C after its third epoch."""
    long = ("train", "text.txt", "-o", target, *SMALL, "--epochs", "100000", *arguments)
    done = run(*long, cwd=folder, interrupt="epoch 3/")
    assert done.returncode == 130
    return done.stderr


def test_ctrl_c_then_resume(folder):
    told = interrupted(folder, "stopped")
    assert "saved the model as it is to stopped; continue with: unhot train --resume stopped" in told
    assert json.loads(run("info", "stopped", "--json", cwd=folder).stdout)["training"]["epoch"] >= 3
    again = run("train", "text.txt", "-o", "stopped", cwd=folder)
    assert "start over with --overwrite" in again.stderr


def test_ctrl_c_leaves_a_finished_model_alone(folder):
    shutil.copytree(folder / "model", folder / "done")
    told = interrupted(folder, "done", "--seed", "7")
    assert "saved the model as it is to done/checkpoint; continue with: unhot train --resume done" in told
    assert digest(folder / "done" / "v1") == digest(folder / "model" / "v1")
    assert unhot.load_unfinished(folder / "done").seed == 7
    assert unhot.load(folder / "done").seed == 1


def test_resuming_a_folder_without_a_checkpoint(folder, tmp_path):
    """A killed process may leave such a folder, with its claim or half a version in it."""
    (tmp_path / ".unhot-1-2-v1").mkdir()
    told = run("train", "--resume", tmp_path)
    assert told.returncode == 1
    assert f"{tmp_path}: holds no checkpoint and no model, so there is nothing to resume" in told.stderr
    asked = run("neighbors", tmp_path, "w1")
    assert f"{tmp_path}: this is not an unhot model: it has no CURRENT" in asked.stderr


@pytest.mark.parametrize("there", [False, True])
def test_ctrl_c_before_anything_is_learned_saves_nothing(there, folder, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    target = folder / f"nothing-{there}"
    if there:
        shutil.copytree(folder / "model", target)
    monkeypatch.setattr(EpochRun, "rate", stopped)
    done = run("train", "text.txt", "-o", target, *SMALL, "--seed", "7", cwd=folder)
    assert done.returncode == 130
    assert f"interrupted before anything was learned: nothing was saved to {target}" in done.stderr
    assert target.exists() == there
    if there:
        assert digest(target) == digest(folder / "model")


def test_a_line_says_that_a_finished_model_is_replaced(folder):
    shutil.copytree(folder / "model", folder / "old")
    replaced = "old: holds a finished model, which the new one replaces when it is saved whole"
    assert replaced in run("train", "text.txt", "-o", "old", *SMALL, cwd=folder).stderr
    assert "replaces" not in run("train", "text.txt", "-o", "new", *SMALL, cwd=folder).stderr


def test_resuming_a_complete_training_does_nothing(folder):
    """So a script may resume until it succeeds."""
    before = digest(folder / "model")
    told = run("train", "--resume", "model", cwd=folder)
    assert (told.returncode, told.stdout) == (0, "")
    assert told.stderr == (
        "model: its training is complete, nothing is left to do; "
        "to learn from more text: unhot train TEXT -o NEW --start model\n"
    )
    assert digest(folder / "model") == before
    quiet = run("train", "--resume", "model", "-q", cwd=folder)
    assert (quiet.returncode, quiet.stderr) == (0, "")


def test_going_on_with_new_words(folder):
    text = "\n".join(["w1 w2 new newer"] * 20)
    told = run(
        "train",
        "-",
        "-o",
        folder / "grown",
        "--start",
        folder / "model",
        "--freeze",
        "known",
        "--epochs",
        1,
        text=text,
    )
    assert told.returncode == 0, told.stderr
    before, after = unhot.load(folder / "model"), unhot.load(folder / "grown")
    assert set(after.vectors.words) - set(before.vectors.words) == {"new", "newer"}
    assert (after.dim, after.min_count, after.epochs) == (8, 1, 1)  # as in the model, where not given
    np.testing.assert_array_equal(after.vectors["w1"], before.vectors["w1"])
    kept = run(
        "train", "-", "-o", folder / "kept", "--start", folder / "model", "--keep-vocabulary", "-q", text=text
    )
    assert kept.returncode == 0, kept.stderr
    assert unhot.load(folder / "kept").vocabulary == before.vocabulary


def test_starting_from_vectors(folder):
    assert run("convert", folder / "model", folder / "v.bin").returncode == 0
    (folder / "words").write_text("w1\nw5\n")
    told = run(
        "train",
        folder / "text.txt",
        "-o",
        folder / "m2",
        *SMALL,
        "--start",
        folder / "v.bin",
        "--freeze",
        folder / "words",
        "-q",
    )
    assert told.returncode == 0, told.stderr
    before, after = unhot.load(folder / "model"), unhot.load(folder / "m2")
    np.testing.assert_array_equal(after.vectors["w5"], before.vectors["w5"])
    assert not np.array_equal(after.vectors["w6"], before.vectors["w6"])


def test_starting_from_vectors_takes_their_dim(folder):
    assert run("convert", folder / "model", folder / "other.txt").returncode == 0
    begins = ["train", folder / "text.txt", "--start", folder / "other.txt", "--min-count", 1, "-q"]
    told = run(*begins, "-o", folder / "m3", "--epochs", 1)
    assert told.returncode == 0, told.stderr
    assert unhot.load(folder / "m3").dim == unhot.load(folder / "model").dim == 8
    refused = run(*begins, "-o", folder / "m4", "--dim", 9)
    assert refused.returncode == 2
    assert "dim=9: the vectors to start from have dim 8; use dim=8" in refused.stderr
    refused = run(*begins, "-o", folder / "m4", "--model", "svd")
    assert "--start: --model svd always starts from scratch" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ["--resume", "killed", "--dim", "30"],
            2,
            "--dim: --resume keeps the settings that the training started with",
        ),
        (["text.txt", "--resume", "model"], 1, "so text.txt would have no effect; to learn from more text: "),
        (["--resume", "model", "-o", "new"], 1, "so -o new would have no effect"),
        (["--resume", "nowhere"], 1, "nowhere: there is no such file or folder; give the folder of a saved"),
        (["text.txt"], 2, "Missing option '-o'"),
        (
            ["text.txt", "-o", "x", "--start", "model", "--dim", "9"],
            2,
            "dim=9: the vectors to start from have dim 8",
        ),
        (["text.txt", "-o", "x", "--start", "nowhere"], 1, "nowhere: there is no such file"),
        (["text.txt", "-o", "x", "--keep-vocabulary"], 2, "--keep-vocabulary: needs --start"),
        (["text.txt", "-o", "x", "--freeze", "known"], 2, "frozen='known'"),
        (["text.txt", "-o", "x", "--freeze", "nofile"], 1, "--freeze nofile: cannot be read"),
        (["text.txt", "-o", "x", "--checkpoint-chunks", "0"], 2, "chunks=0: must be >= 1"),
    ],
)
def test_errors_are_one_line(folder, arguments, code, told):
    result = run("train", *arguments, "-q", cwd=folder)
    assert result.returncode == code
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "x").exists()


def test_the_torch_engine(folder):
    engine = ("--engine", "torch", "--batch", 64, "--output", "differentiated")
    done = run("train", folder / "text.txt", "-o", folder / "torch", *SMALL, *engine, "--epochs", 1)
    assert done.returncode == 0, done.stderr
    assert run("neighbors", folder / "torch", "w1").returncode == 0
    facts = json.loads(run("info", folder / "torch", "--json").stdout)
    assert (facts["engine"], facts["batch"], facts["device"]) == ("torch", 64, "cpu")
    gone_on = run(
        "train",
        folder / "text.txt",
        "-o",
        folder / "torch2",
        "--start",
        folder / "torch",
        "--keep-vocabulary",
        "-q",
    )
    assert gone_on.returncode == 0, gone_on.stderr
    assert unhot.load(folder / "torch2").engine == "torch"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--output", "adaptive"), "adaptive: has no compiled kernel: train with engine='torch'"),
        (("--output", "sampled:k=4097"), "sampled:k=4097: compiled kernels take k <= 4096"),
        (("--device", "cuda:0"), "device='cuda:0': the compiled engine runs on the cpu only"),
        (("--engine", "torch", "--device", "nowhere"), "device='nowhere': cannot be used here"),
    ],
)
def test_what_the_engines_cannot_do(folder, options, told):
    refused = run("train", folder / "text.txt", "-o", folder / "never", *options)
    assert refused.returncode in (1, 2)
    assert told in refused.stderr
    assert not (folder / "never").exists()


def test_fasttexts_file_is_gone_on_with(tmp_path):
    """With its n-grams; another model takes the vectors of its words."""
    text = tmp_path / "text.txt"
    text.write_text("the cat and the cats and a dog\n" * 50)
    common = ["--dim", "8", "--min-count", "1", "--epochs", "1", "--threads", "1", "-q"]
    old = unhot.FastText(dim=8, min_count=1, epochs=3, buckets=300, output="negative:k=5,power=0.5").fit(text)
    old.save_fasttext(tmp_path / "old.bin")
    tiny = ["--lr", "1e-20"]
    assert (
        run("train", text, "-o", tmp_path / "new", "--start", tmp_path / "old.bin", *common, *tiny).returncode
        == 0
    )
    new = unhot.load(tmp_path / "new")
    assert (new.name, new.buckets, new.layer) == ("fasttext", 300, old.layer)
    np.testing.assert_allclose(new.vectors["catdog"], old.vectors["catdog"], atol=1e-6)
    asked = ["--model", "skipgram", "--start", tmp_path / "old.bin"]
    assert run("train", text, "-o", tmp_path / "plain", *asked, *common, *tiny).returncode == 0
    np.testing.assert_allclose(unhot.load(tmp_path / "plain").vectors["cat"], old.vectors["cat"], atol=1e-6)
