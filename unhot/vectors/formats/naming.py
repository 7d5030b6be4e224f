"""Rename words that a format cannot hold.

Every character that the format cannot hold becomes `_` (or another character that the format chooses), an
empty word becomes `_`, and while the result equals another word of the file, `_` is added at its end. All
other words are written unchanged. So a file never lacks a row and never has a word twice. `write_table`
returns the renamed words with their new names.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple


class Unwritable(NamedTuple):
    """The characters that words in a format cannot contain, and what replaces them."""

    characters: re.Pattern[str]
    instead: str = "_"  # replaces each of these characters
    empty: str = "_"  # replaces an empty word


WHITE_SPACE = Unwritable(re.compile("[ \t\n\v\f\r]"))
LINES_AND_TABS = Unwritable(re.compile("[\t\n\r]"))
SURROGATES = Unwritable(re.compile("[\ud800-\udfff]"), "\ufffd", empty="")  # from bytes that were not UTF-8
NUL = Unwritable(re.compile("\0"), empty="")


def writable_words(
    words: Sequence[str], unwritable: Unwritable = WHITE_SPACE
) -> tuple[list[str], dict[str, str]]:
    """Return the words as they are to be written, and a dictionary of renamed words -> new names."""
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
