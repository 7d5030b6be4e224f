"""A copy of what a training changes: the last good state, or the state of the best epoch.

The copy is in memory. Large arrays of NumPy go to a temporary file: many machines could not hold them twice,
and nobody reads the copy unless a training diverges or its best epoch was not the last one.
"""

import copy
import tempfile
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from unhot.errors import DataError, FormatError

LARGE = 1 << 30  # bytes of the largest copy that is kept in memory


def kept_in_memory(size: int) -> int:
    """Return how much memory a copy of `size` bytes takes."""
    return size if size <= LARGE else 0


class StateCopy:
    """A copy of named arrays of NumPy, or of named tensors of PyTorch that need no gradient.

    `tensors` has what is kept. It is always the same dictionary, empty before the first copy and while one is
    made, so that Ctrl-C never leaves half of one.
    """

    def __init__(self, state: Mapping[str, Any], kept: Mapping[str, Any] | None = None) -> None:
        """Take the state, and the copy that an interrupted training has kept of it."""
        self._state, self.tensors = state, dict(kept or {})
        if kept and _kinds(kept) != _kinds(state):
            raise FormatError("the best epoch of an interrupted training is damaged: train again")
        self._copies: dict[str, Any] = {}
        self._file: Any = None
        of_numpy = all(isinstance(array, np.ndarray) for array in state.values())
        if of_numpy and sum(array.nbytes for array in state.values()) > LARGE:
            self._file = tempfile.TemporaryFile(prefix="unhot-")  # noqa: SIM115
            weakref.finalize(self, self._file.close)

    def keep(self) -> None:
        """Copy the state as it is now."""
        self.tensors.clear()
        if self._file is not None:
            self._write()
        elif not self._copies:
            self._copies = copy.deepcopy(dict(self._state))
        else:
            for name, array in self._state.items():
                self._copies[name][...] = array
        self.tensors.update(self._copies)

    def restore(self) -> None:
        """Go back to the copy, if there is one."""
        for name, array in self.tensors.items():
            self._state[name][...] = array

    def _write(self) -> None:
        """Write the state to the file, one array behind another, and map it."""
        try:
            self._file.seek(0)
            for array in self._state.values():
                array.tofile(self._file)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"no room in {tempfile.gettempdir()} for a copy of the vectors, which a training goes "
                f"back to if it diverges ({error.strerror}): set TMPDIR to a folder with more"
            ) from error
        at, mapped = 0, np.memmap(self._file, np.uint8, "r")
        for name, array in self._state.items():
            part = mapped[at : at + array.nbytes]
            self._copies[name] = part.view(array.dtype).reshape(array.shape)
            at += array.nbytes


def _kinds(arrays: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the shape and the type of each array."""
    return {name: (tuple(array.shape), array.dtype) for name, array in arrays.items()}
