"""The page shows what the rows say."""

from __future__ import annotations

from evaluation import COLUMNS, page
from rows import row_of


def row(**columns: object) -> dict[str, str]:
    usual = {
        "words": 5000,
        "dim": 100,
        "threads": 2,
        "questions": 19544,
        "answered": 1200,
        "correct": 300,
        "total_seconds": 9,
        "peak_mb": 90,
    }
    return row_of(COLUMNS, usual, columns)


def test_ratios_are_taken_within_rounds_and_candidates() -> None:
    seconds = {
        ("all", "unhot"): (1, 2, 4),
        ("all", "gensim"): (50, 60, 400),
        ("30000", "unhot"): (1, 1, 1),
        ("30000", "gensim"): (7, 8, 9),
    }
    rows = [
        row(candidates=candidates, tool=tool, round=number, seconds=value)
        for (candidates, tool), values in seconds.items()
        for number, value in enumerate(values, start=1)
    ]
    text = page("evaluation", rows)
    assert (
        "| all: unhot | 300 of 1,200 | 2.00 (1.00..4.00) | 9.00 (9.00..9.00) | 90 (90..90) | 50.0 "
        "(30.0..100.0) |" in text
    )
    assert (
        "| 30000: gensim | 300 of 1,200 | 8.00 (7.00..9.00) | 9.00 (9.00..9.00) | 90 (90..90) | 1.0 "
        "(1.0..1.0) |" in text
    )
    assert "5,000 x 100; questions: 19,544; threads: 2" in text
