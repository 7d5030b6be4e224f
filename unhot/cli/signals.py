"""Signals that end a command: SIGTERM (schedulers, `docker stop`, `timeout`) and SIGHUP (a lost terminal).

They do what Ctrl-C does: they raise KeyboardInterrupt in the main thread. So a training is saved as it is,
and temporary files are removed. A second one ends the process at once. Only commands install these handlers;
the library leaves signals alone.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from unhot.screen.terminal import EscapedText, silence

INTERRUPTED = 130  # the exit code after Ctrl-C: 128 + SIGINT
HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none
ENDING = [number for number in (signal.SIGTERM, HANGUP) if number is not None]


@contextmanager
def interrupting_signals() -> Iterator[list[int]]:
    """Let SIGTERM and SIGHUP interrupt a block as Ctrl-C does; give the list of those that came.

    A signal that is ignored (`nohup`), or that the caller of this process handles itself, is left alone.
    """
    came: list[int] = []
    main_thread = threading.current_thread() is threading.main_thread()  # no other may install a handler
    taken = [number for number in ENDING if main_thread and signal.getsignal(number) == signal.SIG_DFL]

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        _release(taken)
        if number == HANGUP:
            _leave_terminals()
        raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        _release(taken)


def exit_code(code: int, came: list[int]) -> int:
    """Return the exit code of a command: if a signal interrupted it, 128 + the number of that signal."""
    return 128 + came[0] if came and code == INTERRUPTED else code


def _release(taken: list[signal.Signals]) -> None:
    for number in taken:
        signal.signal(number, signal.SIG_DFL)


def _leave_terminals() -> None:
    """Write nothing more to terminals: after a hangup each write would fail, and end what is being saved."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, EscapedText):
            silence(stream)
