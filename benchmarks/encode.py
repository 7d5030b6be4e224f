"""Time and memory that reading a text takes, beside gensim.

    python benchmarks/encode.py [CORPUS] [--rounds 5] [--threads 1,2]

unhot's `encode` against gensim's `build_vocab(corpus_file=...)`. They do not do the same: gensim counts words
and keeps a vocabulary; unhot also writes the whole text as ids to disk, which is what it trains on. Writes
docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import child, rounds, say
from options import add_corpus, new_parser, numbers, results_path
from report import Row, Table, cells, head, markdown_table, of_tool, origin, ratio, write_page
from text import Text, check_read, prepare

COLUMNS = (
    *("round", "tool", "threads", "bytes", "words", "vocabulary"),
    *("seconds", "total_seconds", "mb_per_second", "peak_mb", "others_cores"),
)
MIN_COUNT = 5
FIGURES = {"seconds": ".2f", "total_seconds": ".2f", "mb_per_second": ".1f", "peak_mb": ",.0f"}

NOTES = """\
unhot: `encode`, which counts words *and* writes the text as ids to disk. gensim:
`build_vocab(corpus_file=...)`, which counts words, on one thread. Each run is a process of its own, round by
round. `seconds` is the call alone (unhot: loading its compiled kernels included), `total_seconds` the whole
process. A figure is the median (least..most); a ratio is the median of the ratios of each round.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(options.corpus, Path(directory))
        path = results_path(options, text.name)
        tools = {**{f"unhot, threads {n}": ("unhot", n) for n in options.threads}, "gensim": ("gensim", 1)}
        for threads in options.threads:  # compiles the kernels, once on a machine
            measure("unhot, warm-up", "unhot", threads, text)
        with Table(path, COLUMNS, origin(["numpy", "numba", "gensim"])) as table:
            for number, tool in rounds(options.rounds, list(tools)):
                row = measure(tool, *tools[tool], text)
                table.add({"round": number, **row})
                say(f"round {number}  {tool:16}  {row['seconds']} s  {row['peak_mb']} MB")
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="encode-CORPUS")
    add_corpus(result)
    result.add_argument("--threads", type=numbers, default=[1, 2], help="of unhot")
    return result


def measure(label: str, tool: str, threads: int, text: Text) -> dict[str, Any]:
    """One run."""
    job = {"text": str(text.path), "min_count": MIN_COUNT, "threads": threads}
    done, answer = child(f"encode_{tool}", job)
    check_read(label, answer["words"], text.words)
    return {
        "tool": label,
        "threads": threads,
        "bytes": text.bytes,
        "words": text.words,
        "vocabulary": answer["vocabulary"],
        "seconds": round(answer["seconds"], 3),
        "mb_per_second": round(text.bytes / 1e6 / answer["seconds"], 2),
        **done.columns(),
    }


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for tool in sorted({row["tool"] for row in rows}, reverse=True):  # unhot first
        share = ratio(rows, "seconds", tool, "gensim", ".2f")
        lines.append([tool, *cells(of_tool(rows, tool), FIGURES), share])
    size, words, vocabulary = (int(rows[0][column]) for column in ("bytes", "words", "vocabulary"))
    corpus = f"corpus: {size / 1e6:,.1f} MB, {words:,} words, a vocabulary of {vocabulary:,}"
    table = markdown_table(["tool", *FIGURES, "seconds / gensim's"], lines)
    return "\n".join([head("encode", name, rows, [corpus]), NOTES, table])


if __name__ == "__main__":
    main()
