"""Words in bands of similar frequency, for layers that spend less on rare words: differentiated, adaptive.

A word's rank is its place by falling count, of equal counts by id; the order of the ids does not matter. A
cutoff is the rank where a band ends and the next one begins, counted from 0; the last band ends with the last
word. By itself (`auto`) the first band holds the words that make up 80 % of the text, the second those up to
95 %, the third the rest; a band that would be empty is left out.
"""

import numpy as np

from unhot.errors import ConfigError
from unhot.types import Counts, Ids

AUTO = "auto"
COVERED = (0.8, 0.95)  # shares of the text where bands end
BANDS = len(COVERED) + 1


def ranked(counts: Counts) -> Ids:
    """The ids of all words, the most frequent first."""
    return np.argsort(-np.asarray(counts, np.int64), kind="stable").astype(np.int32)


def checked_numbers(field: str, text: str) -> str:
    """A setting that is auto or whole numbers between commas, as it is written.

    A `ConfigError` if it is neither.
    """
    parts = [part.strip() for part in text.split(",")]
    if parts == [AUTO]:
        return AUTO
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) < 2**31 for part in parts):
        raise ConfigError(
            f"{field}={text!r}: must be {AUTO}, "
            "or whole numbers from 1 to 2**31 - 1 with commas between them, such as 64,32"
        )
    return ",".join(str(int(part)) for part in parts)


def checked_cutoffs(field: str, text: str) -> str:
    """The same for ranks, which must rise."""
    text = checked_numbers(field, text)
    numbers = given_numbers(text)
    if any(low >= high for low, high in zip(numbers, numbers[1:], strict=False)):
        raise ConfigError(f"{field}={text!r}: must rise from one to the next, such as 2000,10000")
    return text


def given_numbers(text: str) -> list[int]:
    """The numbers of such a setting; none where it is auto."""
    return [] if text == AUTO else [int(part) for part in text.split(",")]


def cutoffs_of(field: str, text: str, counts: Counts, most: int = BANDS) -> list[int]:
    """The ranks where bands end, without the end of the last one; `most` is how many bands auto may make."""
    if text == AUTO:
        return auto_cutoffs(counts, most)
    given = given_numbers(text)
    if given[-1] >= counts.size:
        raise ConfigError(
            f"{field}={text!r}: must be < {counts.size}, the number of words, so that no band is empty; "
            "or auto"
        )
    return given


def auto_cutoffs(counts: Counts, most: int = BANDS) -> list[int]:
    """Where 80 % and 95 % of the text are covered.

    >>> auto_cutoffs(np.array([70, 10, 9, 6, 3, 2]))
    [2, 4]
    """
    covered = np.cumsum(np.sort(counts if counts.any() else np.ones_like(counts))[::-1])
    ranks = 1 + np.searchsorted(covered, np.array(COVERED) * covered[-1])
    return sorted({int(rank) for rank in ranks if rank < counts.size})[: most - 1]
