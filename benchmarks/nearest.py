"""How many of the nearest words of some vectors are also nearest by positive PMI, which is counted.

overlap = 100 * mean over the commonest words of (words among the ten nearest of both) / 10
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import child
from options import TESTS

Nearest = Mapping[str, Sequence[str]]  # of each asked word, the nearest words

COMMONEST = 1000  # words that are asked
PPMI = {"window": 5, "weights": "dynamic", "smoothing": 0.75}


def nearest_by_ppmi(text: Path, min_count: int, threads: int) -> Nearest:
    """Return the nearest words of a text's commonest words, by the cosines of positive PMI."""
    settings = {**PPMI, "min_count": min_count, "threads": threads}
    job = {"family": "ppmi", "text": str(text), "settings": settings, "words": [], "near": 0}
    answer = child("train_family", {**job, **dict.fromkeys(TESTS, ""), "commonest": COMMONEST})[1]
    found: Nearest = answer["nearest"]
    return found


def overlap(ours: Nearest, theirs: Nearest) -> float:
    """Return the mean share of nearest words that both have, in percent."""
    shares = [len(set(near).intersection(ours[word])) / len(near) for word, near in theirs.items() if near]
    return round(100 * sum(shares) / len(shares), 2) if shares else 0.0
