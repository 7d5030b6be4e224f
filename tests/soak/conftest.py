"""What the tests against power cuts share: children to kill, a small disk to fill, and what is in a folder.

`make test` takes a few samples; with UNHOT_SOAK=1 (`make soak`) everything runs in full, and a line about the
kills and the rounds of two writers ends the output.
"""

import contextlib
import hashlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading

import commands
import numpy as np
import pytest

import unhot
from unhot.errors import UnhotError

PAGE = 4096
WAIT = 300  # seconds until a child is given up: a cold cache compiles for a while
KILLS = pytest.StashKey[list[tuple[str, list[str]]]]()


@pytest.fixture(scope="session")
def soak():
    """Whether to run everything."""
    return os.environ.get("UNHOT_SOAK") == "1"


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """A small text with many words: a model that takes longer to save than to train a chunk of."""
    rng = np.random.default_rng(1)
    ids = np.concatenate([np.minimum(rng.pareto(0.6, 40_000), 9_999).astype(int), np.arange(10_000)])
    rng.shuffle(ids)
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(" ".join(f"w{i}" for i in ids[at : at + 20]) for at in range(0, ids.size, 20)))
    return path


@pytest.fixture(scope="session")
def lines():
    """A text that is smaller still."""
    rng = np.random.default_rng(2)
    return [[f"w{i}" for i in ids] for ids in rng.integers(0, 500, (1000, 20)).tolist()]


@pytest.fixture(scope="session")
def settings():
    """One thread: the same bytes every time."""
    return {"dim": 8, "min_count": 1, "threads": 1, "epochs": 3}


@pytest.fixture(scope="session")
def small(lines, settings, tmp_path_factory):
    """A folder with an old model and a new one, both small."""
    folder = tmp_path_factory.mktemp("small")
    unhot.SkipGram(**settings, seed=1).fit(lines).save(folder / "old")
    unhot.SkipGram(**settings, seed=2).fit(lines).save(folder / "new")
    return folder


@pytest.fixture(scope="session")
def tree():
    """Gives the digest of every file below a folder."""

    def digests(folder):
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        }

    return digests


@pytest.fixture(scope="session")
def live(tree):
    """Gives the digests of the live version of a model; None: there is none."""

    def version(folder):
        return (
            tree(folder / (folder / "CURRENT").read_text().strip()) if (folder / "CURRENT").exists() else None
        )

    return version


@pytest.fixture
def next_save(tmp_path):
    """Tells what is wrong with the next save, of a model or of a checkpoint, into a copy of what was left."""

    def problems(folder, model):
        wrong, copy = [], tmp_path / "copy"
        for name in (".", "checkpoint"):
            shutil.rmtree(copy, ignore_errors=True)
            if folder.exists():
                shutil.copytree(folder, copy)
            try:
                model.save(copy / name)
                unhot.load(copy / name, verify=True)
            except UnhotError as error:
                wrong.append(f"the next save is confused: {error}")
                continue
            left = sorted(re.sub("^v[0-9]+$", "v", path.name) for path in (copy / name).iterdir())
            wrong += [] if left == ["CURRENT", "v"] else [f"the next save leaves {left}"]
        return wrong

    return problems


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """Runs a command to its end: in this process, or in one that has other limits, code or variables."""
    folder = tmp_path_factory.mktemp("tmp")  # not the temporary directory of the machine

    def finished(*arguments, python=("-m", "unhot"), env=None, **options):
        if python == ("-m", "unhot") and not env and not options:
            return commands.run(*arguments)
        command = [sys.executable, *python, *map(str, arguments)]
        given = {**os.environ, "TMPDIR": str(folder), **(env or {})}
        return subprocess.run(command, capture_output=True, text=True, timeout=WAIT, env=given, **options)

    return finished


class Child:
    """A process of its own group, whose lines are read as they come."""

    def __init__(self, command, env):
        pipes = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
            "text": True,
        }
        self._process = subprocess.Popen(
            [sys.executable, *map(str, command)], env=env, start_new_session=True, **pipes
        )
        self.lines, self._new = [], queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))
            self._new.put(self.lines[-1])
        self._new.put(None)

    def wait_for(self, *beginnings):
        """Wait for a line that begins like one of these; False: the child ended without."""
        while (line := self._new.get(timeout=WAIT)) is not None:
            if line.startswith(beginnings):
                return True
        return False

    def finish(self):
        """Wait for its end; all lines it wrote are there afterwards."""
        self._process.wait(timeout=WAIT)
        self._reader.join(timeout=WAIT)

    def kill(self):
        """SIGKILL to the group, at once; return whether it was still running.

        All lines it wrote are there afterwards.
        """
        if self._process.poll() is None:  # until it is waited for, its number is nobody else's
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.wait(timeout=WAIT)
        self._reader.join(timeout=WAIT)
        self._process.stdout.close()
        return code == -signal.SIGKILL


@pytest.fixture
def start(tmp_path):
    """Starts Python in the background; whatever still runs at the end of the test is killed."""
    children = []
    (tmp_path / "tmp").mkdir()

    def started(*command):
        children.append(
            Child(command, {**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONUNBUFFERED": "1"})
        )
        return children[-1]

    yield started
    for child in children:
        child.kill()


def mount(*arguments):
    """Run mount; the reason if it cannot be done here."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "only root on Linux can mount a file system"
    try:
        done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True, timeout=WAIT)
    except OSError as error:
        return f"mount cannot be run: {error}"
    return f"a file system cannot be mounted here: {done.stderr.strip()}" if done.returncode else None


@pytest.fixture
def small_disk(request, tmp_path):
    """A file system of two megabytes, or of the size that a test gives as a parameter."""
    folder, size = tmp_path / "disk", getattr(request, "param", "2m")
    folder.mkdir()
    if (reason := mount("-t", "tmpfs", "-o", f"size={size}", "unhot-test", folder)) is not None:
        pytest.skip(reason)
    yield folder
    # lazily: a model that is still mapped must not keep the mount
    subprocess.run(["umount", "-l", str(folder)], check=True, timeout=WAIT)


@pytest.fixture
def fill(small_disk):
    """Takes all room of the small disk but so many pages."""

    def filled(pages):
        filler = small_disk / "filler"
        filler.unlink(missing_ok=True)
        with filler.open("wb") as file:
            for _ in range(1000):
                free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
                if free <= pages * PAGE:
                    break
                with contextlib.suppress(OSError):  # another process took the room meanwhile
                    os.posix_fallocate(file.fileno(), 0, free - pages * PAGE)
                    break
        return filler

    return filled


@pytest.fixture
def locked(tmp_path):
    """Gives a folder, and a function after which nothing in it can be changed."""
    folder = tmp_path / "locked"
    folder.mkdir()
    if os.geteuid() == 0:
        if (reason := mount("-t", "tmpfs", "-o", "size=16m", "unhot-test", folder)) is not None:
            pytest.skip(f"root may write anywhere, and {reason}")
        yield folder, lambda: mount("-o", "remount,ro", folder)
        subprocess.run(["umount", "-l", str(folder)], check=True, timeout=WAIT)
        return
    yield (
        folder,
        lambda: [path.chmod(0o555 if path.is_dir() else 0o444) for path in [*folder.rglob("*"), folder]],
    )
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


@pytest.fixture
def tally(request):
    """Where a kill is noted: the state it left, and what is wrong with that."""
    return request.config.stash.setdefault(KILLS, [])


def pytest_terminal_summary(terminalreporter, config):
    """A line about kills and rounds of two writers, and one about the moments they fell into."""
    kills = config.stash.get(KILLS, [])
    if not kills or os.environ.get("UNHOT_SOAK") != "1":
        return
    states = sorted({state for state, _ in kills})
    counts = (f"{sum(state == known for state, _ in kills)} {known}" for known in states)
    terminalreporter.write_line(
        f"{len(kills)} kills and rounds: {sum(bool(wrong) for _, wrong in kills)} lost"
    )
    terminalreporter.write_line(f"moments: {', '.join(counts)}")
