"""The page shows the ratios of each round; a folder without the package is refused."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from revisions import COLUMNS, checkout, page
from rows import row_of


def row(**columns: object) -> dict[str, str]:
    usual = {"words": 300_000, "vocabulary": 5000, "threads": 2, "epochs": 1}
    return row_of(COLUMNS, usual, columns)


def test_ratios_of_rounds() -> None:
    figures = {"before": [2.0, 4.0, 9.0], "after": [2.0, 5.0, 3.0]}
    rows = [
        row(tool=tool, revision=f"of-{tool}", kind="cbow", round=number, cpu_seconds=seconds, loss=0.5)
        for tool, numbers in figures.items()
        for number, seconds in enumerate(numbers)
    ]
    text = page("x", rows)
    assert "- before: of-before; after: of-after" in text
    assert "300,000 words, a vocabulary of 5,000" in text
    assert (
        "| cbow | 4.00 (2.00..9.00) | 3.00 (2.00..5.00) | 1.000 (0.800..3.000) | 1.000 0.800 3.000 "
        "| 0.5 | 0.5 |" in text
    )


def test_a_folder_without_the_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no package unhot in it"):
        checkout(str(tmp_path))
    (tmp_path / "unhot").mkdir()
    (tmp_path / "unhot" / "__init__.py").touch()
    assert checkout(str(tmp_path)) == tmp_path.resolve()
