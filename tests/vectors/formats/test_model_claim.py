"""A training holds its model folder."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import unhot
from unhot import claims
from unhot.claims import CLAIM
from unhot.errors import DataError
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import load_model, save_model
from unhot.vectors.formats.model_claim import claimed_model
from unhot.vocab.vocabulary import Vocabulary

pytestmark = pytest.mark.skipif(claims.fcntl is None, reason="nothing is locked on Windows")
WORDS = Vocabulary(["a", "b"], np.array([2, 1]))
LINES = [["a", "b", "c"] * 5] * 20
SAVE = """
import sys
import unhot
from unhot.errors import DataError
try:
    unhot.SkipGram(dim=4, min_count=1, epochs=1, sample=0).fit([["a", "b"]] * 20).save(sys.argv[1])
except DataError as error:
    print(error)
"""


def test_a_folder_that_was_made_for_nothing_is_removed(tmp_path):
    with claimed_model(tmp_path / "a" / "b"):
        assert (tmp_path / "a" / "b" / CLAIM).exists()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_with_a_model_stays(tmp_path):
    with claimed_model(tmp_path / "a" / "b"):
        save_model(tmp_path / "a" / "b", {}, WORDS, {})
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["CURRENT", "v1"]


@pytest.mark.parametrize("name", ["model", "model/checkpoint"])
def test_what_is_no_model_is_refused(name, tmp_path):
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "thesis.txt").write_text("mine")
    with pytest.raises(DataError, match="not an unhot model"), claimed_model(tmp_path / "model"):
        pass
    assert [path.name for path in (tmp_path / name).iterdir()] == ["thesis.txt"]


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    place = claimed_model(tmp_path / "file" / "m")
    with pytest.raises(DataError, match="a model cannot be saved here"), place:
        pass


def test_fit_holds_the_folder_and_another_process_cannot_save(tmp_path):
    folder, said = tmp_path / "model", []

    def try_to_save(progress):
        if progress.event == "start":
            command = [sys.executable, "-c", SAVE, str(folder)]
            said.append(subprocess.run(command, capture_output=True, text=True, timeout=300).stdout)

    checkpoint = Checkpoint(path=folder)
    model = unhot.SkipGram(dim=4, min_count=1, epochs=1)
    model.fit(LINES, checkpoint=checkpoint, callbacks=[try_to_save])
    assert f"another process is writing here (process {os.getpid()}, since " in said[0]
    assert not folder.exists()
    model.save(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["CURRENT", "v1"]


def test_a_second_training_in_another_thread_is_refused(tmp_path):
    checkpoint = Checkpoint(path=tmp_path / "model")

    def train():
        return unhot.SkipGram(dim=4, min_count=1, epochs=1).fit(LINES, checkpoint=checkpoint)

    with ThreadPoolExecutor(1) as other, claimed_model(tmp_path / "model"):
        with pytest.raises(DataError, match="another process is writing here"):
            other.submit(train).result()
        assert train().complete  # the thread that holds the folder may train there


def test_a_model_folder_in_the_folder_of_the_text(tmp_path):
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, LINES)))
    model = unhot.SkipGram(dim=4, min_count=1, epochs=1)
    model.fit(tmp_path, checkpoint=Checkpoint(path=tmp_path / "model"))
    assert model.vocabulary.words == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors"])
def test_an_edit_of_the_same_length_is_noticed_at_opening(name, tmp_path):
    unhot.SkipGram(dim=4, min_count=1, epochs=1, seed=1).fit(LINES).save(tmp_path)
    file = tmp_path / "v1" / name
    data = file.read_bytes()
    changed = data.replace(b'"seed": 1', b'"seed": 2') if name == "config.json" else data[:-1] + b"?"
    assert changed != data
    file.write_bytes(changed)
    message = rf"{name}: bytes 0\.\.{len(data)}: the sha256 differs"
    for opened in (load_model, unhot.load, unhot.Vectors.load):
        with pytest.raises(unhot.errors.FormatError, match=message):
            opened(tmp_path)


def test_large_files_are_checked_only_by_verify(tmp_path, monkeypatch):
    unhot.SkipGram(dim=4, min_count=1, epochs=1).fit(LINES).save(tmp_path)
    manifest = tmp_path / "v1" / "manifest.json"
    listed = json.loads(manifest.read_text())
    listed["files"]["model.safetensors"]["sha256"] = "0" * 64
    manifest.write_text(json.dumps(listed))
    monkeypatch.setattr("unhot.vectors.formats.directory.SMALL", 1)
    load_model(tmp_path)
    with pytest.raises(unhot.errors.FormatError, match="sha256 differs"):
        load_model(tmp_path, verify=True)
