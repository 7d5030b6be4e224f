"""Folders that are valid by their index: a JSON file, written last. A folder without it is not finished.

corpus.json or cells.json    the index: version, sizes, and what else belongs to it
vocab.txt                    one word a line (see `Vocabulary.save_words`)
counts.bin                   their counts, little-endian int64
"""

import json
import shutil
import weakref
from pathlib import Path
from typing import Any, Self

import numpy as np

from unhot.atomic import replacing
from unhot.errors import FormatError
from unhot.json_file import read_json
from unhot.vocab.vocabulary import Vocabulary

WORDS, COUNTS = "vocab.txt", "counts.bin"


class OpenedFolder:
    """What is mapped from a folder: a context that lets go of it.

    A temporary folder is removed then, or when the object is garbage collected.
    """

    def __init__(self, directory: Path | None, temporary: bool) -> None:
        """None: it is in memory only."""
        self._remove = (
            weakref.finalize(self, shutil.rmtree, str(directory), ignore_errors=True) if temporary else None
        )

    def close(self) -> None:
        """Remove the directory if it is temporary."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, *stopped: object) -> None:
        """Close."""
        self.close()


def save_index(path: Path, index: dict[str, Any]) -> None:
    """Write the file that makes a directory valid, all or nothing."""
    with replacing(path) as file:
        file.write(json.dumps(index, indent=1).encode("ascii"))


def read_index(path: Path, version: int, again: str) -> dict[str, Any]:
    """What `save_index` wrote.

    A `FormatError` says what to do (`again`) if it is missing, damaged or of another version.
    """
    if not path.is_file():
        raise FormatError(f"{path}: no such file: the directory holds none, or it was not finished; {again}")
    index = read_json(path, f"the file is damaged, {again}")
    found = index.get("version") if isinstance(index, dict) else None
    if found != version:
        raise FormatError(f"{path}: version {found!r}: this unhot reads version {version}; {again}")
    return index  # type: ignore[no-any-return]


def check_size(path: Path, size: int, again: str) -> None:
    """Raise a `FormatError` unless a file has so many bytes."""
    found = path.stat().st_size if path.is_file() else -1
    if found != size:
        trouble = "no such file" if found < 0 else f"{found} bytes"
        raise FormatError(f"{path}: {trouble}, expected {size}: {again}")


def append_numbers(path: Path, numbers: Any, kind: str) -> None:
    """Write numbers of a kind behind what is in a file."""
    with path.open("ab") as file:
        file.write(numbers.astype(kind, copy=False).data)


def map_numbers(path: Path, kind: Any) -> Any:
    """The little-endian numbers of a file, mapped for reading; nothing can be mapped of an empty one."""
    if not path.stat().st_size:
        return np.zeros(0, kind)
    return np.asarray(np.memmap(path, np.dtype(kind).newbyteorder("<"), "r"), kind)


def read_only(array: Any) -> Any:
    """A view that cannot be written to, as what is mapped cannot: kernels are compiled once for both."""
    view = array.view()
    view.flags.writeable = False
    return view


def save_vocabulary(directory: Path, vocabulary: Vocabulary) -> None:
    """Write the vocabulary of a folder."""
    vocabulary.save_words(directory / WORDS)
    (directory / COUNTS).write_bytes(vocabulary.counts.astype("<i8").tobytes())


def read_vocabulary(directory: Path, words: int, again: str) -> Vocabulary:
    """The vocabulary that `save_vocabulary` wrote."""
    check_size(directory / COUNTS, 8 * words, again)
    if not (directory / WORDS).is_file():
        raise FormatError(f"{directory / WORDS}: no such file: {again}")
    return Vocabulary.load(directory / WORDS, np.fromfile(directory / COUNTS, "<i8"))
