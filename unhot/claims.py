"""Claims: whoever writes a long time into a folder holds it, and the next one is refused at once.

A claim is a file with an exclusive lock of the operating system. The lock counts, not the file: the system
releases the lock when the process ends, also after kill -9. The file says who holds the claim. It is removed
with the claim, and a file that a killed process left behind is taken over.

On Windows, and on file systems without locks, nothing is refused.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from unhot.atomic import TEMPORARY
from unhot.errors import DataError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CLAIM = f"{TEMPORARY}claim"  # the name of a folder's claim
SHOWN = 200  # characters of a command that an error shows

# claims of this thread: it may claim them again, and save to their folders
_held: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())


@contextmanager
def claimed(file: Path, what: Path) -> Iterator[None]:
    """Hold the claim of a file; raise a `DataError` about `what` if somebody else holds it.

    The thread that holds a claim may claim it again. The folder of the file must exist.
    """
    path = os.path.realpath(file)
    if fcntl is None or path in _held.get():
        yield
        return
    descriptor = _lock(path, what)
    token = _held.set(_held.get() | {path})
    try:
        with suppress(OSError):  # a full disk: the claim holds without a name
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(_this_process()).encode("ascii"))
        yield
    finally:
        _held.reset(token)
        _remove(path, descriptor)


def check_unclaimed(file: Path, what: Path) -> None:
    """Raise a `DataError` if another process holds the claim; remove a claim that nobody holds."""
    path = os.path.realpath(file)
    if fcntl is None or path in _held.get():
        return
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # there is no claim, or none that we may read
        return
    if _locked(descriptor):
        _remove(path, descriptor)
        return
    os.close(descriptor)
    holder = _holder(path)
    if (holder.get("pid"), holder.get("host")) != (os.getpid(), socket.gethostname()):
        raise _refusal(path, what)


def _lock(path: str, what: Path) -> int:
    """Open and lock a file, and return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _locked(descriptor):
            os.close(descriptor)
            raise _refusal(path, what)
        if _names(path, descriptor):
            return descriptor
        os.close(descriptor)  # the holder before removed the file: this lock is worth nothing


def _locked(descriptor: int) -> bool:
    """Lock a file; return False if somebody else has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some file systems have no locks
        pass
    return True


def _names(path: str, descriptor: int) -> bool:
    """Return whether a path still names an open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))  # noqa: PTH116 (as `fstat`)
    except OSError:
        return False


def _remove(path: str, descriptor: int) -> None:
    """Remove the file of a claim, then release its lock.

    In this order, a file is removed only by who holds its lock.
    """
    if _names(path, descriptor):
        with suppress(OSError):
            os.unlink(path)  # noqa: PTH108 (as `open`)
    os.close(descriptor)


def _this_process() -> dict[str, Any]:
    """Return what the next one is told about this process."""
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": command[:SHOWN]}


def _holder(path: str) -> dict[str, Any]:
    """Return what a claim says about its holder; nothing if it cannot be read."""
    try:
        found = json.loads(Path(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refusal(path: str, what: Path) -> DataError:
    """Return the error that says who holds a claim."""
    holder = _holder(path)
    pid, host, since, command = (holder.get(name) for name in ("pid", "host", "since", "command"))
    there = "" if host == socket.gethostname() else f" on {host}"
    who = f" (process {pid}{there}, since {since}: {command})" if pid else ""
    return DataError(
        f"{what}: another process is writing here{who}; wait until it has ended, or choose another place"
    )
