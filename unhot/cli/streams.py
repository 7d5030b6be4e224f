"""Results that go to standard output, to a pipe or to a device, written from front to back.

`-` is standard output. `/dev/stdout` and `/dev/fd/N` are open files of this process, so they are written on
and not replaced. A named pipe or a device is opened. Everything else is a file or a folder.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from unhot.errors import DataError
from unhot.screen.terminal import EscapedBytes

STDOUT = "-"
NUMBERS = {STDOUT: 1, "/dev/stdout": 1, "/dev/stderr": 2}
NUMBERED = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})")


def descriptor_of(out: str) -> int | None:
    """Return the number of the open file that a path stands for; None if it stands for none."""
    found = NUMBERED.fullmatch(out)
    return int(found[1]) if found else NUMBERS.get(out)


def is_stream(out: str) -> bool:
    """Return whether a path stands for standard output, another open file, a pipe or a device."""
    path = Path(out)
    return descriptor_of(out) is not None or (path.exists() and not path.is_file() and not path.is_dir())


def is_terminal(out: str) -> bool:
    """Return whether such a path is a terminal."""
    if descriptor_of(out) is None and not Path(out).is_char_device():
        return False  # opening a named pipe would wait for its reader
    with open_stream(out) as file:
        return file.isatty()


@contextlib.contextmanager
def open_stream(out: str) -> Iterator[BinaryIO]:
    """Open such a path for writing; text for a terminal is escaped."""
    try:
        with contextlib.ExitStack() as stack:
            file = _opened(out, stack)
            yield file
            file.flush()
    except BrokenPipeError:  # no one wants the rest: see `main`
        raise
    except OSError as error:
        place = "standard output" if out == STDOUT else out
        raise DataError(f"{place}: cannot be written ({error.strerror or error})") from error


def _opened(out: str, stack: contextlib.ExitStack) -> BinaryIO:
    number = descriptor_of(out)
    standard: TextIO | None = {1: sys.stdout, 2: sys.stderr}.get(number or 0)
    if standard is not None:
        return standard.buffer
    file = stack.enter_context(open(out if number is None else os.dup(number), "wb"))  # noqa: PTH123
    if not file.isatty():
        return file
    return cast("BinaryIO", EscapedBytes(io.TextIOWrapper(file, "utf-8", "backslashreplace")))
