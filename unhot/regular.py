"""Regular files: what a folder holds is not trusted before it is opened.

A pipe in the place of a file blocks its reader forever, a device has no end, and a link leads to a file that
nobody named. So every reader of unhot's own folders (models, encoded texts, cells, logs) calls `inner_size`
before it opens a file.
"""

import errno
import os
import stat
from pathlib import Path

from unhot.errors import FormatError

KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def inner_size(path: Path) -> int:
    """Return the size of a file inside a folder; raise a `FormatError` unless it is a regular file.

    A link is refused, too, wherever it leads.
    """
    return _size(path, path.lstat())


def named_size(path: Path) -> int:
    """Return the size of a file that the user named; links are followed, but they must lead to a file."""
    return _size(path, path.stat())


def _size(path: Path, found: os.stat_result) -> int:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "a special file")
        copied = (
            "; copy the folder with its files in place of links (cp -rL)"
            if stat.S_ISLNK(found.st_mode)
            else ""
        )
        raise FormatError(f"{path}: byte 0: is {kind}, not a regular file, so it is not read{copied}")
    return found.st_size
