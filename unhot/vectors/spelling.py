"""Words spelled like an unknown one, for its error message."""

import difflib
import itertools
from collections.abc import Iterable

SPELLINGS = 5_000  # words that are compared letter by letter with an unknown one: some 0.1 s


def similar_spellings(word: object, words: Iterable[str]) -> list[str]:
    """Up to three words with the same first letter that are about as long and differ little, but for case."""
    if not isinstance(word, str) or not word:
        return []
    folded = word.casefold()
    near = (each for each in words if abs(len(each) - len(word)) <= 2 and each[:1].casefold() == folded[:1])
    spelled: dict[str, str] = {}
    for each in itertools.islice(near, SPELLINGS):
        spelled.setdefault(each.casefold(), each)
    return [spelled[each] for each in difflib.get_close_matches(folded, spelled, n=3, cutoff=0.75)]
