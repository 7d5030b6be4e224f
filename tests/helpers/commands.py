"""Commands of unhot in this process: a process of its own takes half a second to import and load kernels.

Tests start a real process where that is the point: signals, pipes whose reader has gone, what is imported.
"""

import contextlib
import importlib
import io
import logging
import os
import signal
import sys
import threading
from typing import NamedTuple

import pytest

from unhot.cli.main import main
from unhot.models.model import MODELS
from unhot.outputs import LAYERS


class Ended(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@contextlib.contextmanager
def plugins_forgotten():
    """Forget the models and layers that were registered meanwhile, and the plugins that were loaded."""
    importlib.import_module("unhot.models.load")  # which registers those of the package
    before, modules = [(registry, dict(registry)) for registry in (MODELS, LAYERS)], set(sys.modules)
    try:
        yield
    finally:
        for registry, names in before:
            registry.clear()
            registry.update(names)
        if towers := sys.modules.get("unhot.nn.towers.tower"):  # with torch, which few commands import
            for name, kind in [*towers.TOWERS.items()]:
                if not kind.__module__.startswith("unhot."):
                    del towers.TOWERS[name]
        for name in set(sys.modules) - modules:
            if name.startswith("unhot_plugin_"):
                del sys.modules[name]


class Watched(io.BytesIO):
    """Standard error that sends a signal a moment after a text."""

    def __init__(self, text, number):
        self._text, self._number = text.encode(), number

    def write(self, data):
        if self._text and self._text in bytes(data):
            self._text = b""
            threading.Timer(0.05, os.kill, (os.getpid(), self._number)).start()
        return super().write(data)


@contextlib.contextmanager
def interruptible():
    """Let Ctrl-C raise KeyboardInterrupt: a job in the background begins with Ctrl-C ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def run(*arguments, text="", cwd=None, env=None, interrupt="", number=signal.SIGINT):
    """Run a command as a shell would: with standard input, a working directory, environment variables.

    Ctrl-C is pressed (or the signal `number` sent) after standard error has shown the text `interrupt`.
    """
    given = text.encode() if isinstance(text, str) else text
    out, err = io.BytesIO(), Watched(interrupt, number)
    with pytest.MonkeyPatch.context() as patch, interruptible():
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        errors = {"encoding": "utf-8", "errors": "backslashreplace", "write_through": True}
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, **errors))
        patch.setattr(logging.root, "handlers", [])  # pytest's own: warnings go to standard error
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        with contextlib.chdir(cwd or "."), plugins_forgotten(), pytest.raises(SystemExit) as end:
            main([str(argument) for argument in arguments])
        ended = Ended(end.value.code, out.getvalue().decode(), err.getvalue().decode())
    return ended
