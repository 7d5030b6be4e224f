"""A step of the full softmax in torch, beside `cross_entropy(linear(...))`: time and memory.

    python benchmarks/softmax_step.py [--words 10000,33000] [--dims 64,300] [--threads 1,2] [--steps 9]

The batch is that of a small language model: 20 rows of 35 words. It is measured without a body, and behind an
LSTM of the same width. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

from harness import child, say
from options import new_parser, numbers, results_path
from report import Row, Table, groups, head, markdown_table, origin, ratio, write_page

TOOLS = ("unhot", "cross_entropy")
COLUMNS = (
    *("body", "bias", "words", "dim", "threads", "round", "tool"),
    *("ms", "memory_mb", "others_cores"),
)
MEMORY_WORDS = 33_000

NOTES = """\
Forward and backward passes of 700 examples (20 x 35), from hidden vectors to the gradients of weight, bias
and hidden vectors; with a body, from the inputs of an `nn.LSTM` of width dim through it and back. `unhot` is
`OutputHead("softmax", dim, words)(hidden, target)`, `cross_entropy` is
`cross_entropy(linear(hidden, weight, bias), target)`. Both take turns in one process, a round being a step of
each. A ratio is cross_entropy / unhot of a round: above 1, unhot is quicker; median (least..most) over the
rounds. Memory: the most that a step held above parameters and gradients, in a process of its own.
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    with Table(path, COLUMNS, origin(["torch"])) as table:
        for job in jobs(options):
            for row in times(job) if job["tool"] is None else [memory(job)]:
                table.add(row)
    write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, name="softmax-step")
    result.add_argument("--words", type=numbers, default=[10_000, 33_000])
    result.add_argument("--dims", type=numbers, default=[64, 128, 200, 300])
    result.add_argument("--threads", type=numbers, default=[1, 2])
    result.add_argument("--steps", type=int, default=9, help="of each tool; default: 9")
    return result


def jobs(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What every child measures: first all times, then the memory."""
    kinds = ((False, False), (False, True), (True, True))  # body, bias
    every = itertools.product(kinds, options.words, options.dims, options.threads)
    for (body, bias), words, dim, threads in every:
        shape = {"words": words, "dim": dim, "threads": threads}
        yield {"body": body, "bias": bias, **shape, "steps": options.steps, "tool": None}
    for dim, tool in itertools.product(options.dims, TOOLS):
        shape = {"words": MEMORY_WORDS, "dim": dim, "threads": 1}
        yield {"body": False, "bias": True, **shape, "steps": 1, "tool": tool}


def measure(job: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """One process: the columns that describe it, and its answer."""
    extra = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(job["threads"]))
    done, answer = child("step_softmax", job, extra=extra)
    common = {name: job[name] for name in ("words", "dim", "threads")}
    kind = {"body": "lstm" if job["body"] else "none", "bias": "yes" if job["bias"] else "no"}
    return {**kind, **common, "others_cores": done.others_text()}, answer


def times(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each step."""
    common, answer = measure(job)
    seconds = answer["seconds"]
    middle = statistics.median(b / a for a, b in zip(*(seconds[tool] for tool in TOOLS), strict=True))
    say(" ".join(f"{name}={value}" for name, value in common.items()) + f"  {middle:.2f} times as fast")
    for tool in TOOLS:
        for number, one in enumerate(seconds[tool]):
            yield {**common, "round": number + 1, "tool": tool, "ms": f"{1000 * one:.3f}"}


def memory(job: dict[str, Any]) -> dict[str, Any]:
    """The row of a tool's memory."""
    common, answer = measure(job)
    say(f"dim={job['dim']} {job['tool']}  {answer['memory'] / 1e6:.1f} MB")
    return {**common, "round": 1, "tool": job["tool"], "memory_mb": f"{answer['memory'] / 1e6:.1f}"}


def page(name: str, rows: Sequence[Row]) -> str:
    """The results as Markdown."""
    timed = [row for row in rows if row["ms"]]
    count = len({row["round"] for row in timed})
    parts = [head("softmax_step", name, rows, [f"rounds: {count}"], timed), NOTES]
    for (body, bias), own in groups(timed, "body", "bias").items():
        title = "Behind an LSTM" if body == "lstm" else "The softmax alone"
        with_bias = "with" if bias == "yes" else "without"
        parts.append(f"## {title}, {with_bias} bias\n\n{time_table(own)}")
    held = [row for row in rows if row["memory_mb"]]
    if held:
        parts.append(f"## Memory, {MEMORY_WORDS:,} words, with bias\n\n{memory_table(held)}")
    return "\n".join(parts)


def time_table(rows: Sequence[Row]) -> str:
    """Milliseconds of both, and their ratio, for each shape."""
    lines = []
    for (words, dim, threads), own in groups(rows, "words", "dim", "threads").items():
        ms = [
            f"{statistics.median(float(row['ms']) for row in own if row['tool'] == tool):.1f}"
            for tool in TOOLS
        ]
        lines.append([f"{int(words):,}", dim, threads, *ms, ratio(own, "ms", TOOLS[1], TOOLS[0], ".2f")])
    return markdown_table(["words", "dim", "threads", "unhot, ms", "cross_entropy, ms", "ratio"], lines)


def memory_table(rows: Sequence[Row]) -> str:
    """Megabytes of both, and the share that unhot needs."""
    lines = []
    for (dim,), own in groups(rows, "dim").items():
        held = {row["tool"]: float(row["memory_mb"]) for row in own}
        lines.append(
            [dim, *(f"{held[tool]:,.1f}" for tool in TOOLS), f"{held[TOOLS[0]] / held[TOOLS[1]]:.2f}"]
        )
    return markdown_table(["dim", "unhot, MB", "cross_entropy, MB", "share"], lines)


if __name__ == "__main__":
    main()
