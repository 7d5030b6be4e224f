"""Item2Vec beside gensim: the same log, the same settings, side by side.

    python benchmarks/item_vectors.py LOG [--format FORMAT] [--rounds 5] [--threads 2] [--power 0]

Both learn skip-gram from the train part of the log: dim 64, window 5, 20 negatives, the same power of the
noise, sub-sampling, rate and epochs. gensim reads a text with a line for each user (`corpus_file`). Both are
asked in the same way on the test: the mean of the last items against the output vectors, all items ranked.
gensim is asked by its own usual way, too, the cosine of input vectors. The time is that of training alone.
Writes `docs/results/item-vectors.csv` and a page from it.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import tempfile
from pathlib import Path
from typing import Any

from harness import RESULTS, child, commit, machine, rounds, say

FIGURES = ("recall@10", "recall@20", "ndcg@10")
COLUMNS = (
    *("log", "round", "tool", "threads", "seconds", *FIGURES, "cosine_recall@10"),
    *("total_seconds", "peak_mb", "others_cores", "commit"),
)


def main() -> None:
    """Parse, measure round by round, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("log", type=Path)
    parser.add_argument("--format", default=None)
    parser.add_argument("--split", default="leave-last-out")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--power", type=float, default=0.0)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        job = {**vars(options), "log": str(options.log), "folder": folder}
        for number, tool in rounds(options.rounds, ("unhot", "gensim")):
            run, answer = child("train_items", {**job, "tool": tool})
            rows.append({"log": options.log.name, "round": number, "tool": tool, **answer, **run.columns()})
            rows[-1] |= {"threads": options.threads, "commit": commit()}
            say(f"round {number}: {tool} {answer}")
    with (RESULTS / "item-vectors.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "item-vectors.md").write_text(page(rows, options), encoding="utf-8")


def page(rows: list[dict[str, Any]], options: argparse.Namespace) -> str:
    """Return the page: a line for each tool, and the ratio of speeds."""
    times = {t: [row["seconds"] for row in rows if row["tool"] == t] for t in ("unhot", "gensim")}
    ratios = [theirs / own for own, theirs in zip(times["unhot"], times["gensim"], strict=True)]
    lines = ["| | seconds | recall@10 | recall@20 | NDCG@10 | recall@10 by cosine of inputs |"]
    lines.append("|---|--:|--:|--:|--:|--:|")
    for tool, seconds in times.items():
        own = [row for row in rows if row["tool"] == tool]
        cells = [f"{100 * statistics.mean(row[name] for row in own):.2f}" for name in FIGURES]
        cosine = f"{100 * statistics.mean(row['cosine_recall@10'] for row in own):.2f}"
        lines.append(f"| {tool} | {statistics.median(seconds):.2f} | {' | '.join(cells)} | {cosine} |")
    found = f"{statistics.median(ratios):.1f} ({min(ratios):.1f}..{max(ratios):.1f})"
    return (
        f"# Item vectors beside gensim\n\n{rows[0]['log']}, {options.threads} threads, {options.epochs} "
        f"epochs, noise power {options.power:g}, {options.rounds} rounds in turns; learned from train alone, "
        f"asked on the test ({options.split}); {machine()}; commit {commit()}.\n\n"
        + "\n".join(lines)
        + f"\n\nunhot trains {found} times as fast: the median of the ratios within a round, and the range.\n"
    )


if __name__ == "__main__":
    main()
