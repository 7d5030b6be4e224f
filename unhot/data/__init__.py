"""Data that comes with the package (see README.md beside this file for its origin)."""

from pathlib import Path


def sotu_path() -> Path:
    """Return the path of the bundled text.

    233 State of the Union addresses, 1.8 million words, xz-compressed.
    """
    return Path(__file__).parent / "sotu.txt.xz"


def udhr_path() -> Path:
    """Return the path of the bundled text with labels.

    The Universal Declaration of Human Rights in 60 languages, xz-compressed. Each line is a paragraph and
    begins with its language, such as `__label__English`.
    """
    return Path(__file__).parent / "udhr.txt.xz"
