"""Find files of questions, read their lines, and make errors about wrong lines."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from unhot.errors import DataError

File: TypeAlias = str | os.PathLike[str]


def question_files(source: File) -> list[Path]:
    """Return the file itself, or all files below a folder, sorted by name and without hidden files."""
    path = Path(source)
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if not path.is_dir():  # a file, or a pipe, which is read once
        return [path]
    below = (each for each in path.rglob("*") if each.is_file())
    found = sorted(
        each for each in below if not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not found:
        raise DataError(
            f"{path}: this folder has no files; give a file of questions, or a folder of such files"
        )
    return found


def question_file(source: File) -> Path:
    """Return the path of a file; raise a `DataError` if it does not exist or is a folder."""
    path = Path(source)
    if path.is_dir() or not path.exists():
        why = "this is a folder: give its files one by one" if path.is_dir() else "there is no such file"
        raise DataError(f"{path}: {why}")
    return path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number, from 1, and the text of every line.

    White space at both ends is removed. Bytes that are not UTF-8 are kept as in `Vocabulary`.
    """
    raw = path.read_bytes()
    if b"\0" in raw:
        raise DataError(
            f"{path}: byte {raw.index(0)} is zero, but questions are text; is this a file of vectors?"
        )
    text = raw.decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), start=1):  # `splitlines` also splits at other characters
        yield number, line.strip()


def wrong_line(path: Path, number: int, line: str, accepted: str) -> DataError:
    """Return the error for a line that does not have the accepted form."""
    shown = line if len(line) <= 80 else f"{line[:80]}..."
    return DataError(f"{path}: line {number}: {shown!r}: must be {accepted}")


def nothing_asked(path: File, accepted: str) -> DataError:
    """Return the error for a file without questions."""
    return DataError(f"{path}: there are no questions; the file must have lines of {accepted}")
