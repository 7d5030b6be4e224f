"""Types of command-line values that several benchmarks take."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def numbers(text: str) -> list[int]:
    """`1,2` as a list of positive numbers."""
    parts = text.split(",")
    if not all(part.isdecimal() and int(part) >= 1 for part in parts):
        raise argparse.ArgumentTypeError(f"{text}: must be whole numbers >= 1, separated by commas")
    return [int(part) for part in parts]


def words_of(*accepted: str) -> Callable[[str], list[str]]:
    """A parser of `a,b` that takes only the accepted words."""

    def parse(text: str) -> list[str]:
        wrong = [part for part in text.split(",") if part not in accepted]
        if wrong:
            raise argparse.ArgumentTypeError(
                f"{', '.join(wrong)}: must be one or more of {','.join(accepted)}"
            )
        return text.split(",")

    return parse


def existing(text: str) -> Path:
    """The path of a file that is there."""
    if not Path(text).is_file():
        raise argparse.ArgumentTypeError(f"{text}: no such file")
    return Path(text)
