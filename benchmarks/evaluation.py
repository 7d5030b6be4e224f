"""Seconds that a file of analogies takes, beside gensim's evaluator.

    python benchmarks/evaluation.py VECTORS.bin QUESTIONS [--rounds 3] [--threads 2] [--restrict-vocab 30000]

unhot's `analogies` against gensim's `evaluate_word_analogies`, with all words as candidates and with the
first ones. VECTORS are in word2vec's binary format, QUESTIONS in its format of analogies. Both must find the
same number of right answers in every section. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import child, rounds, say
from options import existing, new_parser, results_path
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, write_page

COLUMNS = (
    *("round", "tool", "threads", "words", "dim", "candidates", "questions", "answered", "correct"),
    *("seconds", "total_seconds", "peak_mb", "others_cores"),
)
TOOLS = ("unhot", "gensim")
FIGURES = {"seconds": ".2f", "total_seconds": ".2f", "peak_mb": ",.0f"}

NOTES = """\
3CosAdd. Each run is a process of its own, round by round, with as many threads for each tool (gensim: of its
matrix product). `seconds` is the call alone (unhot: loading its compiled kernels included), `total_seconds`
the whole process with reading the vectors. Both tools gave the same number of right answers in every section,
or the benchmark would have stopped. A figure is the median (least..most); a ratio is the median of the ratios
of each round.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    job = {"vectors": str(options.vectors), "questions": str(options.questions), "threads": options.threads}
    child("analogies_unhot", {**job, "restrict_vocab": 1000})  # compiles the kernels, once on a machine
    with Table(path, COLUMNS, origin(["numpy", "numba", "gensim"])) as table:
        for restrict_vocab in (None, options.restrict_vocab):
            expected: list[Any] = []
            for number, tool in rounds(options.rounds, TOOLS):
                row, sections = measure(tool, {**job, "restrict_vocab": restrict_vocab})
                expected = expected or sections
                if sections != expected:
                    raise SystemExit(
                        f"{tool} has other figures than the run before: {sections} instead of {expected}"
                    )
                table.add({"round": number, **row})
                say(f"round {number}  {tool:8}  {row['candidates']} words  {row['seconds']} s")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=3, name="evaluation")
    result.add_argument("vectors", type=existing, help="word2vec's binary format")
    result.add_argument("questions", type=existing, help="word2vec's format of analogies")
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--restrict-vocab", type=int, default=30_000)
    return result


def measure(tool: str, job: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """One run, and (name, right, asked) of every section."""
    done, answer = child(f"analogies_{tool}", job)
    sections = answer["sections"]
    lines = Path(job["questions"]).read_text(encoding="utf-8").splitlines()
    row = {
        "tool": tool,
        "threads": job["threads"],
        "words": answer["words"],
        "dim": answer["dim"],
        "candidates": job["restrict_vocab"] or "all",
        "questions": sum(not line.startswith(":") for line in lines),
        "answered": sum(asked for _, _, asked in sections),
        "correct": sum(right for _, right, _ in sections),
        "seconds": round(answer["seconds"], 3),
        **done.columns(),
    }
    return row, sections


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (candidates,), some in groups(rows, "candidates").items():
        for tool in TOOLS:
            mine = of_tool(some, tool)
            asked = f"{int(mine[0]['correct']):,} of {int(mine[0]['answered']):,}"
            times = ratio(some, "seconds", "gensim", tool, ".1f")
            lines.append([f"{candidates}: {tool}", asked, *cells(mine, FIGURES), times])
    first = rows[0]
    what = (
        f"vectors: {int(first['words']):,} x {first['dim']}; "
        f"questions: {int(first['questions']):,}; threads: {first['threads']}"
    )
    table = markdown_table(["candidates", "correct", *FIGURES, "gensim's seconds / its"], lines)
    return "\n".join([head("evaluation", name, rows, [what]), NOTES, table])


if __name__ == "__main__":
    main()
