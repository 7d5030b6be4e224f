"""Draw docs/seconds.svg, the picture of README.md, from the measurements in docs/results.

    python tools/make_picture.py             write it
    python tools/make_picture.py --check     exit with 1 if it is not what the measurements give

A bar is the time of a whole process, from text to saved vectors: the median over the rounds of a benchmark.
"""

from __future__ import annotations

import csv
import statistics
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
PICTURE = ROOT / "docs" / "seconds.svg"

WIDTH, LEFT, RIGHT = 720, 190, 130  # pixels; the bars lie between the margins
TOP, BAR, GAP, BETWEEN = 40, 18, 3, 20  # the first bar; a bar's height; below a bar; below a pair
QUIET = 0.15  # cores that other processes may use; seconds of busier runs mean nothing (benchmarks/report.py)
OURS, THEIRS = "#2f6fde", "#a9b1bd"
TITLE = "From text to vectors: 100 MB of Wikipedia, one epoch, dim 100, 2 cores"


class Pair(NamedTuple):
    """Two bars: another program, and unhot, at the same task."""

    title: str
    other: str  # name of the other program
    file: str
    tool: str  # name of the other program in the file
    rows: dict[str, str]  # what the rows of the file must hold


WHOLE_TEXT = {"threads": "2", "words": "16938121"}
PAIRS = [
    Pair("skip-gram", "gensim", "wikipedia-100mb.csv", "gensim", {**WHOLE_TEXT, "model": "skipgram"}),
    Pair("CBOW", "gensim", "wikipedia-100mb.csv", "gensim", {**WHOLE_TEXT, "model": "cbow"}),
    Pair("skip-gram with n-grams", "fastText", "ngrams.csv", "fastText", WHOLE_TEXT),
    Pair("GloVe, 15 epochs", "GloVe (C)", "glove.csv", "C (build)", {**WHOLE_TEXT, "kind": "whole"}),
]


def seconds(pair: Pair, tool: str) -> float:
    """Return the median time of a tool at a task."""
    with (RESULTS / pair.file).open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if {**pair.rows, "tool": tool}.items() <= row.items()]
    quiet = [row for row in rows if float(row["others_cores"]) <= QUIET]
    return statistics.median(float(row["total_seconds"]) for row in quiet)


def picture() -> str:
    """Return the picture as SVG."""
    times = [(seconds(pair, pair.tool), seconds(pair, "unhot")) for pair in PAIRS]
    scale = (WIDTH - LEFT - RIGHT) / max(map(max, times))
    height = TOP + len(PAIRS) * (2 * (BAR + GAP) + BETWEEN)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 22, TITLE, "start", 'fill="#57606a"'),
    ]
    y = TOP
    for pair, (theirs, ours) in zip(PAIRS, times, strict=True):
        lines.append(_text(LEFT - 10, y + BAR + GAP + 3, pair.title, "end"))
        lines += _bar(y, theirs * scale, THEIRS, f"{pair.other} {theirs:.3g} s")
        y += BAR + GAP
        lines += _bar(y, ours * scale, OURS, f"unhot {ours:.2g} s", 'font-weight="bold"')
        y += BAR + GAP + BETWEEN
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(y: int, length: float, colour: str, label: str, style: str = "") -> list[str]:
    bar = f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" fill="{colour}"/>'
    return [bar, _text(LEFT + length + 8, y + BAR - 5, label, "start", style)]


def _text(x: float, y: float, text: str, anchor: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" {style}>{text}</text>'


def main(arguments: list[str]) -> int:
    """Write the picture, or check it."""
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    if not arguments:
        PICTURE.write_text(picture(), encoding="utf-8", newline="\n")
    elif PICTURE.read_text(encoding="utf-8") != picture():
        print("docs/seconds.svg is not fresh; run: python tools/make_picture.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
