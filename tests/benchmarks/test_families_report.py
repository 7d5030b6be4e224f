"""The page shows what the rows say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from families_report import COLUMNS, NAMES, page, plot
from rows import row_of

USUAL = {
    "words": 4000,
    "vocabulary": 300,
    "threads": 2,
    "settings": '{"dim": 100, "window": 5}',
    "seconds": 2,
    "peak_mb": 1234,
}


def row(family: str, seed: int = 1, **columns: object) -> dict[str, str]:
    usual = {**USUAL, "near": json.dumps({"king": ["queen", "prince"]}), "family": family, "seed": seed}
    return row_of(COLUMNS, usual, columns)


def test_a_line_for_each_model_over_its_seeds() -> None:
    rows = [
        row("glove", 1, analogies=30.0),
        row("glove", 2, analogies=32.0),
        row("ppmi", analogies=20.0, seconds=1.5),
    ]
    text = page("families", rows, None)
    assert "| model | settings | seconds | peak MB | analogies |" in text
    assert "| GloVe | dim 100, window 5 | 2.0 (2.0..2.0) | 1,234 (1,234..1,234) | 31.0 (30.0..32.0) |" in text
    assert "| PPMI | dim 100, window 5 | 1.5 | 1,234 | 20.0 |" in text
    assert "4,000 words, a vocabulary of 300\n" in text


def test_the_overlap_has_a_column() -> None:
    text = page("families", [row("glove", overlap=49.19), row("ppmi", overlap=100.0), row("cbow")], None)
    assert "| model | settings | seconds | peak MB | overlap |" in text
    assert "| GloVe | dim 100, window 5 | 2.0 | 1,234 | 49.2 |" in text
    assert "| CBOW | dim 100, window 5 | 2.0 | 1,234 | - |" in text
    assert "among PPMI's ten" in text


def test_a_disturbed_run_has_no_seconds() -> None:
    text = page("families", [row("glove", others_cores=1.5), row("cbow", others_cores=0.01)], None)
    assert "| GloVe | dim 100, window 5 | - | 1,234 |" in text
    assert "| CBOW | dim 100, window 5 | 2.0 | 1,234 |" in text
    assert "disturbed: more than" not in text


def test_without_tests_there_are_no_scores() -> None:
    text = page("families", [row("cbow")], None)
    assert "| model | settings | seconds | peak MB |\n" in text
    assert "Analogies" not in text
    assert "| CBOW | queen prince |" in text


def test_a_failed_run_is_left_out_and_said() -> None:
    failed = row("svd", seconds="", near="", vocabulary="", error="ValueError: no")
    text = page("families", [row("cbow"), failed], None)
    assert "SVD" not in text.split("## Nearest")[1]
    assert "1 of 2 runs failed" in text


def test_ratios() -> None:
    table = [
        ["solid", 0.02, 0.001, 20.0],
        ["gas", 0.0, 0.5, 0.0],
        ["a", 0.1, 0.0, float("inf")],
        ["b", 0.0, 0.0, float("nan")],
    ]
    found = {"missing": [], "words": ["ice", "steam"], "window": 10, "table": table}
    text = page("families", [row("cbow"), row("", ratios=json.dumps(found), near="")], None)
    assert "## Ice and steam" in text
    assert "| x | solid | gas | a | b |" in text
    assert "| P(x \\| ice) / P(x \\| steam) | 20 | 0 | inf | - |" in text
    missing = json.dumps({**found, "missing": ["ice"], "table": []})
    assert "not in the vocabulary: ice." in page(
        "families", [row("cbow"), row("", ratios=missing, near="")], None
    )


def test_the_picture_names_every_model(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "families.svg"
    assert plot([row("cbow")], path) is None
    assert (
        plot([row(family, analogies=20 + at, seconds=at + 1) for at, family in enumerate(NAMES)], path)
        == path
    )
    drawn = path.read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in drawn for name in NAMES.values())
    assert "![Analogies against seconds](families.svg)" in page("families", [row("cbow")], path)
