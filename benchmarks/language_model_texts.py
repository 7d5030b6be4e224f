"""The texts that language models are measured with, in a form that unhot and KenLM read alike."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

FILES = ("train", "valid", "test")  # of a set
UNKNOWN, WORD = b"<unk>", b"UNKTOK"  # lmplz does not take the first as a word of a text


class Sets:
    """Files named SET.train.txt, SET.valid.txt and SET.test.txt, and copies of them in another folder."""

    def __init__(self, sources: Path, copies: Path) -> None:
        self._sources = sources
        self._copies = copies

    def file(self, name: str, part: str) -> Path:
        """The copy of a file, made when it is first asked for."""
        source, copy = (folder / f"{name}.{part}.txt" for folder in (self._sources, self._copies))
        if not source.is_file():
            files = ", ".join(f"{name}.{part}.txt" for part in FILES)
            raise SystemExit(f"{source}: no such file; the folder of the sets must have {files}")
        if not copy.exists():
            with copy.open("wb") as out:
                out.writelines(lines(source))
        return copy

    def sentences(self, name: str, number: int) -> Path:
        """The first lines of all files of a set together: valid, test, then train."""
        copy = self._copies / f"{name}.sentences.txt"
        files = (self.file(name, part) for part in ("valid", "test", "train"))
        with copy.open("wb") as out:
            out.writelines(islice(chain.from_iterable(map(lines, files)), number))
        return copy


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a text with single spaces, and another word for <unk>; empty lines stay."""
    with path.open("rb") as file:
        for line in file:
            yield b" ".join(WORD if word == UNKNOWN else word for word in line.split()) + b"\n"


def repeated(text: Path, times: int) -> Path:
    """A file that has a text several times, beside it."""
    copy = text.with_suffix(f".{times}.txt")
    with copy.open("wb") as out:
        for _ in range(times):
            with text.open("rb") as file:
                shutil.copyfileobj(file, out)
    return copy


def first_line(text: Path) -> Path:
    """A file that has the first line with words of a text, beside it."""
    one = text.with_suffix(".one.txt")
    with text.open("rb") as file:
        one.write_bytes(next(filter(bytes.strip, file)))
    return one
