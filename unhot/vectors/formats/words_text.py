"""Parse a list of words, one per line, in the format of `words_text`.

Unlike in vocab.txt, an unknown escape stays as it is, because lists of words from elsewhere may contain
backslashes.
"""

import re
from pathlib import Path

from unhot.errors import FormatError
from unhot.vectors.formats.table import Options, decode
from unhot.vocab.vocabulary import ESCAPES

ESCAPED = re.compile(r"\\[\\nr]")
UNESCAPED = {escaped: raw for raw, escaped in ESCAPES.items()}


def parse_words(data: bytes, path: Path, start: int, options: Options, announced: int) -> list[str]:
    """Return the words in some bytes of a file; there must be `announced` words.

    `start` is where the bytes begin in the file. The last line may lack its line feed.
    """
    lines = data.count(b"\n") + (1 if data and not data.endswith(b"\n") else 0)
    if lines != announced:
        raise FormatError(
            f"{path}: byte {start}: there are {lines} words, but {announced} vectors: the file must have one "
            "line for each vector"
        )
    rows = options.rows(announced)
    if not rows:
        return []
    whole = rows == announced
    text = data.removesuffix(b"\n") if whole else b"\n".join(data.split(b"\n", rows)[:rows])
    words = decode(text, path, options.bad_utf8, lambda at: start + at).split("\n")
    if b"\r" in data or b"\\" in data:
        words = [ESCAPED.sub(lambda found: UNESCAPED[found[0]], word.removesuffix("\r")) for word in words]
    return words
