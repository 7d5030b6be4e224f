"""The page of the queries shows what the rows say; other neighbours than gensim's end the benchmark."""

from __future__ import annotations

import pytest
from queries import COLUMNS, check, page
from rows import row_of


def row(**columns: object) -> dict[str, str]:
    usual = {"words": 68000, "dim": 100, "threads": 2, "first_ms": 30, "loading_ms": 200}
    return row_of(COLUMNS, usual, columns)


def test_ratios_of_rounds() -> None:
    figures = {
        "unhot, threads 2": [(0.5, 8000), (0.4, 9000), (0.1, 500)],
        "gensim": [(1.0, 1000), (1.2, 900), (0.2, 100)],
    }
    rows = [
        row(tool=tool, round=number, single_ms=single, batch_per_second=batch)
        for tool, numbers in figures.items()
        for number, (single, batch) in enumerate(numbers)
    ]
    text = page("x", rows)
    assert "vectors: 68,000 x 100; BLAS threads of gensim: 2" in text
    assert "| unhot, threads 2 | 0.400 (0.100..0.500) | 8,000 (500..9,000) |" in text
    assert "| 2.00 (2.00..3.00) | 8.00 (5.00..10.00) |" in text


def test_other_answers_stop_it() -> None:
    check("unhot", [["a", "b"]] * 100, [["a", "b"]] * 100)
    check("unhot", [["a", "b"]] * 99 + [["b", "a"]], [["a", "b"]] * 100)
    with pytest.raises(SystemExit, match="only 50.0% of the neighbours"):
        check("unhot", [["a", "b"]] * 100, [["a", "c"]] * 100)
