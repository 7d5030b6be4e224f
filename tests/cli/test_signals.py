"""Signals that end a command: what is learned is saved, nothing is left behind, a second one ends at once."""

import os
import re
import signal
import subprocess
import sys

import pytest
from commands import run

import unhot

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs the signals of POSIX")
LONG = ("-o", "model", "--dim", 8, "--min-count", 1, "--threads", 1, "--epochs", 10**6)
WAIT = 300  # seconds; a cold cache compiles for a while


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "text.txt").write_text("a b c d e f g h\n" * 500)
    (tmp_path / "tmp").mkdir()
    return tmp_path


def started(folder, *arguments, hangup=signal.SIG_DFL, first=lambda: None, **how):
    """Start a command; what it does with SIGHUP depends on `hangup`, not on who runs the tests."""

    def begin():
        signal.signal(signal.SIGHUP, hangup)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        first()

    command = [sys.executable, "-m", "unhot", *map(str, arguments)]
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(command, cwd=folder, env=environment, preexec_fn=begin, **how)


def check_saved(folder):
    """The training was saved and can be resumed, and no temporary file is left."""
    assert not list((folder / "tmp").iterdir())
    assert unhot.load_unfinished(folder / "model").history.words > 0
    assert not unhot.load(folder / "model").complete


def test_sigterm_is_ctrl_c_and_an_ignored_signal_stays_ignored(folder):
    nohup = signal.SIG_IGN
    child = started(folder, "train", "text.txt", *LONG, stderr=subprocess.PIPE, text=True, hangup=nohup)
    with child.stderr:
        while "epoch 3/" not in child.stderr.readline():
            assert child.poll() is None
        child.send_signal(signal.SIGHUP)
        assert "epoch" in child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        told = child.stderr.read()
    assert child.wait(WAIT) == 143, told
    assert "saved the model as it is to model; continue with: unhot train --resume model" in told
    check_saved(folder)


def test_a_lost_terminal_saves_the_training(folder):
    """After the hangup, each write to the terminal fails; the model is saved nevertheless."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    master, end = pty.openpty()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), end)
    child = started(
        folder, "train", "text.txt", *LONG, **streams, start_new_session=True,
        first=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(end)
    shown = b""
    while not re.search(rb"epoch [0-9]{2,}/", shown):
        shown += os.read(master, 1 << 16)
    os.close(master)
    assert child.wait(WAIT) == 129
    check_saved(folder)


def test_a_second_signal_ends_at_once(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "twice.py").write_text(
        "import os, signal, time\n"
        "try:\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    time.sleep(60)\n"
        "finally:\n"
        "    print('first', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    time.sleep(60)\n"
    )
    child = started(tmp_path, "outputs", "--plugin", "twice.py", stdout=subprocess.PIPE, text=True)
    with child.stdout:
        assert child.stdout.read() == "first\n"
    assert child.wait(WAIT) == -signal.SIGHUP


def test_python_keeps_its_own_handlers(tmp_path):
    """A command installs handlers for its own time; `fit` installs none."""
    found = []

    def look(progress):
        found.append([signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)])

    def mine(number, frame):
        raise AssertionError

    before = [signal.signal(number, mine) for number in (signal.SIGTERM, signal.SIGHUP)]
    try:
        unhot.SkipGram(dim=8, min_count=1, epochs=1, threads=1).fit(["a b c d"] * 50, callbacks=[look])
        run("outputs")
        look(None)
    finally:
        for number, handler in zip((signal.SIGTERM, signal.SIGHUP), before, strict=True):
            signal.signal(number, handler)
    run("outputs")
    assert all(handlers == [mine, mine] for handlers in found)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)] == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_the_command_runs_ends_it_without_a_word(tmp_path, number):
    """click is imported before any command; this one sends the signal, as somebody impatient would."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "click.py").write_text(
        "import os, signal, time\n"
        f"os.kill(os.getpid(), signal.{number.name})\n"
        "time.sleep(60)\n"
    )  # fmt: skip
    child = started(
        tmp_path, "outputs", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        first=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    with child.stdout:
        assert child.stdout.read() == ""
    assert child.wait(WAIT) == -number


COMPARED = [  # a command, the text after which SIGTERM comes, what was done by then, and what was not
    (
        ("lm", "compare", "text.txt", "text.txt", "text.txt", "--layers", "nce", "softmax", "--dim", 4,
         "--epochs", 500, "--lr", 1, "--batch", 2),
        "layers: at most", "n-grams", "softmax",
    ),
    (
        ("recommend", "compare", "log.csv", "--models", "popularity", "item2vec", "--minutes", 9),
        "popularity:", "popularity", "item2vec",
    ),
    (
        ("bench", "outputs", "text.txt", "--layers", "negative", "softmax", "--dim", 4, "--seconds", 3),
        "softmax: begins", "negative", "softmax,",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("command", "after", "done", "undone"), COMPARED)
def test_sigterm_shows_and_writes_what_a_comparison_has_done(folder, command, after, done, undone):
    rows = "".join(f"u{i % 20},i{i * 7 % 11},{i}\n" for i in range(400))
    (folder / "log.csv").write_text(f"user,item,time\n{rows}")
    found = run(*command, "-o", "x", cwd=folder, interrupt=after, number=signal.SIGTERM)
    assert found.returncode == 143, found.stderr
    assert done in found.stdout
    written = (folder / "x.csv").read_text()
    assert done in written
    rows = [line for line in written.splitlines() if line.startswith(undone)]
    assert all("interrupted" in row for row in rows)
    assert "wrote x.csv" in found.stderr


def test_a_signal_that_comes_while_the_compiler_calls_python_is_not_lost(tmp_path):
    """LLVM swallows what its callbacks raise, so the signal has to wait."""
    code = """
import ctypes, os, signal, sys, time
from unhot.cli.signals import interrupting_signals

# whatever the process that runs the tests ignores
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)

def callback():
    os.kill(os.getpid(), int(sys.argv[1]))
    for _ in range(1000):
        pass

source = compile("def notify(callback):\\n    callback()\\n", "/site-packages/llvmlite/engine.py", "exec")
exec(source)
with interrupting_signals() as came:
    try:
        ctypes.CFUNCTYPE(None)(lambda: notify(callback))()
        time.sleep(30)
    except KeyboardInterrupt:
        print("interrupted", came)
"""
    for number, came in ((signal.SIGTERM, [15]), (signal.SIGINT, [])):
        found = subprocess.run(
            [sys.executable, "-c", code, str(int(number))], capture_output=True, text=True, timeout=60
        )
        assert found.stdout == f"interrupted {came}\n", found.stderr
        assert found.stderr == ""
