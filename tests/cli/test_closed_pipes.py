"""Pipes whose reader has gone: `unhot ... | head -1` ends without a word and with 0, for every command."""

import contextlib
import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from commands import run as run_here

import unhot
from unhot.cli.main import group, main

BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
WORDS = [f"w{i}" for i in range(3000)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pipes")
    vectors = np.random.default_rng(2).standard_normal((len(WORDS), 20)).astype(np.float32)
    unhot.Vectors(WORDS, vectors).save(folder / "v.txt")
    unhot.Vectors(WORDS, vectors).save(folder / "v.bin", "fasttext")
    (folder / "words.txt").write_text("\n".join(WORDS))
    (folder / "text.txt").write_text("\n".join(" ".join(WORDS) for _ in range(20)))
    lines = [f"__label__{i % 2} w{i % 2} w{i % 30}" for i in range(100)]
    (folder / "labelled.txt").write_text("\n".join(lines * 500))
    unhot.Classifier(dim=4, threads=1, epochs=1).fit(lines).save(folder / "classifier")
    (folder / "pairs.txt").write_text("".join(f"w{i} w{i + 1} {i}\n" for i in range(50)))
    return folder


COMMANDS = [
    ("--help",),
    ("--version",),
    (),
    ("train", "--help"),
    ("outputs",),
    ("outputs", "--json"),
    ("neighbors", "v.txt", "-n", 1000, "w1", "w2", "w3"),
    ("neighbors", "v.txt", "-n", 50, "--json"),
    ("evaluate", "v.txt", "--similarity", "pairs.txt"),
    ("info", "v.txt"),
    ("classify", "--help"),
    ("classify", "predict", "classifier", "labelled.txt", "-o", "-"),
    ("classify", "predict", "classifier", "labelled.txt", "-o", "-", "-k", 2),
    ("classify", "test", "classifier", "labelled.txt"),
    ("classify", "explain", "classifier", "w1 w2", "--json"),
    ("phrases", "text.txt", "-o", "-", "-q"),
    ("convert", "v.txt", "-"),
    ("fasttext", "dump", "v.bin", "input"),
    ("fasttext", "nn", "v.bin"),
]


LONG = [each for each in COMMANDS if each and {"neighbors", "phrases", "convert", "predict"} & set(each[:2])]


def process(arguments, folder, **how):
    command = [sys.executable, "-m", "unhot", *map(str, arguments)]
    with (folder / "words.txt").open("rb") as words:
        return subprocess.Popen(command, cwd=folder, stdin=words, env=BUFFERED, **how)


def into(pipe, arguments, folder):
    """Exit code and standard error of a command in this process that writes to the end of a pipe."""
    with (
        pytest.MonkeyPatch.context() as patch,
        (folder / "words.txt").open(encoding="utf-8") as words,
        contextlib.chdir(folder),
        contextlib.redirect_stderr(io.StringIO()) as told,
    ):
        patch.setattr(sys, "stdin", words)
        patch.setattr(sys, "stdout", open(pipe, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.close()
    return ended.value.code, told.getvalue()


def closed_pipe():
    """The end to write to of a pipe that no one reads."""
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda given: " ".join(map(str, given[:3])))
def test_no_one_reads(arguments, files):
    assert into(closed_pipe(), arguments, files) == (0, "")


@pytest.mark.parametrize("arguments", [("outputs",), ("phrases", "text.txt", "-o", "-", "-q")])
def test_no_one_reads_a_process(arguments, files):
    """Python flushes standard output once more when it ends."""
    pipe = closed_pipe()
    started = process(arguments, files, stdout=pipe, stderr=subprocess.PIPE)
    os.close(pipe)
    assert (started.communicate(timeout=120)[1], started.returncode) == (b"", 0)


@pytest.mark.parametrize("arguments", LONG, ids=lambda given: " ".join(map(str, given[:2])))
def test_the_first_line_is_enough(arguments, files):
    read, write = os.pipe()
    lines = []

    def first_line():
        with open(read, "rb") as pipe:  # noqa: PTH123
            lines.append(pipe.readline())

    reader = threading.Thread(target=first_line)
    reader.start()
    assert into(write, arguments, files) == (0, "")
    reader.join(60)
    assert lines[0]


def test_a_training_does_not_need_a_reader(files, tmp_path):
    """Notes that no one reads do not end the work; an error still has its exit code."""
    pipe = closed_pipe()
    for target, code in ((tmp_path / "model", 0), (files / "text.txt", 1)):
        small = ("--dim", 4, "--epochs", 1, "--min-count", 1)
        started = process(("train", "text.txt", "-o", target, *small), files, stdout=pipe, stderr=pipe)
        assert started.wait(120) == code
    os.close(pipe)
    assert len(unhot.load(tmp_path / "model").vectors) == len(WORDS)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_is_said(files):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        for arguments in (("outputs",), ("phrases", "text.txt", "-o", "-", "-q")):
            started = process(arguments, files, stdout=full, stderr=subprocess.PIPE)
            told = started.communicate(timeout=120)[1].decode()
            assert started.returncode == 1
            assert told.startswith("unhot: ")
            assert len(told.splitlines()) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
def test_a_full_disk_at_the_end():
    """What waits in the buffer is written last."""
    code = "import sys; from unhot.cli.main import group, main; "
    code += (
        "group.commands['warmup'].callback = lambda **_: sys.stdout.write('waits') and None; main(['warmup'])"
    )
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        ended = subprocess.run(
            [sys.executable, "-c", code],
            env=BUFFERED,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert ended.returncode == 1
    assert ended.stderr == b"unhot: standard output: cannot be written (No space left on device)\n"


def test_a_command_that_calls_exit(monkeypatch):
    monkeypatch.setattr(group.commands["warmup"], "callback", lambda **_: sys.exit(3))
    code, _, told = run_here("warmup")
    assert (code, told.startswith("unhot: ended by sys.exit(3)")) == (1, True)


def test_completion_still_works():
    given = {**os.environ, "_UNHOT_COMPLETE": "bash_complete", "COMP_WORDS": "unhot neigh", "COMP_CWORD": "1"}
    ended = subprocess.run([sys.executable, "-m", "unhot"], env=given, capture_output=True, timeout=60)
    assert ended.stdout == b"plain,neighbors\n"
