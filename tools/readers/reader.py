"""A reader for tools/fuzz.py: a name, files that are as they should be, and a function that reads them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

Files: TypeAlias = dict[str, bytes]  # by their paths inside a folder
MEGABYTE = 1 << 20


class Reader(NamedTuple):
    """How one kind of file is made and read."""

    name: str
    # seeds(folder) -> files that are as they should be; the folder is empty and may be used to write them
    seeds: Callable[[Path], list[Files]]
    # read(folder, random numbers) -> what is wrong with the result; an empty string if it is whole
    read: Callable[[Path, random.Random], str]
    says_where: bool = False  # whether every FormatError must name a byte, a row or a line
    slack: int = MEGABYTE  # bytes of memory beyond ten times the size of the files, unpacked
    share: float = 1.0  # its part of all inputs, in relation to the other readers


def data_of(path: Path) -> bytes:
    """Return the bytes of a file; none if it is gone."""
    return path.read_bytes() if path.exists() else b""


def files_below(folder: Path) -> Files:
    """Return all files below a folder."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
