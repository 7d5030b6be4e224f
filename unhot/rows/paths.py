"""Find the files that a path names."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from unhot.errors import DataError
from unhot.rows.remote import HIDDEN, RemotePath, as_path, hidden, is_address

STDIN = "-"
PEEK = 1000  # how many strings of a list are examined to tell paths from sentences
# index of a folder that is not text -> what it is
ENCODED = {
    "cells.json": "cells, not text: open them with Cells.open",
    "corpus.json": "an encoded corpus, not text: open it with Corpus.open",
}

PathLike = str | os.PathLike[str]


def find_files(path: PathLike) -> list[Path | None]:
    """Return the files that a path names: the file, all files below a folder, or the matches of a pattern.

    Files of a folder or pattern are sorted. None stands for standard input.
    """
    if path == STDIN:
        return [None]
    place = as_path(path)
    if isinstance(place, RemotePath):
        return [*place.found()]
    if not _names_a_file(os.fspath(path)):
        raise DataError(
            f"{os.fspath(path) or repr(path):.200}: no such file or folder, and no match: give an existing "
            "path (in Python, to give sentences, put them into a list or another iterable)"
        )
    if place.is_dir():
        refuse_encoded(place)
        files = _below(place)
        if not files:
            raise DataError(f"{place}: the folder has no files: give a folder that holds text files")
        return files
    if place.exists():
        return [place]
    matches = _matches(os.fspath(path))
    for match in matches:
        refuse_encoded(match)
    return [file for match in matches for file in (_below(match) if match.is_dir() else [match])]


def refuse_encoded(folder: Path) -> None:
    """Raise a `DataError` if a folder holds cells or an encoded corpus, whose bytes are not text."""
    for index, what in ENCODED.items():
        if (folder / index).is_file():
            raise DataError(
                f"{folder}: the folder holds {what}, or give the folder as the only input of unhot train"
            )


def paths_of(source: object) -> list[PathLike] | None:
    """Return the paths of a source; None if the source does not consist of paths."""
    if isinstance(source, (str, os.PathLike)):
        return [hidden(source)]
    if isinstance(source, (list, tuple)) and are_paths(source):
        return [*map(hidden, source)]
    return None


def are_paths(items: Sequence[object]) -> bool:
    """Return whether a list holds paths: `pathlib` paths, or strings that all name existing files.

    If none of the strings names a file, they are sentences; if only some do, raise a `DataError`.
    """
    strings = [item for item in items[:PEEK] if isinstance(item, str)]
    paths = [item for item in items[:PEEK] if isinstance(item, os.PathLike)]
    if not items or len(strings) + len(paths) < len(items[:PEEK]):
        return False
    if paths:
        return True
    missing = [item for item in strings if not _names_a_file(item)]
    if missing and len(missing) < len(strings):
        raise DataError(
            f"in a list of {len(items)} strings, some name files and some do not, such as "
            f"{missing[0][:80]!r}: give paths as pathlib.Path, sentences as an iterator (iter(sentences))"
        )
    return not missing


def _below(folder: Path) -> list[Path | None]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(HIDDEN) for part in path.relative_to(folder).parts)
    ]


def _matches(pattern: str) -> list[Path]:
    if not any(c in pattern for c in "*?["):
        return []
    # Path.glob does not accept absolute patterns
    return [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207


def _names_a_file(text: str) -> bool:
    if text == STDIN or (is_address(text) and not text.startswith("http")):  # which may be a text
        return True
    if not text or len(text) > 4096 or "\n" in text or "\0" in text:
        return False
    try:
        return Path(text).exists() or bool(_matches(text))
    except (OSError, ValueError):  # the name is too long, or cannot be encoded
        return False
