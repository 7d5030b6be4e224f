"""Seconds until unhot does something.

    python benchmarks/startup.py [--rounds 5]

`import unhot`, `unhot --help`, and `unhot train` on 1 MB of text: to the `start` event of its log and to the
end, with an empty kernel cache (as on the first use on a machine), with a warm one, and with one that lacks
the kernel of another dim, another k or another layer. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness import ChildFailed, Run, run, say
from options import new_parser, results_path
from report import Row, Table, cells, groups, head, markdown_table, origin, write_page
from text import Text, prepare

COLUMNS = ("round", "what", "seconds", "others_cores")
TEXT_BYTES = 1_000_000
# in this order: each finds what those before it compiled
TRAININGS = {
    "cold": [],
    "warm": [],
    "another dim": ["--dim", "128"],
    "another k": ["--output", "negative:k=8"],
    "another layer": ["--output", "hierarchical"],
}

NOTES = """\
Every line is a process of its own, the start of Python included (`python` shows that alone). Cold: the folder
of compiled kernels is empty, as on the first use on a machine. Warm: it holds the kernels of the run before.
Another dim (128), k (8) and layer (hierarchical) find what the runs before them compiled. Seconds are the
median over the rounds (least..most).
"""


def main() -> None:
    """Parse, measure, write the page."""
    options = new_parser(__doc__, rounds=5, name="startup").parse_args()
    path = results_path(options)
    common = origin(["numpy", "numba"])
    with tempfile.TemporaryDirectory() as directory, Table(path, COLUMNS, common) as table:
        text = prepare(None, Path(directory), limit=TEXT_BYTES)
        for number in range(1, options.rounds + 1):
            for row in measure(text):
                table.add({"round": number, **row})
                say(f"round {number}  {row['what']:32}  {row['seconds']} s")
    write_page(path, page)


def measure(text: Text) -> Iterator[dict[str, Any]]:
    """The rows of a round."""
    python = sys.executable
    for what, command in (
        ("python", [python, "-c", "pass"]),
        ("import unhot", [python, "-c", "import unhot"]),
        ("unhot --help", [python, "-m", "unhot", "--help"]),
    ):
        done = run(command)
        yield row_of(what, done.seconds, done)
    with tempfile.TemporaryDirectory() as directory:
        kernels = Path(directory, "kernels")
        for what, options in TRAININGS.items():
            yield from train(text, kernels, Path(directory, what.replace(" ", "-")), what, options)
        if len(list(kernels.iterdir())) != 1:  # the cache has a folder for each state of the sources
            raise SystemExit("the sources of unhot changed while it was measured: run the benchmark again")


def train(text: Text, kernels: Path, saved: Path, what: str, options: list[str]) -> Iterator[dict[str, Any]]:
    """Train once; to the start and to the end."""
    log = saved.with_suffix(".jsonl")
    started: list[float] = []

    def watch() -> None:
        if not started and log.exists() and '"start"' in log.read_text(encoding="utf-8"):
            started.append(time.perf_counter())

    begin = time.perf_counter()
    command = [sys.executable, "-m", "unhot", "train", str(text.path), "-o", str(saved)]
    command += ["--epochs", "1", "--log-json", str(log), *options]
    done = run(command, extra={"NUMBA_CACHE_DIR": str(kernels)}, watch=watch)
    if not started:
        raise ChildFailed(f"no start event in the log of: {' '.join(command)}")
    yield row_of(f"unhot train, {what}: to the start", started[0] - begin, done)
    yield row_of(f"unhot train, {what}: to the end", done.seconds, done)


def row_of(what: str, seconds: float, done: Run) -> dict[str, Any]:
    """A row of the table."""
    return {"what": what, "seconds": round(seconds, 3), "others_cores": done.others_text()}


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = [[what, *cells(some, {"seconds": ".2f"})] for (what,), some in groups(rows, "what").items()]
    table = markdown_table(["what", "seconds"], lines)
    return "\n".join([head("startup", name, rows, ["text: 1 MB"]), NOTES, table])


if __name__ == "__main__":
    main()
