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

from harness import (
    ORIGIN,
    RESULTS,
    Row,
    Table,
    child,
    markdown_table,
    origin,
    origin_lines,
    others_line,
    ratios,
    read_rows,
    rounds,
    say,
    spread,
)
from options import existing

COLUMNS = (
    *ORIGIN,
    *("round", "tool", "threads", "words", "dim", "candidates", "questions", "answered", "correct"),
    *("seconds", "total_seconds", "peak_mb", "others_cores"),
)
TOOLS = ("unhot", "gensim")
FIGURES = {"seconds": ".2f", "total_seconds": ".2f", "peak_mb": ",.0f"}

NOTES = """\
3CosAdd. Each run is a process of its own, round by round, with as many threads for each tool (gensim: of its matrix product). `seconds` is
the call alone (unhot: loading its compiled kernels included), `total_seconds` the whole process with reading the vectors. Both tools gave
the same number of right answers in every section, or the benchmark would have stopped. A figure is the median (least..most); a ratio is the
median of the ratios of each round.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = options.results / f"{options.name}.csv"
    common = origin(["numpy", "numba", "gensim"])
    job = {"vectors": str(options.vectors), "questions": str(options.questions), "threads": options.threads}
    child("analogies_unhot", {**job, "restrict_vocab": 1000})  # compiles the kernels, once on a machine
    with Table(path, COLUMNS) as table:
        for restrict_vocab in (None, options.restrict_vocab):
            expected: list[Any] = []
            for number, tool in rounds(options.rounds, TOOLS):
                row, sections = measure(tool, {**job, "restrict_vocab": restrict_vocab})
                expected = expected or sections
                if sections != expected:
                    raise SystemExit(
                        f"{tool} has other figures than the run before: {sections} instead of {expected}"
                    )
                table.add({**common, "round": number, **row})
                say(f"round {number}  {tool:8}  {row['candidates']} words  {row['seconds']} s")
    path.with_suffix(".md").write_text(page(options.name, read_rows(path)), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("vectors", type=existing, help="word2vec's binary format")
    result.add_argument("questions", type=existing, help="word2vec's format of analogies")
    result.add_argument("--rounds", type=int, default=3)
    result.add_argument("--threads", type=int, default=2)
    result.add_argument("--restrict-vocab", type=int, default=30_000)
    result.add_argument("--name", default="evaluation", help="of the results")
    result.add_argument("--results", type=Path, default=RESULTS, help="directory")
    return result


def measure(tool: str, job: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """One run, and (name, right, asked) of every section."""
    done, answer = child(f"analogies_{tool}", job)
    sections = answer["sections"]
    row = {
        "tool": tool,
        "threads": job["threads"],
        "words": answer["words"],
        "dim": answer["dim"],
        "candidates": job["restrict_vocab"] or "all",
        "questions": sum(
            not line.startswith(":")
            for line in Path(job["questions"]).read_text(encoding="utf-8").splitlines()
        ),
        "answered": sum(asked for _, _, asked in sections),
        "correct": sum(right for _, right, _ in sections),
        "seconds": round(answer["seconds"], 3),
        "total_seconds": round(done.seconds, 3),
        "peak_mb": round(done.peak_mb, 1),
        "others_cores": done.others_text(),
    }
    return row, sections


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for candidates in dict.fromkeys(row["candidates"] for row in rows):
        some = [row for row in rows if row["candidates"] == candidates]
        for tool in TOOLS:
            mine = [row for row in some if row["tool"] == tool]
            spreads = [(spread(float(row[column]) for row in mine), form) for column, form in FIGURES.items()]
            quotient = spread(ratios(some, "seconds", "gensim", tool))
            figures = [value.text(form) for value, form in spreads if value]
            asked = f"{int(mine[0]['correct']):,} of {int(mine[0]['answered']):,}"
            lines.append(
                [f"{candidates}: {tool}", asked, *figures, quotient.text(".1f") if quotient else "-"]
            )
    first = rows[0]
    what = f"- vectors: {int(first['words']):,} x {first['dim']}; questions: {int(first['questions']):,}; threads: {first['threads']}\n"
    head = f"# {name}\n\nGenerated by `benchmarks/evaluation.py` from [{name}.csv]({name}.csv).\n"
    facts = f"{origin_lines(rows)}{what}{others_line(rows)}"
    return "\n".join(
        [
            head,
            facts,
            NOTES,
            markdown_table(["candidates", "correct", *FIGURES, "gensim's seconds / its"], lines),
        ]
    )


if __name__ == "__main__":
    main()
