"""Folders with an index: a JSON file that is written last. A folder without its index is incomplete.

corpus.json or cells.json    the index: version, sizes and other facts about the folder
vocab.txt                    one word per line (see `Vocabulary.save_words`)
counts.bin                   the counts of the words, little-endian int64
"""

import shutil
import weakref
from pathlib import Path
from typing import Any, Self

import numpy as np

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.json_file import json_text, read_json
from unhot.regular import inner_size
from unhot.vocab.vocabulary import Vocabulary

WORDS, COUNTS = "vocab.txt", "counts.bin"


class OpenedFolder:
    """A context manager for data that is mapped from a folder.

    A temporary folder is removed when the context ends, or when the object is garbage collected.
    """

    def __init__(self, directory: Path | None, temporary: bool) -> None:
        """Take the folder; None: the data is only in memory."""
        self._remove = (
            weakref.finalize(self, shutil.rmtree, str(directory), ignore_errors=True) if temporary else None
        )

    def close(self) -> None:
        """Remove the directory if it is temporary."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> Self:
        """Return the object itself."""
        return self

    def __exit__(self, *stopped: object) -> None:
        """Close the object."""
        self.close()


def save_index(path: Path, index: dict[str, Any]) -> None:
    """Write the index that completes a directory; an error leaves no partial file."""
    with replacing(path) as file:
        file.write(json_text(index, indent=1).encode("ascii"))


def read_index(path: Path, version: int, again: str) -> dict[str, Any]:
    """Read an index that `save_index` wrote.

    Raise a `FormatError` if the file is missing, damaged or of another version; `again` is the advice to
    give in its message.
    """
    if not has_file(path):
        raise FormatError(
            f"{path}: no such file: this is another kind of directory, or writing it was interrupted; {again}"
        )
    index = read_json(path, f"the file is damaged, {again}")
    found = index.get("version") if isinstance(index, dict) else None
    if found != version:
        raise FormatError(f"{path}: version {found!r}: this unhot reads version {version}; {again}")
    return index  # type: ignore[no-any-return]


def check_size(path: Path, size: int, again: str) -> None:
    """Raise a `FormatError` unless a file has `size` bytes."""
    found = inner_size(path) if has_file(path) else -1
    if found != size:
        trouble = "no such file" if found < 0 else f"{found} bytes"
        raise FormatError(f"{path}: {trouble}, expected {size}: {again}")


def has_file(path: Path) -> bool:
    """Return whether there is a file; raise a `FormatError` if it is a link, a pipe or a device."""
    try:
        return inner_size(path) >= 0
    except OSError:
        return False


def append_numbers(path: Path, numbers: Any, kind: str) -> None:
    """Append numbers to a file, converted to the type `kind`."""
    with path.open("ab") as file:
        file.write(numbers.astype(kind, copy=False).data)


def map_numbers(path: Path, kind: Any) -> Any:
    """Map the little-endian numbers of a file, read-only; an empty file (not mappable) gives no numbers."""
    if not inner_size(path):
        return np.zeros(0, kind)
    # copy-on-write: a library that ignores the flag, as torch does, must not write to read-only memory
    mapped = np.memmap(path, np.dtype(kind).newbyteorder("<"), "c")
    mapped.flags.writeable = False
    return np.asarray(mapped, kind)


def read_only(array: Any) -> Any:
    """Return a read-only view: mapped files are read-only too, so one compiled kernel serves both."""
    view = array.view()
    view.flags.writeable = False
    return view


def save_vocabulary(directory: Path, vocabulary: Vocabulary) -> None:
    """Write a vocabulary into a folder."""
    vocabulary.save_words(directory / WORDS)
    (directory / COUNTS).write_bytes(vocabulary.counts.astype("<i8").tobytes())


def read_vocabulary(directory: Path, words: int, again: str) -> Vocabulary:
    """Read the vocabulary that `save_vocabulary` wrote."""
    check_size(directory / COUNTS, 8 * words, again)
    if not has_file(directory / WORDS):
        raise FormatError(f"{directory / WORDS}: no such file: {again}")
    return Vocabulary.load(directory / WORDS, np.fromfile(directory / COUNTS, "<i8"))
