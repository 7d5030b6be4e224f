"""Time and memory of finding phrases, beside gensim.

    python benchmarks/phrases.py [CORPUS] [--rounds 5] [--threads 2] [--kinds gensim,gensim+connectors,npmi]

unhot's `Phrases(...).fit(file)` against gensim's `Phrases(LineSentence(file), ...)` and its
`export_phrases()`, with the same score, threshold and min_count. The phrases must be the same and their
scores equal to 1e-12. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness import child, rounds, say
from options import add_corpus, new_parser, numbers, results_path, words_of
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, write_page
from text import Text, check_read, prepare

COLUMNS = (
    *("round", "kind", "tool", "threads", "bytes", "words", "phrases"),
    *("seconds", "total_seconds", "peak_mb", "others_cores"),
)
MIN_COUNT = 5
ENGLISH = "a an and at by for from in of on or the to with without".split()
# score, threshold, connectors
KINDS: dict[str, tuple[str, float, list[str]]] = {
    "gensim": ("gensim", 10.0, []),
    "gensim+connectors": ("gensim", 10.0, ENGLISH),
    "npmi": ("npmi", 0.5, []),
}
FIGURES = {"seconds": ".2f", "total_seconds": ".2f", "peak_mb": ",.0f"}

NOTES = f"""\
unhot: `Phrases(...).fit(file)`, which encodes the text and counts neighbouring words. gensim:
`Phrases(LineSentence(file), ...)`, told not to prune, and its `export_phrases()`, on one thread. Same score,
threshold (gensim 10, npmi 0.5) and min_count ({MIN_COUNT}); the phrases are the same in every run, their
scores equal to 1e-12 (checked). Each run is a process of its own, round by round. `seconds` is the calls
alone (unhot: loading its compiled kernels included), `total_seconds` the whole process. A figure is the
median (least..most); a ratio is the median of the ratios of each round.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(options.corpus, Path(directory))
        path = results_path(options, text.name)
        tools = {**{f"unhot, threads {n}": ("unhot", n) for n in options.threads}, "gensim": ("gensim", 1)}
        for threads in options.threads:  # compiles the kernels, once on a machine
            for kind in options.kinds:
                measure(kind, "unhot, warm-up", "unhot", threads, text, Path(directory) / "warm-up")
        with Table(path, COLUMNS, origin(["numpy", "numba", "gensim"])) as table:
            for kind in options.kinds:
                for number, tool in rounds(options.rounds, list(tools)):
                    row = measure(kind, tool, *tools[tool], text, Path(directory) / tool)
                    table.add({"round": number, **row})
                    say(f"{kind}  round {number}  {tool:16}  {row['seconds']} s  {row['peak_mb']} MB")
                    compare(*(Path(directory) / each for each in tools))
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="phrases-CORPUS")
    add_corpus(result)
    result.add_argument("--threads", type=numbers, default=[2], help="of unhot")
    result.add_argument("--kinds", type=words_of(*KINDS), default=list(KINDS), help="what is measured")
    return result


def measure(kind: str, label: str, tool: str, threads: int, text: Text, found: Path) -> dict[str, Any]:
    """One run; its phrases are left in a file."""
    score, threshold, connectors = KINDS[kind]
    settings = {
        "score": score,
        "threshold": threshold,
        "connectors": connectors,
        "min_count": MIN_COUNT,
        "threads": threads,
    }
    done, answer = child(f"phrases_{tool}", {"text": str(text.path), "found": str(found), **settings})
    check_read(label, answer["words"], text.words)
    return {
        "kind": kind,
        "tool": label,
        "threads": threads,
        "bytes": text.bytes,
        "words": text.words,
        "phrases": answer["phrases"],
        "seconds": round(answer["seconds"], 3),
        **done.columns(),
    }


def compare(*paths: Path) -> None:
    """End the benchmark if the phrases that tools found, so far, are not the same."""
    found = [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in paths if path.exists()]
    for name, phrases in found[1:]:
        check(found[0][0], found[0][1], name, phrases)
    if len(found) == len(paths):
        for path in paths:
            path.unlink()


def check(name: str, phrases: Mapping[str, float], other: str, others: Mapping[str, float]) -> None:
    """The same phrases with the same scores."""
    if phrases.keys() != others.keys():
        raise SystemExit(
            f"{name} found {len(phrases)} phrases, {other} {len(others)}, "
            f"{len(phrases.keys() & others.keys())} in both"
        )
    far = max((abs(score - others[phrase]) / abs(score) for phrase, score in phrases.items()), default=0.0)
    if far > 1e-12:
        raise SystemExit(f"the scores of {name} and {other} differ by up to {far:.2g} of them")


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (kind,), these in groups(rows, "kind").items():
        for tool in sorted({row["tool"] for row in these}, reverse=True):  # unhot first
            mine = of_tool(these, tool)
            times = [ratio(these, name, "gensim", tool, ".1f") for name in ("seconds", "total_seconds")]
            lines.append([kind, tool, f"{int(mine[0]['phrases']):,}", *cells(mine, FIGURES), *times])
    size, words = (int(rows[0][column]) for column in ("bytes", "words"))
    corpus = f"corpus: {size / 1e6:,.1f} MB, {words:,} words"
    header = ["score", "tool", "phrases", *FIGURES]
    header += ["gensim's seconds / these", "gensim's total_seconds / these"]
    return "\n".join([head("phrases", name, rows, [corpus]), NOTES, markdown_table(header, lines)])


if __name__ == "__main__":
    main()
