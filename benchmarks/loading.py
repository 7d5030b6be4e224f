"""Seconds that loading vectors takes, beside gensim.

    python benchmarks/loading.py [MODEL] [--rounds 5]

word2vec text and binary files of the same vectors, and each library's own format, memory-mapped. MODEL is
anything that unhot reads; without it, random vectors. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from typing import Any

from harness import child, rounds, say
from options import new_parser, results_path
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, write_page
from text import check_read

COLUMNS = (
    *("round", "format", "tool", "words", "dim", "repeats"),
    *("first_seconds", "seconds", "peak_mb", "others_cores"),
)
TOOLS = ("unhot", "gensim")
WORDS, DIM = 68_000, 100
REPEATS = {"text": 1, "binary": 5, "own": 15}  # loads behind the first; gensim takes seconds for a text

FIGURES = {"first_seconds": ".3f", "seconds": ".4f", "peak_mb": ",.0f"}

NOTES = """\
unhot: `Vectors.load`. gensim: `KeyedVectors.load_word2vec_format`, and for its own format
`KeyedVectors.load(mmap="r")`. Each line is a process of its own, round by round. `first` is the first load of
the process (of unhot: finding its compiled kernels on disk included, compiling them not), `seconds` the
median of the loads behind it. A figure is the median over the rounds (least..most); the ratio is the median
of the ratios of each round, gensim's seconds / unhot's.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    common = origin(["numpy", "numba", "gensim"])
    with tempfile.TemporaryDirectory() as folder, Table(path, COLUMNS, common) as table:
        job = {"folder": folder, "model": options.model, "words": WORDS, "dim": DIM}
        size = child("load_files", job)[1]
        for form in REPEATS:  # compiles the kernels, once on a machine
            child("load_unhot", {"folder": folder, "format": form, "repeats": 1})
        for form, repeats in REPEATS.items():
            for number, tool in rounds(options.rounds, TOOLS):
                row = measure(tool, {"folder": folder, "format": form, "repeats": repeats}, size)
                table.add({"round": number, **size, **row})
                say(f"round {number}  {form:8}{tool:8}{row['first_seconds']} s, then {row['seconds']} s")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="loading")
    told = f"vectors in any format; default: {WORDS} x {DIM} random numbers"
    result.add_argument("model", nargs="?", help=told)
    return result


def measure(tool: str, job: dict[str, Any], size: dict[str, int]) -> dict[str, Any]:
    """One process."""
    done, answer = child(f"load_{tool}", job)
    check_read(tool, answer["words"], size["words"])
    return {
        "format": job["format"],
        "tool": tool,
        "repeats": job["repeats"],
        "first_seconds": round(answer["first"], 4),
        "seconds": round(answer["seconds"], 4),
        "peak_mb": round(done.peak_mb, 1),
        "others_cores": done.others_text(),
    }


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (form,), here in groups(rows, "format").items():
        for tool in TOOLS:
            times = ratio(here, "seconds", "gensim", tool, ".1f") if tool == "unhot" else "1"
            lines.append([f"{form}, {tool}", *cells(of_tool(here, tool), FIGURES), times])
    size = f"vectors: {int(rows[0]['words']):,} words, dim {rows[0]['dim']}"
    table = markdown_table(["format, tool", "first", "seconds", "peak MB", "times gensim"], lines)
    return "\n".join([head("loading", name, rows, [size]), NOTES, table])


if __name__ == "__main__":
    main()
