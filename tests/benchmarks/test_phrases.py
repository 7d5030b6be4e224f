"""The page of the phrases shows what the rows say; other phrases than gensim's end the benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from phrases import COLUMNS, ENGLISH, check, compare, page
from rows import row_of

from unhot.corpus.phrases import phrases


def row(**columns: object) -> dict[str, str]:
    usual = {"kind": "npmi", "bytes": 2_000_000, "words": 300_000, "phrases": 1234, "peak_mb": 100}
    return row_of(COLUMNS, usual, columns)


def test_ratios_of_rounds() -> None:
    figures = {"unhot, threads 2": [(1, 2), (2, 4), (1, 3)], "gensim": [(10, 12), (10, 12), (30, 33)]}
    rows = [
        row(tool=tool, round=number, seconds=seconds, total_seconds=total)
        for tool, numbers in figures.items()
        for number, (seconds, total) in enumerate(numbers)
    ]
    text = page("x", rows)
    assert "corpus: 2.0 MB, 300,000 words" in text
    assert (
        "| npmi | unhot, threads 2 | 1,234 | 1.00 (1.00..2.00) | 3.00 (2.00..4.00) | 100 (100..100) | 10.0 "
        "(5.0..30.0) |" in text
    )
    assert text.index("unhot, threads 2 |") < text.index("| gensim |")


def test_other_phrases_stop_it(tmp_path: Path) -> None:
    check("a", {"x_y": 3.0}, "b", {"x_y": 3.0 + 1e-14})
    with pytest.raises(SystemExit, match="a found 1 phrases, b 2, 1 in both"):
        check("a", {"x_y": 3.0}, "b", {"x_y": 3.0, "y_z": 4.0})
    with pytest.raises(SystemExit, match="differ by up to 0.33"):
        check("a", {"x_y": 3.0}, "b", {"x_y": 2.0})
    paths = tmp_path / "a", tmp_path / "b"
    paths[0].write_text(json.dumps({"x_y": 3.0}))
    compare(*paths)
    assert paths[0].exists()
    paths[1].write_text(json.dumps({"x_y": 3.0}))
    compare(*paths)
    assert not any(path.exists() for path in paths)


def test_connectors_are_the_usual_ones() -> None:
    assert phrases.ENGLISH == set(ENGLISH)
