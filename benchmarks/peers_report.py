"""The results page of peers.py, made from the rows of its CSV file."""

from __future__ import annotations

from collections.abc import Sequence

from options import TESTS
from report import Row, cells, groups, head, markdown_table, mean, of_tool, ratio
from trainers import MIN_COUNT, SAMPLE, TOOLS, WINDOW

NAMES = {"unhot": "unhot", "gensim": "gensim", "fasttext": "fastText"}
SETUP = ("model", "dim", "threads")

NOTES = f"""\
Same text, same parameters for all: window {WINDOW}, min_count {MIN_COUNT}, sample {SAMPLE}; the learning rate
is each tool's own default. Every run is a process of its own; each round runs all tools one after the other.
A figure is the median over the rounds (least..most); a ratio is the median of the ratios of each round
(least..most).

- unhot: its command line; the clock runs from the first to the last trained word. Kernels come from its disk
  cache.
- gensim: `corpus_file=`; the clock runs during `train()` only, without `build_vocab`.
- fastText: its word2vec part, that is without subwords (`minn=0, maxn=0`). The clock runs during
  `train_unsupervised`, which reads the text once more for its vocabulary. Its noise has the power 0.5, that
  of the others 0.75; the end of a line is a word to it.
- Total seconds: from the start of the process to its end, reading, vocabulary and saving included.
- Peak memory: the most that the process held; pages of mapped files count.
"""


def page(name: str, rows: Sequence[Row]) -> str:
    """The whole page."""
    speed = [row for row in rows if row["kind"] == "speed"]
    quality = [row for row in rows if row["kind"] == "quality"]
    words, vocabulary = (
        "; ".join(sorted({f"{int(row[column]):,}" for row in rows if row[column]}))
        for column in ("words", "vocabulary")
    )
    facts = [
        f"corpus: {words} words, a vocabulary of {vocabulary}",
        f"output layer: {values_of(rows, 'output')}",
    ]
    parts = [head("peers", name, rows, facts, speed), NOTES]
    failed = [row for row in rows if row["error"]]
    if failed:
        told = f"{len(failed)} of {len(rows)} runs failed and are left out below; the CSV file says why.\n"
        parts += [told]
    if speed:
        count = len({row["round"] for row in speed})
        epochs = values_of(speed, "epochs")
        parts += [f"## Words per second\n\n{count} round(s), {epochs} epoch(s). Higher is better.\n"]
        parts += [comparison(speed, "words_per_second", ",.0f")]
        parts += ["## Total seconds\n\nLower is better.\n", comparison(speed, "total_seconds", ".1f")]
        parts += ["## Peak memory in MB\n\nLower is better.\n", comparison(speed, "peak_mb", ",.0f")]
    if quality:
        parts += [quality_head(quality), quality_table(quality)]
    return "\n".join(parts)


def values_of(rows: Sequence[Row], column: str) -> str:
    """All different values of a column."""
    return ", ".join(sorted({row[column] for row in rows if row[column]}))


def tools_of(rows: Sequence[Row]) -> list[str]:
    """The tools that ran, in the usual order."""
    return [tool for tool in TOOLS if any(row["tool"] == tool for row in rows)]


def comparison(rows: Sequence[Row], column: str, form: str) -> str:
    """One line a setup: every tool's value, and unhot's ratio to each peer."""
    tools = tools_of(rows)
    peers = [tool for tool in tools if tool != "unhot"] if "unhot" in tools else []
    header = [
        "model, dim, threads",
        *(NAMES[tool] for tool in tools),
        *(f"unhot / {NAMES[tool]}" for tool in peers),
    ]
    lines = []
    for setup, group in groups(rows, *SETUP).items():
        values = [cells(of_tool(group, tool), {column: form})[0] for tool in tools]
        quotients = [ratio(group, column, "unhot", tool, ".2f") for tool in peers]
        lines.append([", ".join(setup), *values, *quotients])
    return markdown_table(header, lines)


def quality_head(rows: Sequence[Row]) -> str:
    """What the quality table shows."""
    epochs = values_of(rows, "epochs")
    seeds = values_of(rows, "seed")
    return (
        f"## Quality\n\n{epochs} epochs, seeds {seeds}: mean (least..most). "
        "Scored by gensim's evaluators, in the same way for all:\n"
        "analogies = accuracy in percent among the 30,000 most frequent words; "
        "wordsim, simlex = Spearman's rank correlation times 100.\n"
    )


def quality_table(rows: Sequence[Row]) -> str:
    """One line for each setup and tool."""
    scores = [name for name in TESTS if any(row[name] for row in rows)]
    lines = []
    for setup, group in groups(rows, *SETUP).items():
        for tool in tools_of(group):
            mine = of_tool(group, tool)
            means = [mean([float(row[name]) for row in mine if row[name]]) for name in scores]
            lines.append([f"{', '.join(setup)}: {NAMES[tool]}", values_of(mine, "lr"), *means])
    return markdown_table(["model, dim, threads", "lr", *scores], lines)
