"""Graph vectors beside gensim on the same walks; the speed of walks; the memory of a large graph.

    python benchmarks/graphs.py [NAME=EDGES,LABELS ...] [--rounds 3] [--epochs 1] [--edges N] [--name PAGE]

Both tools learn skip-gram from the same walks: dim 128, window 10, 10 walks of 80 nodes from each node.
unhot walks while it trains; gensim reads the walks from a file (`corpus_file`), and the time of writing them
is not counted. gensim draws 5 negatives for each pair, at its usual rate of 0.025 (with 0.05 its micro-F1 on
BlogCatalog was 1.4 points lower); unhot draws 7 for each window, at a rate of 0.05. Labels of nodes are then
predicted by the same regressions. With more epochs gensim sees the same walks again, and unhot new ones.
`unhot, defaults` is what a user gets without settings.

Steps are measured on the graph named last. The large graph is random: a node for each ten edges, two thirds
of the ends among a third of the nodes. Writes `docs/results/PAGE.csv` and a page from it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from harness import RESULTS, child, commit, machine, rounds, say
from report import Table

TOOLS = ("unhot", "gensim")
WALKS = ("walk 1 1", "walk 0.25 0.25", "walk 4 0.25")
COLUMNS = (
    "graph",
    "round",
    "tool",
    "epochs",
    "seconds",
    "micro_f1",
    "macro_f1",
    "steps",
    "peak_mb",
    "p",
    "q",
)


def main() -> None:
    """Parse, measure, write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("graphs", nargs="*", metavar="NAME=EDGES,LABELS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--edges", type=int, default=0, help="of a large graph")
    parser.add_argument("--name", default="graphs")
    options = parser.parse_args()
    graphs = {each.partition("=")[0]: each.partition("=")[2].split(",") for each in options.graphs}
    found: dict[str, list[dict[str, Any]]] = {"trained": [], "walked": [], "large": []}
    common = {"commit": commit(), "threads": options.threads}
    with (
        tempfile.TemporaryDirectory() as folder,
        Table(RESULTS / f"{options.name}.csv", COLUMNS, common) as table,
    ):

        def measure(kind: str, name: str, number: int, tool: str, **job: Any) -> None:
            run, answer = child("train_graph", {**vars(options), "folder": folder, "tool": tool, **job})
            row = {
                "graph": name,
                "round": number,
                "tool": tool,
                **answer,
                "peak_mb": run.columns()["peak_mb"],
            }
            found[kind].append(row)
            table.add({key: value for key, value in row.items() if key in COLUMNS})
            say(f"{name}, round {number}: {tool} {answer}")

        for name, (edges, labels) in graphs.items():
            for number, tool in rounds(options.rounds, TOOLS):
                measure("trained", name, number, tool, edges_file=edges, labels=labels)
            measure("trained", name, 1, "unhot, defaults", edges_file=edges, labels=labels)
        for number, tool in rounds(options.rounds, WALKS) if graphs else ():
            measure("walked", name, number, tool, edges_file=edges)
        if options.edges:
            measure("large", "random", 1, "large", file=_large(Path(folder), options.edges))
    page = _page(options, found)
    (RESULTS / f"{options.name}.md").write_text(page, encoding="utf-8")
    say(page)


def _large(folder: Path, edges: int) -> str:
    rng, nodes = np.random.default_rng(1), edges // 10
    path = folder / "large.txt"
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, edges, 1 << 18):
            size = (min(1 << 18, edges - first), 2)
            few = rng.random(size) < 2 / 3
            ends = np.where(few, rng.integers(nodes // 3, size=size), rng.integers(nodes, size=size))
            file.write("".join(f"n{a} n{b}\n" for a, b in ends.tolist()))
    return str(path)


def _median(rows: list[dict[str, Any]], name: str) -> float:
    return float(statistics.median(row[name] for row in rows))


def _compared(options: argparse.Namespace, found: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the lines about training beside gensim, and about walks."""
    lines = [
        "",
        "## Beside gensim on the same walks",
        "",
        f"10 walks of 80 nodes from each node, window 10, dim 128, {options.epochs} epoch(s); gensim: 5 "
        "negatives a pair, rate 0.025; unhot: 7 negatives a window, rate 0.05. "
        "F1 in percent: one-vs-rest logistic regression, half of the nodes known, as many labels as a node "
        "has, mean of 5 splits. The ratio is the median of the ratios within a round, and their range.",
        "",
        "| graph | tool | seconds | micro-F1 | macro-F1 | times as fast |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(row["graph"] for row in found["trained"]):
        own = [row for row in found["trained"] if row["graph"] == name]
        times = {tool: [row["seconds"] for row in own if row["tool"] == tool] for tool in TOOLS}
        ratios = [theirs / ours for ours, theirs in zip(times["unhot"], times["gensim"], strict=True)]
        fast = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} .. {max(ratios):.1f})"
        for tool in (*TOOLS, "unhot, defaults"):
            rows = [row for row in own if row["tool"] == tool]
            cells = f"{_median(rows, 'seconds'):.2f} | {100 * _median(rows, 'micro_f1'):.2f}"
            cells += f" | {100 * _median(rows, 'macro_f1'):.2f} | {fast if tool == 'unhot' else ''}"
            lines.append(f"| {name} | {tool} | {cells} |")
    lines += ["", "## Walks", "", "| graph | p | q | million steps a second |", "|---|--:|--:|--:|"]
    for tool in dict.fromkeys(row["tool"] for row in found["walked"]):
        rows = [row for row in found["walked"] if row["tool"] == tool]
        speeds = [row["steps"] / 1e6 for row in rows]
        shown = f"{statistics.median(speeds):.1f} ({min(speeds):.1f} .. {max(speeds):.1f})"
        lines.append(f"| {rows[0]['graph']} | {rows[0]['p']:g} | {rows[0]['q']:g} | {shown} |")
    return lines


def _page(options: argparse.Namespace, found: dict[str, list[dict[str, Any]]]) -> str:
    lines = [
        "# Graphs" if found["trained"] else "# A large graph",
        "",
        f"{options.threads} threads, {options.rounds} rounds in turns, medians; {machine()}; "
        f"commit {commit()}. Made by `benchmarks/graphs.py`.",
    ]
    lines += _compared(options, found) if found["trained"] else []
    for row in found["large"]:
        lines += [
            "",
            f"{options.edges:,} edges between {row['nodes']:,} nodes, as a text: read, merged and sorted in "
            f"{row['read_seconds']:.1f} s; then {row['steps'] / 1e6:.1f} million steps a second. The process "
            f"takes {row['peak_mb']:,.0f} MB at most, the compiler included.",
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
