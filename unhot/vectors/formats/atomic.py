"""Files that are there whole or not at all: write under a temporary name, fsync, rename, fsync the folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from unhot.errors import DataError

# Names that start like this are ours to delete: what an interrupted save left behind.
TEMPORARY = ".unhot-"


def sync_folder(path: Path) -> None:
    """Make renames inside a folder survive a power cut (Windows cannot open a folder and needs no such call)."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
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
    temporary = target.with_name(f"{TEMPORARY}{os.getpid()}-{target.name}")
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror or error}); what was there before is untouched") from error
    finally:
        temporary.unlink(missing_ok=True)
