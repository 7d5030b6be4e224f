"""Words that a format cannot hold: the one rule by which they are written differently.

Writers return them with what they wrote instead. Every character that the format cannot hold becomes `_` (or
what the format says), an empty word becomes `_`, and as long as the result is another word of the file, one
more `_` is added at its end. All other words are written as they are, so a file never lacks a row and never
has a word twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

WHITE_SPACE = re.compile("[ \t\n\v\f\r]")
LINES_AND_TABS = re.compile("[\t\n\r]")
SURROGATES = re.compile("[\ud800-\udfff]")  # bytes that were not UTF-8
REPLACEMENT = "\ufffd"


def writable_words(
    words: Sequence[str], forbidden: re.Pattern[str] = WHITE_SPACE, instead: str = "_", empty: str = "_"
) -> tuple[list[str], dict[str, str]]:
    """Return the words as they are written, and those among them that are written differently."""
    taken = set(words)
    names, renamed = list(words), {}
    for row, word in enumerate(words):
        name = forbidden.sub(instead, word) or empty
        if name == word:
            continue
        while name in taken:
            name += "_"
        taken.add(name)
        names[row] = renamed[word] = name
    return names, renamed
