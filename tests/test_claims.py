"""Claims: one holder at a time, told by name, released by the system."""

import errno
import json
import os
import subprocess
import sys
import threading

import pytest

from unhot import claims
from unhot.claims import CLAIM, check_unclaimed, claimed
from unhot.errors import DataError

pytestmark = pytest.mark.skipif(claims.fcntl is None, reason="nothing is locked on Windows")
HOLDER = """
import sys, time
from pathlib import Path
from unhot.claims import CLAIM, claimed
folder = Path(sys.argv[1])
with claimed(folder / CLAIM, folder):
    print("held", flush=True)
    time.sleep(300)
"""


@pytest.fixture
def other(tmp_path):
    """Another process that holds the claim of the folder."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path), "a", "b"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait(timeout=60)
    child.stdout.close()


def refused(check, folder):
    with pytest.raises(DataError) as error:
        check()
    assert str(error.value).startswith(f"{folder}: another process is writing here (process ")
    return str(error.value)


def claim(folder):
    with claimed(folder / CLAIM, folder):
        pass


def test_another_process_is_refused_and_told_who(tmp_path, other):
    for check in (lambda: claim(tmp_path), lambda: check_unclaimed(tmp_path / CLAIM, tmp_path)):
        said = refused(check, tmp_path)
        assert f"process {other.pid}, since " in said
        assert f"-c {tmp_path} a b" in said
    assert (tmp_path / CLAIM).exists()


def test_a_kill_releases_the_claim(tmp_path, other):
    other.kill()
    other.wait(timeout=60)
    assert (tmp_path / CLAIM).exists()  # the file of the killed process is taken over
    with claimed(tmp_path / CLAIM, tmp_path):
        assert json.loads((tmp_path / CLAIM).read_text())["pid"] == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_save_removes_a_claim_that_nobody_holds(tmp_path):
    (tmp_path / CLAIM).write_text("{}")
    check_unclaimed(tmp_path / CLAIM, tmp_path)
    assert list(tmp_path.iterdir()) == []


def in_thread(work):
    """What some work raises in another thread."""
    raised = []

    def run():
        try:
            work()
        except DataError as error:
            raised.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return raised


def test_a_thread_may_claim_again_what_it_holds(tmp_path):
    with claimed(tmp_path / CLAIM, tmp_path):
        claim(tmp_path)
        check_unclaimed(tmp_path / CLAIM, tmp_path)
        assert (tmp_path / CLAIM).exists()
        assert "another process is writing here" in in_thread(lambda: claim(tmp_path))[0]
        # another thread of the same process may save: its user knows what it does
        assert in_thread(lambda: check_unclaimed(tmp_path / CLAIM, tmp_path)) == []
    assert in_thread(lambda: claim(tmp_path)) == []


def test_a_claim_never_removes_the_file_of_another(tmp_path):
    with claimed(tmp_path / CLAIM, tmp_path):
        (tmp_path / CLAIM).unlink()  # somebody cleans up
        (tmp_path / CLAIM).write_text("of another process")
    assert (tmp_path / CLAIM).read_text() == "of another process"


def test_a_claim_whose_file_vanished_between_opening_and_locking(tmp_path, monkeypatch):
    flock, path = claims.fcntl.flock, tmp_path / CLAIM
    removed = []

    def slow(descriptor, how):
        if not removed:
            removed.append(path.unlink())
        flock(descriptor, how)

    monkeypatch.setattr(claims.fcntl, "flock", slow)
    with claimed(path, tmp_path):
        assert path.exists()
        assert in_thread(lambda: claim(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[1]", "[" * 100_000])
def test_a_holder_without_a_name(text, tmp_path, other):
    (tmp_path / CLAIM).write_text(text)
    with pytest.raises(DataError, match="another process is writing here; wait"):
        claim(tmp_path)


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(claims.fcntl, "flock", unsupported)
    claim(tmp_path)
    assert list(tmp_path.iterdir()) == []
