"""The page of the softmax's step shows ratios of rounds, and the share of the memory."""

from __future__ import annotations

import argparse

from rows import row_of
from softmax_step import COLUMNS, jobs, page


def row(**columns: object) -> dict[str, str]:
    usual = {"body": "none", "bias": "yes", "words": 10_000, "dim": 64, "threads": 2}
    return row_of(COLUMNS, usual, columns)


def test_ratios_of_rounds_and_the_share_of_memory() -> None:
    figures = {"unhot": [10, 20, 10], "cross_entropy": [20, 30, 30]}
    rows = [
        row(tool=tool, round=number, ms=ms)
        for tool, numbers in figures.items()
        for number, ms in enumerate(numbers)
    ]
    rows += [row(words=33_000, tool="unhot", round=1, memory_mb=30)]
    rows += [row(words=33_000, tool="cross_entropy", round=1, memory_mb=300)]
    text = page("x", rows)
    assert "## The softmax alone, with bias" in text
    assert "| 10,000 | 64 | 2 | 10.0 | 30.0 | 2.00 (1.50..3.00) |" in text
    assert "| 64 | 30.0 | 300.0 | 0.10 |" in text


def test_every_shape_is_measured_with_and_without_bias_and_behind_a_body() -> None:
    options = argparse.Namespace(words=[10, 20], dims=[4], threads=[1, 2], steps=3)
    every = list(jobs(options))
    assert len(every) == 3 * 4 + 2
    assert [job["tool"] for job in every[-3:]] == [None, "unhot", "cross_entropy"]
