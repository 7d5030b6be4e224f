"""Write files atomically: write under a temporary name, fsync, rename, fsync the folder.

A killed process leaves its temporary files. The next process that writes beside them removes them: see
`leftovers.py`.
"""

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unhot.errors import DataError
from unhot.leftovers import fcntl, held, process_tag, remove_leftovers

# Files whose names start with this prefix are left over from an interrupted save; unhot may delete them.
TEMPORARY = ".unhot-"


def temporary_name(name: str) -> str:
    """Return a temporary file name that no other thread or process uses."""
    return f"{TEMPORARY}{process_tag()}-{threading.get_ident()}-{name}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold an exclusive lock on a folder.

    The lock only stops threads and processes that also call `locked`. It is released when its process ends.
    On Windows nothing is locked.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems have no locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames inside a folder survive a power cut.

    On Windows a folder cannot be opened and needs no fsync.
    """
    if os.name == "nt":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder above ours that we may enter but not list
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        # some network file systems cannot fsync a folder; then the rename alone must do
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_file(path: Path) -> None:
    """Wait until a file's bytes are on the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` if the block succeeds and is deleted if the block fails."""
    target = Path(os.path.realpath(path))  # if path is a symbolic link, the file it points to is replaced
    if target.exists() and not target.is_file():
        raise DataError(f"{path}: is not a regular file; choose another name")
    temporary = target.with_name(temporary_name(target.name))
    remove_leftovers(target.parent, TEMPORARY)
    try:
        with temporary.open("wb") as file, held(temporary):
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}); what was there before is untouched"
        ) from error
    finally:
        # on a read-only file system even this unlink fails; its error would hide the first one
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path, is_ours: Callable[[Path], bool]) -> Iterator[Path]:
    """Create a folder for the block to fill; it becomes `path` if the block succeeds.

    If `path` exists already, it must be an empty folder or one for which `is_ours` returns True.

    The old folder is renamed before the new one takes its name. A power cut between the two renames leaves
    the old folder next to `path`, under a temporary name.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and (is_ours(target) or not any(target.iterdir()))):
        raise DataError(f"{path}: exists already and was not written by unhot; choose another name")
    new, old = (target.with_name(temporary_name(f"{state}-{target.name}")) for state in ("new", "old"))
    remove_leftovers(target.parent, TEMPORARY)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
        with held(new):
            yield new
        for file in new.iterdir():
            sync_file(file)
        sync_folder(new)
        if target.exists():
            target.rename(old)
        new.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise DataError(
            f"{path}: cannot be written ({error.strerror or error}); what was there before is untouched"
        ) from error
    finally:
        if old.exists() and not target.exists():  # also after Ctrl-C
            old.rename(target)
        shutil.rmtree(new, ignore_errors=True)
        if target.exists():
            shutil.rmtree(old, ignore_errors=True)
