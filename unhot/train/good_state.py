"""The last good state: what matrices were at the beginning of an epoch, to go back to.

A copy in memory, or, where the matrices are large, in a temporary file: they would not fit twice into many a
machine, and nobody reads the copy unless a training diverges.
"""

import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.errors import DataError

LARGE = 1 << 30  # bytes that are kept in memory at most


def kept_in_memory(size: int) -> int:
    """How much memory the copy of so many bytes takes."""
    return size if size <= LARGE else 0


class GoodState:
    """A copy of some arrays, which are contiguous."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self._arrays = arrays
        small = sum(array.nbytes for array in arrays) <= LARGE
        self._copies = [np.empty_like(array) for array in arrays] if small else []
        self._file = None if small else tempfile.TemporaryFile(prefix="unhot-")  # noqa: SIM115
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    def keep(self) -> None:
        """Copy the arrays as they are."""
        for copy, array in zip(self._copies, self._arrays, strict=False):
            copy[:] = array
        if self._file is not None:
            try:
                self._file.seek(0)
                for array in self._arrays:
                    array.tofile(self._file)
                self._file.flush()
            except OSError as error:
                raise DataError(
                    f"no room in {tempfile.gettempdir()} for a copy of the vectors, which a training goes "
                    "back to if it diverges "
                    f"({error.strerror}): set TMPDIR to a folder with more"
                ) from error

    def restore(self) -> None:
        """Copy them back."""
        for copy, array in zip(self._copies, self._arrays, strict=False):
            array[:] = copy
        if self._file is not None:
            self._file.seek(0)
            for array in self._arrays:
                self._file.readinto(memoryview(array).cast("B"))
