"""What killed processes leave behind, and how the next process removes it.

The name of everything temporary contains the number of its process and a tag of its machine. Its process also
holds a lock of the operating system on it, which ends with the process, even after kill -9. An entry is
removed only if its name says that it is ours and from this machine, it belongs to this user, no process of
that number runs, and nobody holds its lock. Links are never followed. What is in doubt stays.

On Windows, nothing is held and nothing is removed.
"""

import hashlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl as fcntl  # also for those that lock other files
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PREFIX = "unhot-"  # of folders in the temporary directory
OLD = "old-"  # what was there before, under a temporary name while the new one takes its place

_folders: dict[Path, int] = {}  # the temporary folders of this process, and the descriptors that hold them


def process_tag() -> str:
    """Return the number of this process and eight digits that stand for its machine."""
    machine = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f"{os.getpid()}-{machine}"


def temporary_folder(place: Path | None = None, prefix: str = PREFIX) -> Path:
    """Make a folder in a place, by default the temporary directory (see TMPDIR); the caller removes it."""
    place = place or Path(tempfile.gettempdir())
    remove_leftovers(place, prefix)
    for other in list(_folders):  # another thread may change it
        descriptor = None if other.exists() else _folders.pop(other, None)
        if descriptor is not None:
            os.close(descriptor)
    folder = Path(tempfile.mkdtemp(prefix=f"{prefix}{process_tag()}-", dir=place))
    descriptor = _lock(folder)
    if descriptor is not None:
        _folders[folder] = descriptor
    return folder


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder in the temporary directory, and remove it at the end of the block."""
    folder = temporary_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a temporary file or folder during a block."""
    descriptor = _lock(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def remove_leftovers(folder: Path, prefix: str) -> None:
    """Remove what dead processes left in a folder, under names that start with `prefix`."""
    if fcntl is None:
        return
    name = re.compile(rf"{re.escape(prefix)}([0-9]+)-{process_tag().split('-')[1]}-(?:[0-9]+-)?(.+)")
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = name.fullmatch(entry.name)
            if found and not _is_running(int(found[1])) and not _is_last_copy(folder, found[2]):
                _remove_unheld(entry)


def _remove_unheld(entry: os.DirEntry[str]) -> None:
    """Remove a file or folder of this user that nobody holds."""
    with suppress(OSError):
        if entry.is_symlink() or entry.stat(follow_symlinks=False).st_uid != os.getuid():
            return
        descriptor = _lock(Path(entry.path))
        if descriptor is None:
            return
        try:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)  # noqa: PTH108 (as `scandir`)
        finally:
            os.close(descriptor)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to another user
        return True
    return True


def _is_last_copy(folder: Path, name: str) -> bool:
    """Return whether an entry holds what was there before, and nothing took its place."""
    return name.startswith(OLD) and not (folder / name.removeprefix(OLD)).exists()


def _lock(path: Path) -> int | None:
    """Open and lock a file or folder, and return its descriptor; None if that is not possible."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody holds it, or the file system has no locks
        os.close(descriptor)
        return None
    return descriptor
