"""The page shows what the rows say."""

from __future__ import annotations

from glove_report import COLUMNS, page
from rows import row_of


def row(**columns: object) -> dict[str, str]:
    usual = {"words": 4000, "vocabulary": 300, "cells": 5_000_000, "threads": 2, "iterations": 2, "seed": 1}
    return row_of(COLUMNS, usual, columns)


def run(tool: str, number: int, seconds: float, **columns: object) -> dict[str, str]:
    stages = {
        name: seconds
        for name in (
            "vocabulary_seconds",
            "cells_seconds",
            "order_seconds",
            "iteration_seconds",
            "rest_seconds",
        )
    }
    return row(
        **{
            "kind": "round",
            "round": number,
            "tool": tool,
            **stages,
            "total_seconds": 8 * seconds,
            "peak_mb": 90,
            **columns,
        }
    )


def test_ratios_are_taken_within_rounds() -> None:
    ours, theirs = (1, 2, 4), (8, 6, 40)
    rows = [
        run(tool, at + 1, seconds[at])
        for at in range(3)
        for tool, seconds in (("C (build)", theirs), ("unhot", ours))
    ]
    text = page("glove", rows)
    assert "| stage | unhot | C (build) | times, C (build) |" in text
    assert "| an iteration, s | 2.00 (1.00..4.00) | 8.00 (6.00..40.00) | 8.00 (3.00..10.00) |" in text
    assert (
        "| co-occurrence, ready to train, s | 4.00 (2.00..8.00) | 16.00 (12.00..80.00) | 8.00 (3.00..10.00) |"
        in text
    )
    assert "| million cells/s of an iteration | 2.5 (1.2..5.0) | 0.6 (0.1..0.8) |  |" in text
    assert "4,000 words, a vocabulary of 300, 5,000,000 cells" in text
    assert "3 round(s), 2 iterations each" in text


def test_unhot_alone() -> None:
    text = page("glove", [run("unhot", 1, 2.0)])
    assert "| an iteration, s | 2.00 (2.00..2.00) |\n" in text


def test_whole_runs_are_compared_seed_by_seed() -> None:
    rows = [
        run("unhot", 1, 10.0, kind="whole", loss=0.25),
        run("C (build)", 1, 60.0, kind="whole", iterations=15),
        run("unhot", 2, 70.0, kind="whole", seed=2, others_cores=1.5),
    ]
    text = page("glove", rows)
    assert "| unhot, seed 1 | 80.0 | 10.0 | 90 | 0.25 | 1.00 |" in text
    assert "| C (build), seed 1 | 480.0 | 60.0 | 90 | - | 6.00 |" in text
    assert "seed 2" not in text  # other processes disturbed it


def test_counts() -> None:
    first = run("unhot", 1, 2.0)

    def said(**columns: object) -> str:
        return page("glove", [first, row(kind="counts", round=0, tool="unhot", **columns)])

    assert "and the same counts: the largest relative difference is 3.0e-14." in said(
        same_words=True, same_cells=True, largest_difference=3e-14
    )
    assert "and **other counts**" in said(same_words=True, same_cells=True, largest_difference=1e-3)
    assert "**unhot's counts are not those of cooccur: the cells differ.**" in said(
        same_words=True, same_cells=False
    )
    assert "the words differ" in said(same_words=False, same_cells=False)


def test_budgets() -> None:
    def said(second: str) -> str:
        digests = {"200MB": "abc", "1GB": second}
        return page(
            "glove",
            [
                row(
                    kind="budget",
                    round=1,
                    tool="unhot",
                    budget=budget,
                    buffers_mb=150,
                    peak_mb=400,
                    cells_seconds=2.5,
                    digest=digest,
                )
                for budget, digest in digests.items()
            ],
        )

    assert "| 200MB | 150 | 400 | 2.5 | 5,000,000 |" in said("abc")
    assert "The counts are the same to the last bit" in said("abc")
    assert "**The counts differ**" in said("abd")


def test_quality_is_that_of_vectors_with_an_overlap() -> None:
    scored = row(kind="scored", tool="C, one thread", seed="", overlap=44.92, wordsim=43.86)
    whole = run("unhot", 1, 2.0, kind="whole", overlap=49.19, loss=0.1)
    text = page("glove", [whole, scored]).split("## Quality")[1]
    assert "| vectors | analogies | wordsim | simlex | overlap |" in text
    assert "| unhot, seed 1 | - | - | - | 49.19 |" in text
    assert "| C, one thread | - | 43.86 | - | 44.92 |" in text
    assert "## Quality" not in page("glove", [run("unhot", 1, 2.0)])
