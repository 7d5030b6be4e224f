"""Texts for the tests of n-gram models."""

import random
from pathlib import Path
from typing import Any

from unhot import NGramModel

GOLDEN = Path(__file__).parent.parent / "golden"
LINES = (GOLDEN / "kn_text.txt").read_text().splitlines()


def random_lines(seed: int, lines: int = 60, words: str = "abcdefg", most: int = 8) -> list[str]:
    """Return lines of words whose frequencies differ, some of them empty."""
    draw = random.Random(seed)
    weights = [1 / (i + 1) for i in range(len(words))]
    return [" ".join(draw.choices(words, weights, k=draw.randint(0, most))) for _ in range(lines)]


def fitted(lines: list[str], **settings: Any) -> NGramModel:
    """Return a model of lines."""
    return NGramModel(**{"double": True, "threads": 1, **settings}).fit(iter(lines))
