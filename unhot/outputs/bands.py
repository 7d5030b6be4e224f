"""Cut words into bands of similar frequency, for layers that spend less on rare words.

The layers are differentiated and adaptive. Words are ranked by descending count, words of equal count by id;
ranks begin at 0. A cutoff is the rank where a band ends and the next one begins; the last band ends with the
last word. With `auto` the first band holds the words that make up 80 % of the text, the second the words up
to 95 %, the third the rest. Empty bands are left out.
"""

import numpy as np

from unhot.errors import ConfigError
from unhot.types import Counts, Ids

AUTO = "auto"
COVERED = (0.8, 0.95)  # shares of the text where bands end
BANDS = len(COVERED) + 1


def ranked(counts: Counts) -> Ids:
    """Return the ids of all words, the most frequent first."""
    return np.argsort(-np.asarray(counts, np.int64), kind="stable").astype(np.int32)


def checked_numbers(field: str, text: str) -> str:
    """Return a setting that must be auto or whole numbers with commas between them, in standard form.

    Raise a `ConfigError` if it is neither.
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
    """Return a setting that must be auto or ascending ranks; raise a `ConfigError` if it is neither."""
    text = checked_numbers(field, text)
    numbers = given_numbers(text)
    if any(low >= high for low, high in zip(numbers, numbers[1:], strict=False)):
        raise ConfigError(f"{field}={text!r}: must be in ascending order, such as 2000,10000")
    return text


def given_numbers(text: str) -> list[int]:
    """Return the numbers of a setting such as 64,32; an empty list for auto."""
    return [] if text == AUTO else [int(part) for part in text.split(",")]


def cutoffs_of(field: str, text: str, counts: Counts, most: int = BANDS) -> list[int]:
    """Return the ranks where all bands but the last end; `most` is the largest number of bands for auto."""
    if text == AUTO:
        return auto_cutoffs(counts, most)
    given = given_numbers(text)
    if given[-1] >= counts.size:
        raise ConfigError(
            f"{field}={text!r}: must be < {counts.size}, the number of words, so that no band is empty; or "
            "use auto"
        )
    return given


def auto_cutoffs(counts: Counts, most: int = BANDS) -> list[int]:
    """Return the ranks up to which words cover 80 % and 95 % of the text.

    >>> auto_cutoffs(np.array([70, 10, 9, 6, 3, 2]))
    [2, 4]
    """
    covered = np.cumsum(np.sort(counts if counts.any() else np.ones_like(counts))[::-1])
    ranks = 1 + np.searchsorted(covered, np.array(COVERED) * covered[-1])
    return sorted({int(rank) for rank in ranks if rank < counts.size})[: most - 1]
