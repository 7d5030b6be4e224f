"""The model folder: what comes back, what is refused, and what a kill at any moment leaves."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grids import SOAK
from hypothesis import given
from hypothesis import strategies as st

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors.formats import directory
from unhot.vectors.formats.directory import SavedModel, is_model, load_model, save_model
from unhot.vocab.vocabulary import Vocabulary

WORDS = ["the", "caf\u00e9", "new york", "line\nfeed", "back\\slash", "\udcff", ""]
CONFIG = {"model": "skipgram", "dim": 3, "name": "\u00e9"}


def save(path: Path, value: float = 1.0, words: list[str] = WORDS) -> None:
    padded = np.full((len(words), 16), value, np.float32)
    padded[:, 0] = np.arange(len(words))
    tensors = {"in_vectors": padded[:, :3], "out_vectors": padded[1:, :3]}
    save_model(path, CONFIG, Vocabulary(words, np.arange(len(words), 0, -1)), tensors)


def value_of(saved: SavedModel) -> float:
    return float(saved.tensors["in_vectors"][0, 1])


def tree(path: Path) -> dict[str, str]:
    return {
        str(p.relative_to(path)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(path.rglob("*"))
        if p.is_file()
    }


def test_round_trip(tmp_path: Path) -> None:
    save(tmp_path / "deep" / "model")
    saved = load_model(tmp_path / "deep" / "model", verify=True)
    assert saved.config == CONFIG
    assert saved.vocabulary.words == WORDS
    assert saved.vocabulary.counts.tolist() == [7, 6, 5, 4, 3, 2, 1]
    assert saved.tensors["in_vectors"].tolist() == [[row, 1.0, 1.0] for row in range(7)]
    assert saved.tensors["out_vectors"].tolist() == [[row, 1.0, 1.0] for row in range(1, 7)]
    for tensor in saved.tensors.values():
        assert isinstance(tensor, np.memmap)
        assert tensor.mode == "c"  # it can be changed, the file stays as it is
        assert tensor.flags.aligned


def test_layout_and_same_bytes(tmp_path: Path) -> None:
    save(tmp_path / "a")
    save(tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    assert list(tree(tmp_path / "a")) == [
        "CURRENT",
        "v1/config.json",
        "v1/manifest.json",
        "v1/model.safetensors",
        "v1/vocab.txt",
    ]
    assert (tmp_path / "a/CURRENT").read_bytes() == b"v1\n"


LABELS = ["spam", "caf\u00e9", "line\nfeed"]


def save_with_labels(path: Path) -> Path:
    words, labels = Vocabulary(WORDS, np.arange(7, 0, -1)), Vocabulary(LABELS, [5, 0, 3])
    save_model(path, CONFIG, words, {"in_vectors": np.ones((7, 3), np.float32)}, labels)
    return path


def test_a_second_vocabulary(tmp_path: Path) -> None:
    saved = load_model(save_with_labels(tmp_path / "m"), verify=True)
    assert saved.vocabulary.words == WORDS
    assert saved.out_vocabulary == Vocabulary(LABELS, [5, 0, 3])
    assert saved.tensors["out_counts"].tolist() == [5, 0, 3]
    files = json.loads((tmp_path / "m/v1/manifest.json").read_text())["files"]
    assert sorted(files) == ["config.json", "model.safetensors", "out_vocab.txt", "vocab.txt"]
    save_with_labels(tmp_path / "other")
    assert tree(tmp_path / "m") == tree(tmp_path / "other")
    save(tmp_path / "m")  # the next version has none
    assert load_model(tmp_path / "m").out_vocabulary is None
    assert not (tmp_path / "m/v2/out_vocab.txt").exists()


def test_a_damaged_second_vocabulary(tmp_path: Path) -> None:
    path = save_with_labels(tmp_path / "m") / "v1/out_vocab.txt"
    assert_damage_is_found(path)
    save_with_labels(tmp_path / "n")
    rewrite_header(
        tmp_path / "n/v1/model.safetensors", lambda header: header["out_counts"].update(dtype="F64")
    )
    with pytest.raises(FormatError, match="no int64 tensor 'out_counts'"):
        load_model(tmp_path / "n")


def test_a_manifest_with_other_files(tmp_path: Path) -> None:
    path = save_with_labels(tmp_path / "m") / "v1/manifest.json"
    path.write_text(path.read_text().replace("out_vocab.txt", "other.txt"))
    with pytest.raises(FormatError, match="manifest.json: byte 0: the manifest must list"):
        load_model(tmp_path / "m")


def test_a_second_save_replaces_the_first_even_while_it_is_open(tmp_path: Path) -> None:
    save(tmp_path / "m", 1.0)
    old = load_model(tmp_path / "m")
    save_model(
        tmp_path / "m",
        old.config,
        old.vocabulary,
        {name: tensor + tensor.dtype.type(1) for name, tensor in old.tensors.items()},
    )
    assert value_of(old) == 1.0
    assert value_of(load_model(tmp_path / "m")) == 2.0
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["CURRENT", "v2"]


def test_the_safetensors_library_agrees(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy")
    save(tmp_path / "m")
    ours = load_model(tmp_path / "m").tensors
    theirs = library.load_file(tmp_path / "m/v1/model.safetensors")
    assert set(ours) == set(theirs) == {"in_vectors", "out_vectors", "counts"}
    for name, tensor in theirs.items():
        assert tensor.dtype == ours[name].dtype
        np.testing.assert_array_equal(tensor, ours[name])


def test_empty_vocabulary(tmp_path: Path) -> None:
    save_model(tmp_path / "m", {}, Vocabulary([], []), {"in_vectors": np.empty((0, 5), np.float32)})
    assert load_model(tmp_path / "m").tensors["in_vectors"].shape == (0, 5)


def test_refuses_what_is_not_a_model(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/mine.txt").write_text("x")
    (tmp_path / "versions/v1").mkdir(parents=True)  # somebody else's versions
    (tmp_path / "database").mkdir()
    (tmp_path / "database/CURRENT").write_text("MANIFEST-000001\n")
    before = tree(tmp_path)
    for name in ("file", "folder", "versions", "database"):
        with pytest.raises(DataError, match="is not an unhot model; choose another name"):
            save(tmp_path / name)
        assert not is_model(tmp_path / name)
        with pytest.raises(FormatError, match="is not an unhot model"):
            load_model(tmp_path / name)
    assert tree(tmp_path) == before
    assert (tmp_path / "versions/v1").is_dir()
    (tmp_path / "empty").mkdir()
    save(tmp_path / "empty")
    assert is_model(tmp_path / "empty")


@pytest.mark.parametrize("config", [{"a": float("nan")}, {"a": {1, 2}}, {(1, 2): 3}])
def test_config_must_be_json(config: dict[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="JSON"):
        save_model(tmp_path / "m", config, Vocabulary([], []), {})
    assert not (tmp_path / "m").exists()


def test_tensors_must_fit(tmp_path: Path) -> None:
    vocabulary = Vocabulary(["a"], [1])
    for tensor in (np.zeros((2, 3), np.float32), np.zeros((1, 3)), np.zeros(1, np.float32)):
        with pytest.raises(DataError, match="in_vectors"):
            save_model(tmp_path / "m", {}, vocabulary, {"in_vectors": tensor})
    with pytest.raises(DataError, match="complex128"):
        save_model(tmp_path / "m", {}, vocabulary, {"other": np.zeros(1, np.complex128)})
    assert list((tmp_path / "m").iterdir()) == []


def test_a_full_disk_leaves_the_old_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "m", 1.0)
    before = tree(tmp_path)
    left = 0

    def full(_descriptor: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for call in range(1, 9):
        left = call
        with pytest.raises(DataError, match="No space left on device.*untouched"):
            save(tmp_path / "m", 2.0)
        assert value_of(load_model(tmp_path / "m", verify=True)) == 1.0
    monkeypatch.undo()
    save(tmp_path / "m", 1.0)
    assert {
        name.replace("v2", "v1"): digest for name, digest in tree(tmp_path).items() if "CURRENT" not in name
    } == {name: digest for name, digest in before.items() if "CURRENT" not in name}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    save(tmp_path / "m", 1.0)
    (tmp_path / "m").chmod(0o500)
    with pytest.raises(DataError, match="m: the model cannot be saved"):
        save(tmp_path / "m", 2.0)
    assert value_of(load_model(tmp_path / "m")) == 1.0
    (tmp_path / "m").chmod(0o700)


KILL_EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}


def save_and_die(path: Path, value: float, step: int) -> bool:
    """Save in a child that is killed at its step-th touch of the disk; return whether it got to the end."""
    pid = os.fork()
    if pid == 0:
        left = step

        def hook(event: str, _arguments: tuple[Any, ...]) -> None:
            nonlocal left
            left -= event in KILL_EVENTS
            if left < 0:
                os._exit(9)

        sys.addaudithook(hook)
        save(path, value)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("first", [True, False])
def test_a_kill_at_any_moment_leaves_a_complete_model(first: bool, tmp_path: Path) -> None:
    outcomes = set()
    for step in range(0, 1000, 1 if SOAK else 5):
        model = tmp_path / "m"
        shutil.rmtree(model, ignore_errors=True)
        if not first:
            save(model, 1.0)
        finished = save_and_die(model, 2.0, step)
        found = value_of(load_model(model, verify=True)) if is_model(model) else None
        assert found in ((None, 2.0) if first else (1.0, 2.0))
        outcomes.add(found)
        save(model, 3.0)  # whatever was left over is no obstacle, and is gone afterwards
        assert value_of(load_model(model, verify=True)) == 3.0
        assert len(list(model.iterdir())) == 2
        if finished:
            break
    assert finished
    assert found == 2.0
    assert len(outcomes) == 2
    assert step > 8


def rewrite_header(path: Path, change: Any) -> None:
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    change(header)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    manifest = json.loads((path.parent / "manifest.json").read_text())
    data = path.read_bytes()
    manifest["files"][path.name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (path.parent / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["in_vectors"].update(shape=[2**40, 3]),
        lambda h: h["in_vectors"].update(shape=[2**62, 2**62, 0], data_offsets=[0, 0]),
        lambda h: h["in_vectors"].update(shape=[7, -3]),
        lambda h: h["in_vectors"].update(shape=[21]),
        lambda h: h["in_vectors"].update(shape=[3, 7]),
        lambda h: h["in_vectors"].update(dtype="I32"),
        lambda h: h["in_vectors"].update(dtype="F31"),
        lambda h: h["in_vectors"].update(data_offsets=[True, 84]),
        lambda h: h["in_vectors"].update(data_offsets=[2**60, 2**60 + 84]),
        lambda h: h["out_vectors"].update(data_offsets=[56, 128]),
        lambda h: h.update(in_vectors=7),
        lambda h: h.pop("counts"),
        lambda h: h.pop("out_vectors"),
    ],
)
def test_lying_headers(change: Any, tmp_path: Path) -> None:
    save(tmp_path / "m")
    rewrite_header(tmp_path / "m/v1/model.safetensors", change)
    with pytest.raises(FormatError, match=r"model\.safetensors: .*"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("name", ["config.json", "vocab.txt", "model.safetensors", "manifest.json"])
def test_missing_truncated_and_flipped_files(name: str, tmp_path: Path) -> None:
    save(tmp_path / "m")
    assert_damage_is_found(tmp_path / "m/v1" / name)


def assert_damage_is_found(path: Path) -> None:
    """A file of a model that is cut short, changed or not there."""
    model, whole = path.parents[1], path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=f"{path.name}: .*byte"):
            load_model(model)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    if path.name != "manifest.json":  # its last byte is white space
        with pytest.raises(FormatError, match=path.name):
            load_model(model, verify=True)
    path.unlink()
    with pytest.raises(FormatError, match="cannot be read.*damaged"):
        load_model(model)


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "m")
    path = tmp_path / "m/v1/manifest.json"
    path.write_text(path.read_text().replace('"format_version": 1', '"format_version": 2'))
    with pytest.raises(FormatError, match="install a newer"):
        load_model(tmp_path / "m")


def test_a_save_during_a_load_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "m", 1.0)
    load_version = directory._load_version
    seen = []

    def slow(folder: Path, verify: bool) -> SavedModel:
        seen.append(folder.name)
        if folder.name == "v1":
            save(tmp_path / "m", 2.0)
        return load_version(folder, verify)

    monkeypatch.setattr(directory, "_load_version", slow)
    assert value_of(load_model(tmp_path / "m")) == 2.0
    assert seen == ["v1", "v2"]


def test_current_cannot_lead_outside(tmp_path: Path) -> None:
    save(tmp_path / "m")
    (tmp_path / "n").mkdir()
    for name in ("../m/v1", "v0", "", "v1/../v1", "v1\nv2"):
        (tmp_path / "n/CURRENT").write_text(name)
        with pytest.raises(FormatError, match="is not an unhot model"):
            load_model(tmp_path / "n")


@given(data=st.data())
def test_flipped_bits_never_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    model = tmp_path_factory.getbasetemp() / "flipped-model"  # one for all examples
    if not is_model(model):
        save(model)
    version = next(path for path in model.iterdir() if path.is_dir())
    path = version / data.draw(
        st.sampled_from(["config.json", "vocab.txt", "model.safetensors", "manifest.json"])
    )
    whole = path.read_bytes()
    changed = bytearray(whole)
    changed[data.draw(st.integers(0, min(len(whole), 300) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(changed)
    try:
        load_model(model)
    except FormatError:
        pass
    finally:
        path.write_bytes(whole)
