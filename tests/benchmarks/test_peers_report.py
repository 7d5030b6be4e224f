"""The page shows what the rows say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from harness import ChildFailed
from peers import COLUMNS
from peers_report import page
from rows import row_of
from trainers import read_log


def row(**columns: object) -> dict[str, str]:
    """A speed row with a few columns of its own."""
    usual = {
        "kind": "speed",
        "model": "cbow",
        "dim": 100,
        "threads": 2,
        "epochs": 1,
        "seed": 1,
        "lr": 0.1,
        "words": 5000,
        "vocabulary": 70,
    }
    figures = {"words_per_second": 1000, "total_seconds": 3.0, "train_seconds": 2.0, "peak_mb": 50}
    return row_of(COLUMNS, {**usual, **figures}, columns)


def test_ratios_of_rounds() -> None:
    speeds = {"unhot": (4000, 3000, 800), "gensim": (1000, 2000, 400)}
    rows = [
        row(tool=tool, round=n, words_per_second=x)
        for tool, numbers in speeds.items()
        for n, x in enumerate(numbers)
    ]
    text = page("x", rows)
    assert "| model, dim, threads | unhot | gensim | unhot / gensim |" in text
    assert "| cbow, 100, 2 | 3,000 (800..4,000) | 1,000 (400..2,000) | 2.00 (1.50..4.00) |" in text
    assert "5,000 words, a vocabulary of 70" in text
    assert "## Quality" not in text


def test_peers_alone_have_no_ratio() -> None:
    assert "unhot /" not in page("x", [row(tool="gensim", round=1), row(tool="fasttext", round=1)])


def test_failed_runs_are_counted_and_left_out() -> None:
    failed = row(
        tool="fasttext",
        round=1,
        error="Encountered NaN",
        words_per_second="",
        total_seconds="",
        peak_mb="",
        vocabulary="",
    )
    text = page("x", [row(tool="unhot", round=1), failed])
    assert "1 of 2 runs failed" in text
    assert "| cbow, 100, 2 | 1,000 (1,000..1,000) | - | - |" in text


def test_quality_is_the_mean_over_seeds() -> None:
    rows = [
        row(kind="quality", tool="unhot", round=n, seed=n, analogies=x)
        for n, x in enumerate((30.0, 35.0, 31.0), start=1)
    ]
    text = page("x", rows)
    assert "| model, dim, threads | lr | analogies |" in text
    assert "| cbow, 100, 2: unhot | 0.1 | 32.0 (30.0..35.0) |" in text
    assert "## Words per second" not in text


@pytest.mark.parametrize("change", [{"event": "epoch"}, {"words": 99}])
def test_a_training_that_did_not_finish_is_no_result(tmp_path: Path, change: dict[str, object]) -> None:
    log = tmp_path / "log.jsonl"
    start = {"event": "start", "lr": 0.025, "vocabulary": 7}
    end = {"event": "done", "words": 100, "seconds": 2.5, "loss": 1.23456}
    log.write_text(f"{json.dumps(start)}\n{json.dumps(end)}\n")
    assert read_log(log, 100) == {"seconds": 2.5, "lr": 0.025, "vocabulary": 7, "loss": 1.2346}
    log.write_text(f"{json.dumps(start)}\n{json.dumps({**end, **change})}\n")
    with pytest.raises(ChildFailed, match="after 100 words"):
        read_log(log, 100)
