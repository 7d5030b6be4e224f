"""How fast neighbours are found, beside gensim.

    python benchmarks/queries.py VECTORS.bin [--rounds 5] [--threads 1,2]

VECTORS is a file in word2vec's binary format. The ten nearest words of a word, one word after the other
(`most_similar`), and of 1,000 words (unhot: `most_similar_each`; gensim has no such call: a loop of
`most_similar`). gensim's products use as many BLAS threads as unhot's largest number of threads. Writes
docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import ONE_BLAS_THREAD, child, rounds, say
from options import existing, new_parser, numbers, results_path
from report import Row, Table, cells, head, markdown_table, of_tool, origin, ratio, write_page

FIGURES = {"single_ms": ".3f", "batch_per_second": ",.0f", "first_ms": ".0f", "loading_ms": ".0f"}
COLUMNS = ("round", "tool", "threads", "words", "dim", *FIGURES, "others_cores")
QUERIES = 1000
SINGLES = 300
REPEATS = 3
SAME = 0.98  # the share of neighbours that both tools must name: float32 rounds, and near ties change places

NOTES = """\
The ten nearest words by cosine, exactly. `single_ms`: a call of `most_similar(word)`, the median of 300.
`batch_per_second`: 1,000 words at once; for gensim, which has no such call, the same in a loop. `first_ms`:
the first query of a process, which computes the lengths of the vectors. `loading_ms`: what the first batch
takes more than the later ones (unhot loads its compiled kernels and makes 8-bit copies of the rows). A figure
is the median over the rounds (least..most); a ratio is the median of the ratios of each round, above 1 where
unhot is faster.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    tools = {
        **{f"unhot, threads {n}": ("unhot", n) for n in options.threads},
        "gensim": ("gensim", max(options.threads)),
    }
    expected = measure("gensim", 1, options.vectors)[1]
    measure("unhot", 1, options.vectors)  # compiles the kernels, once on a machine
    with Table(path, COLUMNS, origin(["numpy", "numba", "gensim"])) as table:
        for number, tool in rounds(options.rounds, list(tools)):
            row, answers = measure(*tools[tool], options.vectors)
            check(tool, answers, expected)
            table.add({"round": number, "tool": tool, **row})
            say(f"round {number}  {tool:16}  {row['single_ms']} ms  {row['batch_per_second']} queries/s")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="queries")
    result.add_argument("vectors", type=existing, help="in word2vec's binary format")
    result.add_argument("--threads", type=numbers, default=[1, 2], help="of unhot; gensim has the largest")
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
    done, answer = child("find_neighbours", job, extra=dict.fromkeys(ONE_BLAS_THREAD, str(threads)))
    row = {
        **{name: round(answer[name], 4) for name in FIGURES},
        "threads": threads,
        "words": answer["words"],
        "dim": answer["dim"],
        "others_cores": done.others_text(),
    }
    return row, answer["answers"]


def check(tool: str, answers: list[list[str]], expected: list[list[str]]) -> None:
    """Stop if a tool found other words."""
    same = sum(
        a == b
        for mine, theirs in zip(answers, expected, strict=True)
        for a, b in zip(mine, theirs, strict=True)
    )
    share = same / sum(len(each) for each in expected)
    if share < SAME:
        told = f"only {share:.1%} of the neighbours are those of gensim"
        raise SystemExit(f"{tool}: {told}: the comparison would not be fair")


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for tool in sorted({row["tool"] for row in rows}, reverse=True):  # unhot first
        single = ratio(rows, "single_ms", "gensim", tool, ".2f")
        batch = ratio(rows, "batch_per_second", tool, "gensim", ".2f")
        lines.append([tool, *cells(of_tool(rows, tool), FIGURES), single, batch])
    size = f"{int(rows[0]['words']):,} x {rows[0]['dim']}"
    threads = max(int(row["threads"]) for row in rows)
    about = f"vectors: {size}; BLAS threads of gensim: {threads}"
    table = markdown_table(["tool", *FIGURES, "single: times gensim", "batch: times gensim"], lines)
    return "\n".join([head("queries", name, rows, [about]), NOTES, table])


if __name__ == "__main__":
    main()
