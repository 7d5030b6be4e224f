"""The same text for every tool: white-space tokens, at most 1,000 to a line.

The tools would not read every file alike. fastText cuts lines after 1,024 words and gensim *drops* what comes
after 10,000; gensim takes a no-break space as a separator while it counts words and as a letter while it
trains; NUL bytes separate for some. So all of them get a copy without such differences.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from harness import ROOT

LINE_WORDS = 1000
WARM_UP_BYTES = 300_000  # of a text that only makes kernels compile
CHUNK = 1 << 20  # characters; a line may be as long as the file
BUNDLED = ROOT / "unhot" / "data" / "sotu.txt.xz"
OPENERS: dict[str, Callable[..., Any]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}


class Text(NamedTuple):
    """A prepared text."""

    name: str
    path: Path
    words: int
    bytes: int


def prepare(corpus: Path | None, directory: Path, *, limit: int | None = None) -> Text:
    """Copy a text (the bundled one if None) to a directory in a form that every tool reads alike.

    Stop after `limit` bytes.
    """
    source = corpus or BUNDLED
    name = source.name.split(".")[0]
    copy = directory / f"{name}.txt"
    words = size = 0
    opener = OPENERS.get(source.suffix, open)
    with (
        opener(source, "rt", encoding="utf-8-sig", errors="replace", newline="\n") as file,
        copy.open("w", encoding="utf-8") as out,
    ):
        for line in sentences(file, plain_words if corpus is None else str.split):
            text = " ".join(line) + "\n"
            out.write(text)
            words += len(line)
            size += len(text.encode())
            if limit is not None and size >= limit:
                break
    if not words:
        raise SystemExit(f"{source}: no words in it; give a text file with words separated by white space")
    return Text(name, copy, words, size)


def check_read(tool: str, words: int, expected: int) -> None:
    """End the benchmark if a tool read other words."""
    if words != expected:
        raise SystemExit(f"{tool} read {words} words of {expected}: the comparison would not be fair")


def plain_words(text: str) -> list[str]:
    """The words of running text in lower case."""
    return re.findall(r"\w+", text.lower())


def sentences(file: TextIO, split: Callable[[str], list[str]], chunk: int = CHUNK) -> Iterator[list[str]]:
    """The words of each line that has any; a line with more than `LINE_WORDS` of them comes in parts."""
    words: list[str] = []
    rest = ""  # of a word that may go on in the next chunk
    while read := file.readline(chunk):
        part = rest + read.replace("\0", " ")
        ended = part.endswith("\n")
        end = len(part) if ended else max(part.rfind(" "), part.rfind("\t")) + 1
        words += split(part[:end])
        rest = part[end:]
        while len(words) > LINE_WORDS or (ended and words):
            yield words[:LINE_WORDS]
            del words[:LINE_WORDS]
    words += split(rest)
    while words:
        yield words[:LINE_WORDS]
        del words[:LINE_WORDS]
