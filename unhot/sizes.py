"""Sizes in bytes: as people write them, as people read them, and how much a disk has left."""

import errno
import math
import re
import shutil
from pathlib import Path

from unhot.errors import ConfigError, whole

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what the system says when a file has no room to grow


def bytes_of(name: str, size: int | str) -> int:
    """Return a number of bytes, which may be given as a string such as 200MB or 1.5GB.

    >>> bytes_of("memory", "1.5GB")
    1500000000
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)B?\s*", size.upper())
        number = float(found[1]) * UNITS[found[2]] if found else math.inf
        if not number < math.inf:
            raise ConfigError(f"{name}={size!r:.80}: must be a number of bytes, such as 200MB or 1GB")
        return int(number)
    return whole(name, size, 1)


def readable(size: float) -> str:
    """Return a number of bytes in a readable unit.

    >>> readable(1_234_567)
    '1.2 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 999.5:  # more would be rounded to 1000
            return f"{size:.0f} {unit}" if unit in ("bytes", "kB") else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def free_space(path: Path) -> int:
    """Return the bytes that can still be written at a path, which need not exist yet."""
    folder = next(place for place in (path, *path.absolute().parents) if place.is_dir())
    return shutil.disk_usage(folder).free
