"""The results page of glove.py, made from the rows of its CSV file."""

from __future__ import annotations

from collections.abc import Sequence

from options import TESTS
from report import Row, cells, head, markdown_table, of_tool, quiet, ratio

COLUMNS = (
    *("kind", "round", "tool", "threads", "seed", "words", "vocabulary", "cells", "iterations"),
    *("vocabulary_seconds", "cells_seconds", "order_seconds", "iteration_seconds", "rest_seconds"),
    *("total_seconds", "peak_mb", "loss", "same_words", "same_cells", "largest_difference"),
    *("budget", "buffers_mb", "digest", *TESTS, "overlap", "others_cores"),
)
FEW_DIGITS = 1e-6  # how far counts may be apart

STAGES: dict[str, tuple[str, str]] = {  # what is shown -> column, form
    "vocabulary, s": ("vocabulary_seconds", ".2f"),
    "co-occurrence, s": ("cells_seconds", ".2f"),
    "co-occurrence, ready to train, s": ("ready_seconds", ".2f"),
    "an iteration, s": ("iteration_seconds", ".2f"),
    "million cells/s of an iteration": ("million_cells", ".1f"),
    "whole process, s": ("total_seconds", ".1f"),
    "peak MB": ("peak_mb", ",.0f"),
}

NOTES = """\
GloVe with window 10, min count 5, dim 100, x_max 10, alpha 0.75, learning rate 0.05. Every run is a
process of its own, from text to vectors, round by round. A figure is the median over the rounds
(least..most), and `times` the median of the ratios of each round, C / unhot.

- vocabulary: vocab_count; unhot also writes the text as ids.
- co-occurrence, ready to train: cooccur and shuffle; unhot: counting, and all of `fit` but the iterations.
- an iteration: the median of those of a run, by the lines that glove prints; unhot: by its callbacks.
- whole process: from its start to its end. Of unhot that is Python's start and loading its kernels, too; they
  come from its disk cache.
- peak MB: the most that the process held, or the largest of the C programs; pages of mapped files count.
"""

QUALITY = """\
## Quality

Analogies: accuracy in percent among the 30,000 most frequent words; wordsim, simlex: Spearman's rank
correlation times 100; all by unhot's evaluators. Overlap: of the ten nearest words of each of the 1,000
commonest words, how many are among the ten nearest by positive PMI (window 5, dynamic weights, smoothing
0.75), in percent. Words have the vectors that each tool gives them by default: word + context / 2 in unhot,
word + context in C.
"""


def page(name: str, rows: Sequence[Row]) -> str:
    """The whole page."""
    speed, whole, counts, budgets = (
        [row for row in rows if row["kind"] == kind] for kind in ("round", "whole", "counts", "budget")
    )
    first = next(row for row in rows if row["cells"])
    size = f"{int(first['words']):,} words, a vocabulary of {int(first['vocabulary']):,}"
    facts = [
        f"corpus: {size}, {int(first['cells']):,} cells",
        f"threads: {first['threads']} (of cooccur and shuffle one)",
    ]
    parts = [head("glove", name, rows, facts, speed), NOTES]
    if speed:
        told = f"{speed[-1]['round']} round(s), {speed[0]['iterations']} iterations each."
        parts += [f"## Stages\n\n{told}\n", stages(speed)]
    timed = [row for row in whole if quiet(row)]
    if timed:
        parts += [whole_head(timed), whole_table(timed)]
    scored = [row for row in rows if row["kind"] in ("whole", "scored") and row["overlap"]]
    if scored:
        parts += [QUALITY, quality_table(scored)]
    if counts or budgets:
        parts += ["## Counts and memory\n", *(compared(row) for row in counts)]
    if budgets:
        parts += [budget_head(budgets), budget_table(budgets)]
    return "\n".join(parts)


def names(rows: Sequence[Row]) -> list[str]:
    """The tools that ran, unhot first."""
    return sorted(dict.fromkeys(row["tool"] for row in rows), key=lambda tool: tool != "unhot")


def with_sum(rows: Sequence[Row]) -> list[Row]:
    """Rows with the seconds until training can begin, and cells a second."""
    more: list[Row] = []
    for row in rows:
        ready = float(row["cells_seconds"]) + float(row["order_seconds"])
        speed = int(row["cells"]) / max(float(row["iteration_seconds"]), 1e-9) / 1e6
        more.append({**row, "ready_seconds": str(ready), "million_cells": str(speed)})
    return more


def stages(rows: Sequence[Row]) -> str:
    """One line a stage: every tool's value, and how many times longer each C build takes."""
    rows, tools = with_sum(rows), names(rows)
    peers = [tool for tool in tools if tool != "unhot"]
    lines = []
    for name, (column, form) in STAGES.items():
        values = [cells(of_tool(rows, tool), {column: form})[0] for tool in tools]
        times = [
            "" if column == "million_cells" else ratio(rows, column, tool, "unhot", ".2f") for tool in peers
        ]
        lines.append([name, *values, *times])
    return markdown_table(["stage", *tools, *(f"times, {tool}" for tool in peers)], lines)


def whole_head(rows: Sequence[Row]) -> str:
    """What the table of whole runs shows."""
    return (
        f"## Text to vectors\n\n{rows[0]['iterations']} iterations. Loss: that of the last iteration, the "
        "mean over cells of f(X) / 2 times\nthe squared error.\n"
    )


def whole_table(rows: Sequence[Row]) -> str:
    """One line a run."""
    own = {row["round"]: float(row["total_seconds"]) for row in rows if row["tool"] == "unhot"}
    columns = ("total_seconds", "iteration_seconds", "peak_mb", "loss")
    lines = []
    for row in rows:
        times = f"{float(row['total_seconds']) / own[row['round']]:.2f}" if row["round"] in own else "-"
        values = [row[column] or "-" for column in columns]
        lines.append([f"{row['tool']}, seed {row['seed']}", *values, times])
    return markdown_table(["tool", "seconds", "an iteration, s", "peak MB", "loss", "times"], lines)


def quality_table(rows: Sequence[Row]) -> str:
    """One line for each set of vectors."""
    columns = (*TESTS, "overlap")
    names = [row["tool"] + (f", seed {row['seed']}" if row["seed"] else "") for row in rows]
    lines = [
        [name, *(row[column] or "-" for column in columns)] for name, row in zip(names, rows, strict=True)
    ]
    return markdown_table(["vectors", *columns], lines)


def compared(row: Row) -> str:
    """Whether counts are those of the C program."""
    if row["same_cells"] != "True":
        what = "the words differ" if row["same_words"] != "True" else "the cells differ"
        return f"**unhot's counts are not those of cooccur: {what}.**\n"
    apart = float(row["largest_difference"])
    verdict = "the same counts" if apart <= FEW_DIGITS else "**other counts**"
    return (
        f"unhot and cooccur have the same words and the same cells, and {verdict}: "
        f"the largest relative difference is {apart:.1e}.\n"
    )


def budget_head(rows: Sequence[Row]) -> str:
    """What the table of budgets shows."""
    alike = len({(row["digest"], row["cells"]) for row in rows}) == 1
    verdict = "The counts are the same to the last bit" if alike else "**The counts differ**"
    return (
        f"Co-occurrences alone, of an encoded text, once for each budget. {verdict} (digests are in the CSV\n"
        "file). Buffers: memory of the process without mapped files, less what it had before it counted;\n"
        "peak: of the whole process, Python, the compiler and mapped files included.\n"
    )


def budget_table(rows: Sequence[Row]) -> str:
    """One line a budget."""
    columns = ("budget", "buffers_mb", "peak_mb", "cells_seconds")
    lines = [[*(row[column] for column in columns), f"{int(row['cells']):,}"] for row in rows]
    return markdown_table(["budget", "buffers, MB", "peak, MB", "seconds", "cells"], lines)
