"""Files of questions: which ones, their lines, and what is said about a wrong one."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from unhot.errors import DataError

File: TypeAlias = str | os.PathLike[str]


def question_files(source: File) -> list[Path]:
    """The file itself; of a folder all files below it, by name, without hidden ones."""
    path = Path(source)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder")
    below = (each for each in path.rglob("*") if each.is_file())
    found = sorted(
        each for each in below if not any(part.startswith(".") for part in each.relative_to(path).parts)
    )
    if not found:
        raise DataError(
            f"{path}: there is no file in this folder; give a file of questions, or a folder of such files"
        )
    return found


def question_file(source: File) -> Path:
    """The file, which must be there."""
    path = Path(source)
    if not path.is_file():
        why = "a folder: give its files one by one" if path.is_dir() else "there is no such file"
        raise DataError(f"{path}: {why}")
    return path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number and text of every line, from 1.

    White space at the ends is gone, and bytes that are not UTF-8 are kept as in `Vocabulary`.
    """
    raw = path.read_bytes()
    if b"\0" in raw:
        raise DataError(
            f"{path}: byte {raw.index(0)} is zero: questions are text; is this a file of vectors?"
        )
    text = raw.decode("utf-8-sig", "surrogateescape").replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), start=1):  # `splitlines` would cut at more than line ends
        yield number, line.strip()


def wrong_line(path: Path, number: int, line: str, accepted: str) -> DataError:
    """The error of a line that is not what it should be."""
    shown = line if len(line) <= 80 else f"{line[:80]}..."
    return DataError(f"{path}: line {number}: {shown!r}: must be {accepted}")


def nothing_asked(path: File, accepted: str) -> DataError:
    """The error of a file without questions."""
    return DataError(f"{path}: there is no question; it must have lines of {accepted}")
