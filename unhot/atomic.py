"""Files that are there whole or not at all: write under a temporary name, fsync, rename, fsync the folder."""

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from unhot.errors import DataError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Names that start like this are ours to delete: what an interrupted save left behind.
TEMPORARY = ".unhot-"


def temporary_name(name: str) -> str:
    """A name that no other thread or process uses."""
    return f"{TEMPORARY}{os.getpid()}-{threading.get_ident()}-{name}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Be the only one who changes a folder, among threads and processes that ask.

    A lock ends with its process. Not on Windows.
    """
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # file systems without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames inside a folder survive a power cut.

    Windows cannot open a folder and needs no such call.
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
        # some network file systems cannot; the rename is all there is
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
    """Open a file that takes the place of `path` when the block ends well and vanishes when it does not."""
    target = Path(os.path.realpath(path))  # a link stays a link: its target is replaced
    if target.exists() and not target.is_file():
        raise DataError(f"{path}: is not a regular file; choose another name")
    temporary = target.with_name(temporary_name(target.name))
    try:
        with temporary.open("wb") as file:
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
        # on a read-only file system even removing nothing fails, and would hide what went wrong
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path, is_ours: Callable[[Path], bool]) -> Iterator[Path]:
    """Give a folder to fill, which becomes `path` when the block ends well.

    What is there must be empty or `is_ours`.

    An old folder is moved away before the new one takes its name: a power cut between the two leaves it
    beside, under a temporary name.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.is_dir() and (is_ours(target) or not any(target.iterdir()))):
        raise DataError(f"{path}: is there and is something else; choose another name")
    new, old = (target.with_name(temporary_name(f"{state}-{target.name}")) for state in ("new", "old"))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new.mkdir()
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
