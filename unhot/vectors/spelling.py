"""Find words spelled like an unknown word, to suggest them in its error message."""

import difflib
import itertools
from collections.abc import Iterable

SPELLINGS = 5_000  # the most words that are compared letter by letter with the unknown one: about 0.1 s


def similar_spellings(word: object, words: Iterable[str]) -> list[str]:
    """Return up to three similar words of about the same length and with the same first letter.

    Upper and lower case count as equal.
    """
    if not isinstance(word, str) or not word:
        return []
    folded = word.casefold()
    near = (each for each in words if abs(len(each) - len(word)) <= 2 and each[:1].casefold() == folded[:1])
    spelled: dict[str, str] = {}
    for each in itertools.islice(near, SPELLINGS):
        spelled.setdefault(each.casefold(), each)
    return [spelled[each] for each in difflib.get_close_matches(folded, spelled, n=3, cutoff=0.75)]
