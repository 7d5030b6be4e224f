"""Claims: whoever writes a long time into a folder holds it, and the next one is refused at once.

A claim is a file with an exclusive lock of the operating system. The lock counts, not the file: the system
releases the lock when the process ends, also after kill -9. The file says who holds the claim. It is removed
with the claim, and a file that a killed process left behind is taken over.

A folder may come from anywhere. So a claim is never followed: if its name is a link, or is another name of a
file that exists elsewhere, nothing is written there, and the error says so.

On Windows, and on file systems without locks, nothing is refused.
"""

import errno
import json
import os
import socket
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from unhot.atomic import TEMPORARY
from unhot.errors import DataError
from unhot.json_file import json_text
from unhot.leftovers import fcntl

CLAIM = f"{TEMPORARY}claim"  # the name of a folder's claim
SHOWN = 200  # characters of a command that an error shows
MOST_BYTES = 10_000  # bytes of a claim that are read
# not followed if it is a link, not waited for if it is a pipe
ASIDE = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

# claims of this thread: it may claim them again, and save to their folders
_held: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())


@contextmanager
def claimed(file: Path, what: Path) -> Iterator[None]:
    """Hold the claim of a file; raise a `DataError` about `what` if somebody else holds it.

    The thread that holds a claim may claim it again. The folder of the file must exist.
    """
    path = _path_of(file)
    if fcntl is None or path in _held.get():
        yield
        return
    descriptor = _lock(path, what)
    token = _held.set(_held.get() | {path})
    try:
        with suppress(OSError):  # a full disk: the claim holds without a name
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json_text(_this_process()).encode("ascii"))
        yield
    finally:
        _held.reset(token)
        _remove(path, descriptor)


def check_unclaimed(file: Path, what: Path) -> None:
    """Raise a `DataError` if another process holds the claim; remove a claim that nobody holds."""
    path = _path_of(file)
    if fcntl is None or path in _held.get():
        return
    try:
        descriptor = _open(path, ASIDE)
    except OSError:  # there is no claim, or none that we may read
        return
    if _locked(descriptor):
        _remove(path, descriptor)
        return
    holder = _holder(descriptor)
    if (holder.get("pid"), holder.get("host")) != (os.getpid(), socket.gethostname()):
        raise _refusal(holder, what)


def _path_of(file: Path) -> str:
    """Return the path of a claim without links in its folders; its own name is never followed."""
    return str(Path(os.path.realpath(file.parent)) / file.name)


def _open(path: str, flags: int) -> int:
    """Open the file of a claim; raise a `DataError` if it cannot be one that unhot wrote."""
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        if os.path.islink(path) or error.errno in (errno.EISDIR, errno.ENXIO):  # noqa: PTH114 (as `open`)
            raise _not_ours(path) from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise _not_ours(path)
    return descriptor


def _not_ours(path: str) -> DataError:
    """Return the error for a claim that is a link, a pipe, a device, or another name of a file."""
    return DataError(
        f"{path}: is a link, a pipe, a device or a second name of another file, where unhot writes which "
        "process holds the folder; remove it"
    )


def _lock(path: str, what: Path) -> int:
    """Open and lock a file, and return its descriptor."""
    while True:
        descriptor = _open(path, ASIDE | os.O_CREAT)
        if not _locked(descriptor):
            raise _refusal(_holder(descriptor), what)
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
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
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


def _holder(descriptor: int) -> dict[str, Any]:
    """Return what a claim says about its holder, nothing if it cannot be read; close the claim."""
    try:
        found = json.loads(os.read(descriptor, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return found if isinstance(found, dict) else {}


def _refusal(holder: dict[str, Any], what: Path) -> DataError:
    """Return the error that says who holds a claim."""
    pid, host, since, command = (holder.get(name) for name in ("pid", "host", "since", "command"))
    there = "" if host == socket.gethostname() else f" on {host}"
    who = f" (process {pid}{there}, since {since}: {command})" if pid else ""
    return DataError(
        f"{what}: another process is writing here{who}; wait until it has ended, or choose another place"
    )
