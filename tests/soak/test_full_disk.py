"""A disk that fills up at any byte of a save.

An error that says so, the old model byte for byte, and nothing left over.

Without root: a limit on the size of files, set when a certain file is opened. As root: a small file system
with a few pages left.
"""

import os
import shutil
import signal
import sys
import traceback

import numpy as np
import pytest
from grids import crossed

import unhot
from unhot.errors import DataError
from unhot.train.checkpoint import Checkpoint
from unhot.vectors.formats.directory import CURRENT, FILES, MANIFEST, is_model

resource = pytest.importorskip("resource", reason="needs limits on the size of files")
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
PAGE = 4096
OPTIONS = ("--dim", 8, "--min-count", 1, "--threads", 1, "--epochs", 3, "--checkpoint-chunks", 20)


def in_child(work):
    """What some work says, done in a fork: its limits and hooks end with it."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # never hang
        try:
            said = work()
        except BaseException:
            said = traceback.format_exc()
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    return said


def saved(model, folder):
    """Save, and say what came of it."""
    try:
        model.save(folder)
    except DataError as error:
        return f"DataError: {error}"
    return "saved"


def saved_with_limit(model, folder, name, room):
    """Likewise, while files cannot have more than `room` bytes from the moment on that this one is opened."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def hook(event, arguments):
        if event == "open" and str(arguments[0]).endswith(name) and "w" in (arguments[1] or ""):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, most))

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.addaudithook(hook)
    return saved(model, folder)


@pytest.mark.parametrize(("name", "first"), crossed([*FILES, MANIFEST, CURRENT], [False, True]))
def test_no_room_in_any_file(name, first, small, tree, soak, tmp_path):
    model, folder = unhot.load(small / "new"), tmp_path / "model"
    if not first:
        shutil.copytree(small / "old", folder)
    before = tree(folder)
    size = next(path.stat().st_size for path in (small / "new").rglob(name))
    rooms = np.linspace(0, size - 1, 50).astype(int) if soak else (0, size - 1)
    for room in sorted({int(room) for room in rooms}):
        said = in_child(lambda room=room: saved_with_limit(model, folder, name, room))
        assert said.startswith(f"DataError: {folder}")
        assert "File too large" in said
        assert "untouched" in said or (first and "nothing was saved" in said)
        assert tree(folder) == before
    assert is_model(folder) is not first
    # a file behind it may be bigger
    assert in_child(lambda: saved_with_limit(model, folder, name, size)) in ("saved", said)
    model.save(folder)
    assert len(list(folder.iterdir())) == 2
    assert unhot.load(folder, verify=True).seed == 2


def check_lines(lines, folder):
    """One line at the end, and checkpoints that failed on the way without ending the training."""
    *notes, last = lines
    assert last.startswith(f"unhot: {folder}: the model cannot be saved (")
    assert "; the old model is untouched; " in last
    assert any(note.startswith("no checkpoint: ") and note.endswith("; training goes on") for note in notes)
    assert any(note.startswith("epoch 3/3: loss") for note in notes)
    return last


def test_command_with_a_limit(small, text, run, tree, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(small / "old", folder)
    before = tree(folder)
    command = ("train", text, "-o", folder, *OPTIONS)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    done = run(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, most)))
    assert done.returncode == 1
    last = check_lines(done.stderr.splitlines(), folder)
    assert "it could not be saved in " in last
    assert tree(folder) == before
    done = run(*command)
    assert done.returncode == 0, done.stderr
    assert len(list(folder.iterdir())) == 2


def test_small_disk(small, tree, small_disk, fill):
    model, folder = unhot.load(small / "new"), small_disk / "model"
    shutil.copytree(small / "old", folder)
    before = tree(folder)
    need = sum(-(-path.stat().st_size // PAGE) for path in (small / "new").rglob("*") if path.is_file())
    for pages in range(need):
        filler = fill(pages)
        said = saved(model, folder)
        assert said.startswith(f"DataError: {folder}")
        assert "No space left on device" in said
        assert said.endswith("untouched")
        assert tree(folder) == before
    filler.unlink()
    model.save(folder)
    assert len(list(folder.iterdir())) == 2
    assert unhot.load(folder, verify=True).seed == 2


def test_command_on_a_disk_that_is_too_small(small, text, run, tree, small_disk, fill):
    folder = small_disk / "model"
    shutil.copytree(small / "old", folder)
    before = tree(folder)
    filler = fill(40)
    done = run("train", text, "-o", folder, *OPTIONS)
    assert done.returncode == 1
    assert f"unhot: {folder}: the model will need 8" in done.stderr.splitlines()[-1]
    assert "epoch 1/3" not in done.stderr  # it says so before it trains
    assert tree(folder) == before
    filler.unlink()
    done = run("train", text, "-o", folder, *OPTIONS[:-2])
    assert done.returncode == 0, done.stderr
    assert len(list(folder.iterdir())) == 2


def test_command_on_a_disk_that_fills_up(small, text, start, tree, small_disk, fill, tmp_path):
    folder = small_disk / "model"
    shutil.copytree(small / "old", folder)
    before = tree(folder)
    child = start("-m", "unhot", "train", text, "-o", folder, *OPTIONS)
    assert child.wait_for("disk:")
    fill(40)
    child.finish()
    last = check_lines(child.lines, folder)
    (saved,) = (tmp_path / "tmp").glob("unhot-model-*")
    assert last.endswith(f"saved it to {saved} instead: move it to where you want it")
    assert unhot.load(saved, verify=True).complete
    assert tree(folder) == before


def test_room_again_while_training(lines, settings, small, tree, small_disk, fill):
    folder, notes = small_disk / "model", []

    def fill_and_make_room(progress):
        if progress.event == "start":
            fill(5)
        if progress.event == "epoch" and progress.epoch == 2:
            notes.append("room again")
            (small_disk / "filler").unlink()

    checkpoint = Checkpoint(path=folder, minutes=None, chunks=1)
    model = unhot.SkipGram(**settings, seed=2).fit(
        lines, checkpoint=checkpoint, note=notes.append, callbacks=[fill_and_make_room]
    )
    failed = [
        note.startswith("no checkpoint: ") and "the checkpoint and the model need " in note for note in notes
    ]
    written = [note.startswith("checkpoint: ") for note in notes]
    room = notes.index("room again")
    assert any(failed[:room])
    assert any(written[room:])
    assert not any(failed[room:])
    assert not any(written[:room])
    assert unhot.load(folder, verify=True).history.position.epoch == 2
    model.save(folder)
    assert tree(folder) == tree(small / "new")


def test_full_temporary_directory(text, run, small_disk, fill, tmp_path):
    fill(4)  # enough for Python to take it as its temporary directory
    done = run("train", text, "-o", tmp_path / "model", *OPTIONS, env={"TMPDIR": str(small_disk)})
    assert done.returncode == 1
    assert "disk full: the ids need" in done.stderr.splitlines()[-1]
    assert "TMPDIR" in done.stderr.splitlines()[-1]
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    assert not (tmp_path / "model").exists()
