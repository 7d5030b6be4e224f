"""Folders that come from anywhere: links, pipes and devices in them are refused, and named."""

import hashlib
import json
import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from commands import run

import unhot
from unhot.errors import DataError, FormatError
from unhot.logs.encoding import read_log
from unhot.logs.log import Log
from unhot.vectors.formats.directory import load_model, save_model
from unhot.vocab.vocabulary import Vocabulary

MODELS = Path(__file__).parents[1] / "golden" / "models"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no pipes, and no links without rights")
TEXT = "the cat sat on the mat\n" * 30


@pytest.fixture
def model(tmp_path):
    shutil.copytree(MODELS / "vectors", tmp_path / "model")
    return tmp_path / "model"


def pipe(path):
    """Make a pipe in the place of a file; whoever waits for it goes on after three seconds."""
    path.unlink()
    os.mkfifo(path)
    held = os.open(path, os.O_RDWR)
    timer = threading.Timer(3, os.close, (held,))
    timer.daemon = True
    timer.start()


def linked(path):
    """Put a link in the place of a file, to the same bytes elsewhere."""
    moved = path.with_suffix(".moved")
    path.rename(moved)
    path.symlink_to(moved)


@pytest.mark.parametrize("change", [pipe, linked])
@pytest.mark.parametrize("name", ["manifest.json", "config.json", "vocab.txt", "model.safetensors"])
def test_only_regular_files_of_a_model_are_read(name, change, model):
    file = next(model.glob(f"*/{name}"))
    change(file)
    ended = run("info", str(model))
    assert ended.returncode == 1
    kind = "a pipe" if change is pipe else "a link"
    assert f"{file}: byte 0: is {kind}, not a regular file" in ended.stderr
    assert not run("neighbors", str(model), "cat").stdout


@pytest.mark.parametrize("change", [pipe, linked])
def test_current_must_be_a_regular_file(change, model):
    change(model / "CURRENT")
    for command in (["info", str(model)], ["neighbors", str(model), "cat"]):
        ended = run(*command)
        assert ended.returncode == 1
        assert not ended.stdout


def test_a_version_that_is_a_link_is_refused(model):
    version = next(model.glob("v*"))
    version.rename(model.with_name("elsewhere"))
    version.symlink_to(model.with_name("elsewhere"))
    ended = run("info", str(model))
    assert ended.returncode == 1
    assert f"{version}: is a link" in ended.stderr


def test_a_folder_given_as_a_link_is_read(model, tmp_path):
    (tmp_path / "link").symlink_to(model)
    assert run("info", str(tmp_path / "link")).returncode == 0


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_claim_that_leads_elsewhere_leaves_that_file_alone(link, model, tmp_path):
    precious = tmp_path / "precious.txt"
    precious.write_text("of the user")
    link(model / ".unhot-claim", precious)
    (tmp_path / "text.txt").write_text(TEXT)
    train = ("train", str(tmp_path / "text.txt"), "--dim", "8", "--min-count", "1", "--epochs", "1")
    ended = run(*train, "-o", str(model))
    assert ended.returncode == 1
    assert f"{model / '.unhot-claim'}: is a link" in ended.stderr
    with pytest.raises(DataError, match="is a link"):
        unhot.Vectors.load(MODELS / "vectors").save(model)
    assert precious.read_text() == "of the user"


def test_checkpoints_are_not_saved_behind_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "checkpoint").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "text.txt").write_text(TEXT)
    ended = run("train", str(tmp_path / "text.txt"), "-o", str(tmp_path / "model"), "--min-count", "1")
    assert ended.returncode == 1
    assert "checkpoint: is a link" in ended.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize("name", ["cells.json", "vocab.txt", "counts.bin", "cells.starts", "cells.values"])
def test_only_regular_files_of_cells_are_read(name, tmp_path):
    cells = tmp_path / "cells"
    shutil.copytree(MODELS / "cells", cells)
    linked(cells / name)
    ended = run("info", str(cells))
    assert ended.returncode == 1
    assert f"{cells / name}: byte 0: is a link" in ended.stderr


@pytest.mark.parametrize(
    "name", ["corpus.json", "log.json", "vocab.txt", "00000.ids", "00000.starts", "times.bin"]
)
def test_only_regular_files_of_a_log_are_read(name, tmp_path):
    log = tmp_path / "log"
    read_log([("u", "a", 1), ("u", "b", 2), ("v", "a", 3)], directory=log).close()
    linked(log / name)
    with pytest.raises(FormatError, match="is a link, not a regular file"):
        Log.open(log)


def with_config(name, target, **changes):
    """Copy a golden model with other values in its config, and right checksums."""
    saved = load_model(MODELS / name)
    save_model(
        target, {**saved.config, **changes}, saved.vocabulary, dict(saved.tensors), saved.out_vocabulary
    )
    return saved.config


def test_a_recommender_opens_no_file_that_its_config_names(tmp_path):
    (tmp_path / "secret.csv").write_text("password,item\n1,2\n")
    log = load_model(MODELS / "itemknn").config["log"]
    with_config("itemknn", tmp_path / "model", log={**log, "paths": [str(tmp_path / "secret.csv")]})
    ended = run("recommend", "evaluate", tmp_path / "model")
    assert ended.returncode == 1
    assert "give the log that it learned from" in ended.stderr
    assert "secret" not in ended.stderr


@pytest.mark.parametrize("name", ["item2vec-stopped", "skipgram-stopped"])
def test_nothing_is_shown_of_a_file_that_a_checkpoint_names(name, tmp_path):
    secret, training = tmp_path / "secret.csv", load_model(MODELS / name).config["training"]
    secret.write_text("password,name\nhunter2,root\n")
    with_config(name, tmp_path / "model", training={**training, "source": [str(secret)]})
    command = ("recommend",) if name.startswith("item") else ()
    ended = run(*command, "train", "--resume", tmp_path / "model")
    assert ended.returncode == 1
    assert f"reading {secret}, as the checkpoint says" in ended.stderr
    assert "is not the text that the training started with" in ended.stderr
    assert "password" not in ended.stderr
    assert "hunter2" not in ended.stderr
    pipe(secret)
    ended = run(*command, "train", "--resume", tmp_path / "model")
    assert ended.returncode == 1
    assert f"{secret}: byte 0: is a pipe" in ended.stderr


ESC = "\x1b]0;title\x07\x1b[31m"


def test_what_people_see_of_a_config_is_escaped_and_shortened(tmp_path):
    long = "x" * 5_000_000
    words = Vocabulary([f"a{ESC}", long], [2, 1])
    tensors = {"in_vectors": np.ones((2, 8), np.float32), f"t{ESC}": np.ones(2, np.float32)}
    save_model(tmp_path / "model", {"model": "vectors", f"key{ESC}": f"value{ESC}"}, words, tensors)
    plain = run("info", tmp_path / "model")
    assert plain.returncode == 0
    assert plain.stdout.count("\\x1b]0;title\\x07\\x1b[31m") == 4
    assert "... (5,000,000 characters)" in plain.stdout
    assert len(plain.stdout) < 5000
    assert not {"\x1b", "\x07"} & {*plain.stdout}
    exact = json.loads(run("info", tmp_path / "model", "--json").stdout)
    assert exact[f"key{ESC}"] == f"value{ESC}"
    assert [*exact["commonest"]] == [f"a{ESC}", long]


def test_names_of_files_and_columns_are_escaped_in_errors_and_notes(tmp_path):
    missing = run("info", tmp_path / f"no{ESC}")
    assert "\\x1b]0;title\\x07" in missing.stderr
    (tmp_path / "log.csv").write_text(f"{ESC},thing{ESC}\n1,2\n")
    wrong = run("recommend", "train", tmp_path / "log.csv", "-o", tmp_path / "m")
    assert wrong.returncode
    assert not {"\x1b", "\x07"} & {*missing.stderr, *wrong.stderr}


def test_items_with_control_characters_stay_apart(tmp_path):
    rows = [("u", "bell\x07"), ("u", "bell"), ("u", "other"), ("v", "bell\x07"), ("v", "other")]
    unhot.ItemKNN().fit(rows).save(tmp_path / "model")
    shown = run("recommend", "similar", tmp_path / "model", "other").stdout
    assert "bell\\x07" in shown
    assert "\x07" not in shown


def configured(folder, change):
    """Change the config of a saved model, and its checksum."""
    version = folder / (folder / "CURRENT").read_text().strip()
    config = json.loads((version / "config.json").read_text())
    raw = json.dumps(config | change(config)).encode()
    (version / "config.json").write_bytes(raw)
    manifest = json.loads((version / "manifest.json").read_text())
    manifest["files"]["config.json"].update(size=len(raw), sha256=hashlib.sha256(raw).hexdigest())
    (version / "manifest.json").write_text(json.dumps(manifest))


NONSENSE = (None, 5, -1, 2**70, "x", [], {}, [None], True)


@pytest.mark.parametrize("name", ["skipgram", "classifier"])
def test_nonsense_in_a_config_is_no_bug(name, tmp_path):
    """Any key may hold anything: commands show it, or say in one line what is wrong."""
    version = MODELS / name / (MODELS / name / "CURRENT").read_text().strip()
    for key in json.loads((version / "config.json").read_text()):
        for value in NONSENSE if key == "losses" else NONSENSE[:2]:
            shutil.copytree(MODELS / name, tmp_path / "m", dirs_exist_ok=True)
            configured(tmp_path / "m", lambda config, key=key, value=value: {key: value})
            for command in (("info", tmp_path / "m"), ("neighbors", tmp_path / "m", "cat")):
                ended = run(*command)
                assert ended.returncode in (0, 1)
                assert "bug" not in ended.stderr, (key, value)


def test_a_model_that_names_a_file_does_not_open_it(tmp_path):
    """A saved model holds what `noise=file:PATH` held; a name in its settings alone opens nothing."""
    shutil.copytree(MODELS / "skipgram", tmp_path / "m")
    os.mkfifo(tmp_path / "pipe")  # whoever opens it waits for ever
    output = f"negative:noise=file:{tmp_path / 'pipe'}"
    configured(tmp_path / "m", lambda config: {"output": output})
    model = unhot.load(tmp_path / "m")
    word = model.vectors.words[0]
    model.save(tmp_path / "again")
    assert unhot.load(tmp_path / "again").config()["output"].startswith("negative:k=5,noise=file:pipe,")
    (tmp_path / "text").write_text(f"{word} {word}\n")
    for command in (("info",), ("verify",), ("neighbors", word)):
        assert run(command[0], tmp_path / "m", *command[1:]).returncode == 0
    with pytest.raises(DataError, match="saved without what the file held"):
        model.predict_word([word])
    ended = run("evaluate", tmp_path / "m", "--text", tmp_path / "text")
    assert ended.returncode == 1
    assert "saved without what the file held" in ended.stderr
