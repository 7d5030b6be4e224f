"""What failed and killed processes leave behind: nothing, or what the next one removes."""

import errno
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from commands import run

import unhot
from unhot.corpus.encoding import encode, warm_up_encoding

WAIT = 300  # seconds
posix = pytest.mark.skipif(os.name != "posix", reason="needs locks of files")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A temporary directory of its own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize(
    "command",
    [("train", "--dim", 8), ("train", "--model", "glove"), ("lm", "train"), ("phrases",), ("cooccur",)],
)
def test_a_full_temporary_directory_while_a_file_is_read(command, place, tmp_path, monkeypatch):
    """The error names the folder and TMPDIR, and nothing is left there."""
    warm_up_encoding("whitespace")  # which encodes a text, too
    opened = Path.open

    def full(path, mode="r", *arguments, **how):
        if place in path.parents and mode == "ab":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, mode, *arguments, **how)

    monkeypatch.setattr(Path, "open", full)
    (tmp_path / "text.txt").write_text("a b c d\n" * 400_000)  # more than is read at a time
    done = run(*command, tmp_path / "text.txt", "-o", tmp_path / "out")
    assert done.returncode == 1
    assert re.search(rf"unhot: {place}/\S+: disk full: the ids need about .* TMPDIR", done.stderr)
    began = time.monotonic()
    while list(place.iterdir()) and time.monotonic() - began < 20:  # kernels are still warmed up by a thread
        gc.collect()
        time.sleep(0.05)
    assert not list(place.iterdir())


def test_a_full_temporary_directory_while_a_language_model_is_laid_out(place, tmp_path, monkeypatch):
    (tmp_path / "m.arpa").write_text(
        "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <unk>\n-1 <s>\n-1 </s>\n\n\\end\\\n"
    )
    opened = Path.open

    def full(path, mode="r", *arguments, **how):
        if place in path.parents and mode == "wb":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, mode, *arguments, **how)

    monkeypatch.setattr(Path, "open", full)
    done = run("lm", "perplexity", tmp_path / "m.arpa", tmp_path / "m.arpa")
    assert done.returncode == 1
    assert f"unhot: {place}: disk full: there is no room for a model of 3 n-grams" in done.stderr
    assert not list(place.iterdir())


@posix
def test_temporary_folders_of_killed_processes_are_removed(place, tmp_path):
    (place / "unhot-results").mkdir()  # of the user
    command = [sys.executable, "-m", "unhot", "cooccur", "-", "-o", str(tmp_path / "cells")]
    env = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        while not (left := list(place.glob("unhot-*/.encoding-*"))):
            assert child.poll() is None
        encode([["a"]], min_count=1).close()
        assert left[0].exists()  # it is in use
        child.kill()
        child.wait(WAIT)
    folder, pid = left[0].parent, f"-{child.pid}-"
    assert folder.exists()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "kept").touch()
    link = place / f"{folder.name}1"
    link.symlink_to(tmp_path / "linked")
    running = folder.name.replace(pid, f"-{os.getpid()}-")
    others = [running, re.sub("-[0-9a-f]{8}-", "-0f0f0f0f-", folder.name)]
    for other in others:  # of a process that runs, and of another machine
        (place / other).mkdir()
    encode([["a"]], min_count=1).close()
    assert {path.name for path in place.iterdir()} == {"unhot-results", link.name, *others}
    assert (tmp_path / "linked" / "kept").exists()


def killed_in(work):
    """Do some work in a fork that kills itself."""
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)
        try:
            work()
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def kill_this(*_):
    """Instead of another function."""
    os.kill(os.getpid(), signal.SIGKILL)


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_files_beside_an_output_are_removed(tmp_path, monkeypatch):
    vectors = unhot.Vectors(["a", "b"], np.ones((2, 3), np.float32))
    vectors.save(tmp_path / "v.txt")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", kill_this)
        killed_in(lambda: vectors.save(tmp_path / "v.txt"))
    assert len(list(tmp_path.iterdir())) == 2
    vectors.save(tmp_path / "other.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"v.txt", "other.txt"}


@posix
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_the_last_copy_of_a_folder_stays(tmp_path, monkeypatch):
    """A kill between two renames leaves the old folder under a temporary name alone."""
    vectors, renamed = unhot.Vectors(["a", "b"], np.ones((2, 3), np.float32)), Path.rename
    vectors.save(tmp_path / "m", "model2vec")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda path, to: renamed(path, to) if path.name == "m" else kill_this())
        killed_in(lambda: vectors.save(tmp_path / "m", "model2vec"))
    assert not (tmp_path / "m").exists()
    vectors.save(tmp_path / "v.txt")
    (old,) = tmp_path.glob(".unhot-*")
    assert (old / "model.safetensors").exists()
    vectors.save(tmp_path / "m", "model2vec")
    vectors.save(tmp_path / "v.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"m", "v.txt"}
