"""How fast neighbours are found, beside gensim.

    python benchmarks/queries.py VECTORS.bin [--rounds 5] [--threads 1,2]

VECTORS is a file in word2vec's binary format. The ten nearest words of a word, one word after the other
(`most_similar`), and of 1,000 words (unhot: `most_similar_each`; gensim has no such call: a loop of
`most_similar`). gensim's products use as many BLAS threads as unhot's largest number of threads. Writes
docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import (
    BENCHMARKS,
    ONE_BLAS_THREAD,
    ORIGIN,
    RESULTS,
    Row,
    Table,
    markdown_table,
    origin,
    origin_lines,
    others_line,
    ratios,
    read_rows,
    rounds,
    run,
    say,
    spread,
)
from options import existing, numbers

FIGURES = {"single_ms": ".3f", "batch_per_second": ",.0f", "first_ms": ".0f", "loading_ms": ".0f"}
COLUMNS = (*ORIGIN, *("round", "tool", "threads", "words", "dim"), *FIGURES, "others_cores")
QUERIES, SINGLES, REPEATS = 1000, 300, 3
SAME = 0.98  # the share of neighbours that both tools must name: float32 rounds, and near ties change places

NOTES = """\
The ten nearest words by cosine, exactly. `single_ms`: a call of `most_similar(word)`, the median of 300. `batch_per_second`: 1,000 words at
once; for gensim, which has no such call, the same in a loop. `first_ms`: the first query of a process, which computes the lengths of the
vectors. `loading_ms`: what the first batch takes more than the later ones (unhot loads its compiled kernels and makes 8-bit copies of the
rows). A figure is the median over the rounds (least..most); a ratio is the median of the ratios of each round, above 1 where unhot is
faster.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = options.results / f"{options.name}.csv"
    tools = {
        **{f"unhot, threads {n}": ("unhot", n) for n in options.threads},
        "gensim": ("gensim", max(options.threads)),
    }
    common = origin(["numpy", "numba", "gensim"])
    expected = measure("gensim", 1, options.vectors)[1]
    measure("unhot", 1, options.vectors)  # compiles the kernels, once on a machine
    with Table(path, COLUMNS) as table:
        for number, tool in rounds(options.rounds, list(tools)):
            row, answers = measure(*tools[tool], options.vectors)
            check(tool, answers, expected)
            table.add({**common, "round": number, "tool": tool, **row})
            say(f"round {number}  {tool:16}  {row['single_ms']} ms  {row['batch_per_second']} queries/s")
    path.with_suffix(".md").write_text(page(options.name, read_rows(path)), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("vectors", type=existing, help="in word2vec's binary format")
    result.add_argument("--rounds", type=int, default=5)
    result.add_argument("--threads", type=numbers, default=[1, 2], help="of unhot; gensim has the largest")
    result.add_argument("--name", default="queries", help="of the results")
    result.add_argument("--results", type=Path, default=RESULTS, help="directory")
    return result


def measure(tool: str, threads: int, vectors: Path) -> tuple[dict[str, Any], list[list[str]]]:
    """One run: its row and its answers."""
    job = {
        "tool": tool,
        "threads": threads,
        "vectors": str(vectors),
        "queries": QUERIES,
        "singles": SINGLES,
        "repeats": REPEATS,
    }
    command = [sys.executable, str(BENCHMARKS / "children" / "find_neighbours.py"), json.dumps(job)]
    done = run(command, extra=dict.fromkeys(ONE_BLAS_THREAD, str(threads)))
    answer = json.loads(done.output.splitlines()[-1])
    row = {name: round(answer[name], 4) for name in FIGURES}
    return {
        **row,
        "threads": threads,
        "words": answer["words"],
        "dim": answer["dim"],
        "others_cores": done.others_text(),
    }, answer["answers"]


def check(tool: str, answers: list[list[str]], expected: list[list[str]]) -> None:
    """Stop if a tool found other words."""
    same = sum(
        a == b
        for mine, theirs in zip(answers, expected, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
    share = same / sum(len(each) for each in expected)
    if share < SAME:
        raise SystemExit(
            f"{tool}: only {share:.1%} of the neighbours are those of gensim: the comparison would not be "
            "fair"
        )


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for tool in sorted({row["tool"] for row in rows}, reverse=True):  # unhot first
        mine = [row for row in rows if row["tool"] == tool]
        spreads = [(spread(float(row[column]) for row in mine), form) for column, form in FIGURES.items()]
        single = spread(1 / ratio for ratio in ratios(rows, "single_ms", tool, "gensim"))
        batch = spread(ratios(rows, "batch_per_second", tool, "gensim"))
        times = [value.text(".2f") if value else "-" for value in (single, batch)]
        lines.append([tool, *(value.text(form) for value, form in spreads if value), *times])
    words, dim, threads = int(rows[0]["words"]), int(rows[0]["dim"]), max(int(row["threads"]) for row in rows)
    about = f"- vectors: {words:,} x {dim}; BLAS threads of gensim: {threads}\n"
    head = f"# {name}\n\nGenerated by `benchmarks/queries.py` from [{name}.csv]({name}.csv).\n\n{origin_lines(rows)}{about}{others_line(rows)}"
    return "\n".join(
        [
            head,
            NOTES,
            markdown_table(["tool", *FIGURES, "single: times gensim", "batch: times gensim"], lines),
        ]
    )


if __name__ == "__main__":
    main()
