"""The last good state: a copy of the matrices at the beginning of an epoch, to go back to.

The copy is in memory, or in a temporary file if the matrices are large: many machines could not hold them
twice, and nobody reads the copy unless a training diverges.
"""

import tempfile
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from unhot.errors import DataError

LARGE = 1 << 30  # bytes of the largest copy that is kept in memory


def kept_in_memory(size: int) -> int:
    """Return how much memory a copy of `size` bytes takes."""
    return size if size <= LARGE else 0


class GoodState:
    """A copy of some contiguous arrays."""

    def __init__(self, arrays: Sequence[Any]) -> None:
        self._arrays = arrays
        small = sum(array.nbytes for array in arrays) <= LARGE
        self._copies = [np.empty_like(array) for array in arrays] if small else []
        self._file = None if small else tempfile.TemporaryFile(prefix="unhot-")  # noqa: SIM115
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    def keep(self) -> None:
        """Copy the arrays as they are now."""
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
        """Restore the arrays from the copy."""
        for copy, array in zip(self._copies, self._arrays, strict=False):
            array[:] = copy
        if self._file is not None:
            self._file.seek(0)
            for array in self._arrays:
                self._file.readinto(memoryview(array).cast("B"))
