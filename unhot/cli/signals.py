"""Signals that end a command: SIGTERM (schedulers, `docker stop`, `timeout`) and SIGHUP (a lost terminal).

They do what Ctrl-C does: they raise KeyboardInterrupt in the main thread. So a training is saved as it is,
and temporary files are removed. A second one ends the process at once. Only commands install these handlers;
the library leaves signals alone. A signal, also Ctrl-C, that comes while the compiler calls Python waits.
"""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from unhot.screen.terminal import EscapedText, silence

INTERRUPTED = 130  # the exit code after Ctrl-C: 128 + SIGINT
HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none
SOON = 0.02  # seconds until a signal is tried again
ENDING = [number for number in (signal.SIGTERM, HANGUP) if number is not None]


@contextmanager
def interrupting_signals() -> Iterator[list[int]]:
    """Let SIGTERM and SIGHUP interrupt a block as Ctrl-C does; give the list of those that came.

    A signal that is ignored (`nohup`), or that the caller of this process handles itself, is left alone.
    """
    came: list[int] = []
    main_thread = threading.current_thread() is threading.main_thread()  # no other may install a handler
    taken = [number for number in ENDING if main_thread and signal.getsignal(number) == signal.SIG_DFL]

    def interrupt(number: int, frame: FrameType | None) -> None:
        if _postponed(number, frame):
            return
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        came.append(number)
        _release(taken)
        if number == HANGUP:
            _leave_terminals()
        raise KeyboardInterrupt

    pressed = main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    for number in [*taken, *[signal.SIGINT] * pressed]:
        signal.signal(number, interrupt)
    try:
        yield came
    finally:
        _release(taken)
        if pressed:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def exit_code(code: int, came: list[int]) -> int:
    """Return the exit code of a command: if a signal interrupted it, 128 + the number of that signal."""
    return 128 + came[0] if came and code == INTERRUPTED else code


def _postponed(number: int, frame: FrameType | None) -> bool:
    """Return whether the compiler is at work; then the signal comes again soon.

    LLVM calls functions of Python, and swallows what they raise.
    """
    while frame is not None and "llvmlite" not in frame.f_code.co_filename:
        frame = frame.f_back
    if frame is not None:
        signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
        signal.setitimer(signal.ITIMER_REAL, SOON)
    return frame is not None


def _release(taken: list[signal.Signals]) -> None:
    for number in taken:
        signal.signal(number, signal.SIG_DFL)


def _leave_terminals() -> None:
    """Write nothing more to terminals: after a hangup each write would fail, and end what is being saved."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, EscapedText):
            silence(stream)
