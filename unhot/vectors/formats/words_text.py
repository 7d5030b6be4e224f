r"""Words as the text of vocab.txt: one a line, as raw bytes; backslash, line feed and carriage return are `\\`, `\n` and `\r`.

A backslash that is followed by anything else stays what it is: lists of words from elsewhere have such.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from unhot.errors import FormatError
from unhot.vectors.formats.table import Options, decode
from unhot.vocab.vocabulary import ESCAPES, UNESCAPES, encode_word

ESCAPED = re.compile(rb"\\[\\nr]")


def words_text(words: Sequence[str]) -> bytes:
    """The words as bytes."""
    text = "".join([word + "\n" for word in words])
    if text.count("\n") > len(words) or "\\" in text or "\r" in text:
        text = "".join([re.sub(r"[\\\n\r]", lambda found: ESCAPES[found[0]], word) + "\n" for word in words])
    return encode_word(text)


def parse_words(data: bytes, path: Path, start: int, options: Options, announced: int) -> list[str]:
    """The words in some bytes of a file, of which there must be as many as announced; the last line may lack its end."""
    lines = data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
    if lines != announced:
        raise FormatError(
            f"{path}: byte {start}: {lines} words, but {announced} vectors: there must be one line for each vector"
        )
    rows = options.rows(announced)
    raws = data.split(b"\n", rows)[:rows] if rows < announced else data.removesuffix(b"\n").split(b"\n")
    if not rows:
        return []
    if b"\r" in data or b"\\" in data:
        raws = [ESCAPED.sub(lambda found: UNESCAPES[found[0]], raw.removesuffix(b"\r")) for raw in raws]
    joined = b"\n".join(raws)
    if joined.count(b"\n") == rows - 1:  # one call instead of many
        return decode(
            joined, path, options.bad_utf8, lambda at: start + _place(data, joined.count(b"\n", 0, at))
        ).split("\n")
    return [
        decode(raw, path, options.bad_utf8, functools.partial(_line_place, data, start, row))
        for row, raw in enumerate(raws)
    ]


def _line_place(data: bytes, start: int, row: int, _at: int) -> int:
    return start + _place(data, row)


def _place(data: bytes, row: int) -> int:
    """The first byte of a line."""
    place = 0
    for _ in range(row):
        place = data.find(b"\n", place) + 1
    return place
