"""Words that a format cannot hold: the one rule by which they are written differently.

`write_table` returns them with what it wrote instead. Every character that the format cannot hold becomes
`_` (or what the format says), an empty word becomes `_`, and as long as the result is another word of the
file, one more `_` is added at its end. All other words are written as they are, so a file never lacks a row
and never has a word twice.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Unwritable(NamedTuple):
    """What the words of a format cannot hold."""

    characters: re.Pattern[str]
    instead: str = "_"  # of each of them
    empty: str = "_"  # what an empty word becomes


WHITE_SPACE = Unwritable(re.compile("[ \t\n\v\f\r]"))
LINES_AND_TABS = Unwritable(re.compile("[\t\n\r]"))
SURROGATES = Unwritable(re.compile("[\ud800-\udfff]"), "\ufffd", empty="")  # bytes that were not UTF-8
NUL = Unwritable(re.compile("\0"), empty="")


def writable_words(
    words: Sequence[str], unwritable: Unwritable = WHITE_SPACE
) -> tuple[list[str], dict[str, str]]:
    """Return the words as they are written, and those among them that are written differently."""
    taken = set(words)
    names, renamed = list(words), {}
    for row, word in enumerate(words):
        name = unwritable.characters.sub(unwritable.instead, word) or unwritable.empty
        if name == word:
            continue
        while name in taken:
            name += "_"
        taken.add(name)
        names[row] = renamed[word] = name
    return names, renamed
