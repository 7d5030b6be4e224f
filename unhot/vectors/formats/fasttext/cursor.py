"""Read numbers from a memory-mapped file, one after another, with errors that name the byte."""

import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unhot.errors import FormatError
from unhot.types import Bytes
from unhot.vectors.formats.table import file_size


class Cursor:
    """A position in a file, memory-mapped copy-on-write, that advances as numbers are read."""

    def __init__(self, path: Path) -> None:
        """Map a file."""
        self.path = path
        self.at = 0
        self.size = file_size(path)
        if not self.size:
            raise self.error(0, "the file is empty")
        with path.open("rb") as file:
            self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)

    def error(self, at: int, what: str) -> FormatError:
        """Return an error that says what is wrong at a byte."""
        return FormatError(f"{self.path}: byte {at}: {what}")

    def need(self, count: int, what: str) -> None:
        """Raise a `FormatError` unless `count` more bytes are left."""
        if count > self.size - self.at:
            raise self.error(
                self.at,
                f"{what}: {count} bytes are needed, but the file ends at byte {self.size}; it is cut short "
                "or damaged",
            )

    def numbers(self, form: str, what: str) -> tuple[Any, ...]:
        """Read numbers; `form` is their format in the notation of `struct`."""
        size = struct.calcsize("<" + form)
        self.need(size, what)
        found = struct.unpack_from("<" + form, self.map, self.at)
        self.at += size
        return found

    def flag(self, what: str) -> bool:
        """Read a byte that is 0 or 1."""
        (value,) = self.numbers("B", what)
        if value > 1:
            raise self.error(self.at - 1, f"{what} is {value}: must be 0 or 1")
        return bool(value)

    def array(self, dtype: str, count: int, what: str) -> NDArray[Any]:
        """Map an array; it may begin at any byte, so it may not be aligned."""
        size = count * np.dtype(dtype).itemsize
        self.need(size, what)
        found = np.frombuffer(self.map, dtype, count, self.at) if count else np.empty(0, dtype)
        self.at += size
        return found

    def all_bytes(self) -> Bytes:
        """Return the bytes of the whole file."""
        return np.frombuffer(self.map, np.uint8)
