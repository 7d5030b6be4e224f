"""A folder that cannot be written: refused before the training, and no obstacle to those who only read.

Without root by its mode, as root by a file system that is mounted again for reading only.
"""

import json
import os

import numpy as np
import pytest

import unhot
from unhot.errors import DataError
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import checkpoint_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs modes or mounts")
REASON = r"\((Read-only file system|Permission denied)\)"


@pytest.fixture
def model(small):
    return unhot.load(small / "new")


@pytest.fixture
def read_only(locked, model, tree):
    """A folder with a model in it that nobody can change; at the end nobody has."""
    folder, lock = locked
    model.save(folder / "model")
    model.save(checkpoint_of(folder / "cut off"))
    lock()
    before = tree(folder)
    yield folder
    assert tree(folder) == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("new", ("{text}", "-o", "{folder}/new")),
        ("new", ("{text}", "-o", "{folder}/deep/inside/new")),
        ("model", ("{text}", "-o", "{folder}/model")),
        ("cut off", ("--resume", "{folder}/cut off")),
    ],
)
def test_refused_before_training(name, arguments, read_only, text, run):
    done = run("train", *(argument.format(text=text, folder=read_only) for argument in arguments))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()  # nothing was read, nothing was trained
    assert line.startswith(f"unhot: {read_only}")
    assert f"{name}: a model cannot be saved here (" in line
    assert line.endswith("; choose another place")


def test_saving(read_only, model):
    with pytest.raises(
        DataError, match=rf"model: the model cannot be saved {REASON}; the old model is untouched"
    ):
        model.save(read_only / "model")
    with pytest.raises(DataError, match=rf"new: the model cannot be saved {REASON}; nothing was saved"):
        model.save(read_only / "new")
    for name in ("v.txt", "v.bin", "v.npy", "v.safetensors"):
        with pytest.raises(
            DataError, match=rf"cannot be written {REASON}; what was there before is untouched"
        ):
            model.vectors.save(read_only / name)


def test_checkpoints_are_refused_before_the_training(read_only, lines, settings):
    checkpoint = Checkpoint(path=read_only / "new", minutes=None, chunks=1)
    with pytest.raises(DataError, match="a model cannot be saved here"):
        unhot.SkipGram(**settings).fit(lines, checkpoint=checkpoint)


def test_reading(read_only, model):
    found = unhot.load(read_only / "model", verify=True)
    np.testing.assert_array_equal(found.vectors.vectors, model.vectors.vectors)
    assert found.vectors.most_similar("w1", topn=3) == model.vectors.most_similar("w1", topn=3)
    assert unhot.load(read_only / "cut off", verify=True).vectors.words == model.vectors.words
    assert unhot.Vectors.load(read_only / "model").words == model.vectors.words


def test_commands_that_read(read_only, run, tmp_path):
    folder = read_only / "model"
    (tmp_path / "pairs.txt").write_text("".join(f"w{i} w{i + 1} {i}\n" for i in range(20)))
    (tmp_path / "held_out.txt").write_text("w1 w2 w3 w4\n")
    for command in (
        ("neighbors", folder, "w1", "-n", 3, "--json"),
        (
            "evaluate",
            folder,
            "--similarity",
            tmp_path / "pairs.txt",
            "--text",
            tmp_path / "held_out.txt",
            "--json",
        ),
        ("info", folder, "--json"),
        ("verify", folder, "--json"),
    ):
        done = run(*command, cwd=read_only)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)
    done = run("convert", folder, tmp_path / "v.bin", cwd=read_only)
    assert done.returncode == 0, done.stderr
    assert unhot.Vectors.load(tmp_path / "v.bin").words[0] in unhot.load(folder).vectors
