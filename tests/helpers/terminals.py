"""Commands in this process whose output goes to a pseudo-terminal or to a pipe."""

import io
import os
import sys
import threading

import pytest

from unhot.cli.main import main


def on_terminal(*arguments, text=b"", answer=None):
    """Exit code and output, standard error included, of a command on a pseudo-terminal.

    Standard input is `text`; or it is the terminal, and `answer` is called with its other end and with what
    was shown, whenever something is.
    """
    pty = pytest.importorskip("pty")
    return _run(*pty.openpty(), arguments, text, answer)


def through_pipe(*arguments, text=b""):
    """Exit code and output, standard error included, of a command whose output is a pipe."""
    return _run(*os.pipe(), arguments, text)


def _run(master, end, arguments, text, answer=None):
    got = []
    reader = threading.Thread(target=read_all, args=(master, got, answer))
    reader.start()
    keyboard = open(os.dup(end)) if answer else io.TextIOWrapper(io.BytesIO(text))  # noqa: PTH123, SIM115
    with (
        pytest.MonkeyPatch.context() as patch,
        keyboard,
        open(end, "w", encoding="utf-8", buffering=1) as out,  # noqa: PTH123 (a file descriptor)
        open(os.dup(end), "w", encoding="utf-8", buffering=1, errors="backslashreplace") as err,  # noqa: PTH123
    ):
        patch.setenv("TERM", "xterm-256color")
        patch.setattr(sys, "stdin", keyboard)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
    reader.join(30)
    os.close(master)
    return ended.value.code, b"".join(got)


def read_all(master, got, answer=None):
    """Read until the other end is closed, which is an error on a terminal of Linux."""
    try:
        while block := os.read(master, 1 << 16):
            got.append(block)
            if answer:
                answer(master, block)
    except OSError:
        pass
