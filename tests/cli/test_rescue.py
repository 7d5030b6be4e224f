"""A save that fails loses nothing: a question on a terminal, another folder without one, patience."""

import errno
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
from commands import run
from terminals import on_terminal

import unhot
from unhot.cli import rescue
from unhot.errors import DataError
from unhot.vectors.formats import directory

pytest.importorskip("pty", reason="needs pseudo-terminals")

LINES = "\n".join(" ".join(f"w{(i * i + j) % 11}" for j in range(8)) for i in range(300))
SMALL = ("--dim", "8", "--min-count", "1", "--threads", "1", "--epochs", "2")
TRAIN = ("train", "text.txt", "-o", "full/model", *SMALL)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory with a text; `aside` is where the encoded text is; `full` has no room."""
    (tmp_path / "text.txt").write_text(LINES)
    (tmp_path / "aside").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "aside"))
    write = directory._write_version

    def no_room(folder, texts, tensors):
        if "full" in Path(folder).parts and not Path("room").exists():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(folder, texts, tensors)

    monkeypatch.setattr(directory, "_write_version", no_room)
    return tmp_path


def test_without_a_terminal_the_model_is_saved_beside_the_encoded_text(place):
    done = run(*TRAIN)
    assert done.returncode == 1
    (saved,) = (place / "aside").glob("unhot-model-*")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("unhot: full/model: the model cannot be saved (No space left on device: it needs ")
    assert last.endswith(f"saved it to {saved} instead: move it to where you want it")
    assert unhot.load(saved, verify=True).complete
    assert not (place / "full").exists()


def test_beside_a_kept_corpus(place):
    run(*TRAIN, "--corpus-dir", "kept")
    (saved,) = (place / "kept").glob("unhot-model-*")
    assert unhot.load(saved).complete


def talk(*answers, place):
    """Answer the questions of a training on a terminal; its exit code and all that it said."""
    said, rest = "", list(answers)

    def answer(master, shown):
        nonlocal said
        said += shown.decode()
        if rest and said.count("type another folder") > len(answers) - len(rest):
            os.write(master, rest.pop(0)(place))

    code, _ = on_terminal(*TRAIN, answer=answer)
    return code, " ".join(said.split())


def make_room(place):
    (place / "room").touch()
    return b"\n"


def test_on_a_terminal_enter_tries_again(place):
    code, said = talk(lambda _: b"\n", make_room, place=place)
    assert code == 0
    assert said.count("The training is not lost: it is in memory.") == 2
    assert "saved to full/model; query it with" in said
    assert unhot.load("full/model", verify=True).complete


def test_on_a_terminal_another_folder_can_be_given(place):
    code, said = talk(lambda _: b"other\n", place=place)
    assert code == 0
    assert "saved to other; query it with: unhot neighbors other WORD" in said
    assert unhot.load("other", verify=True).complete


def test_the_end_of_the_input_saves_elsewhere(place):
    code, said = talk(lambda _: b"\x04", place=place)
    assert code == 1
    assert "instead: move it" in said
    (saved,) = (place / "aside").glob("unhot-model-*")
    assert unhot.load(saved).complete


class Disk:
    """Places, by their own names or those of their folders, that take a save after so many failures."""

    def __init__(self, code=errno.ENOSPC, **failures):
        self.code, self.failures, self.tried = code, failures, []

    def save(self, place):
        path = Path(place)
        self.tried.append(path.parent.name or path.name)
        name = next((name for name in (path.name, path.parent.name) if name in self.failures), None)
        if name is None or self.failures[name]:
            if name is not None:
                self.failures[name] -= 1
            raise DataError(f"{place}: no") from OSError(self.code, os.strerror(self.code))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Three folders to save to, and nobody at the keyboard."""
    for name in ("beside", "here", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return tmp_path


def save_to(disk, folders):
    return rescue.save_somewhere(disk.save, "target", folders / "beside", lambda: None)


def test_the_first_place_is_the_one_that_was_asked_for(folders):
    disk = Disk(target=0)
    assert save_to(disk, folders) == "target"
    assert disk.tried == ["target"]


def test_home_is_the_last_refuge(folders):
    disk = Disk(home=0)
    with pytest.raises(DataError, match=f"target: no; saved it to {folders}/home/unhot-target-.* instead"):
        save_to(disk, folders)
    assert disk.tried == ["target", "beside", "here", "home"]
    assert not any((folders / "beside").iterdir())
    assert not any((folders / "here").iterdir())


def test_if_all_disks_are_full_the_command_waits_for_room(folders, capsys):
    assert save_to(Disk(target=3), folders) == "target"
    assert capsys.readouterr().err.count("the training is kept in memory: make room") == 3


def test_nothing_waits_for_a_disk_that_is_read_only(folders):
    with pytest.raises(DataError, match="target: no; it could not be saved in .* either"):
        save_to(Disk(errno.EROFS), folders)
