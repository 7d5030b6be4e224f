"""Reading and copying rows, one revision of unhot against another: CPU time, time and peak memory.

    python benchmarks/rows.py --before OLD --after NEW [--rows 1000000] [--texts 100000] [--rounds 5]

OLD and NEW are checkouts: folders with the package `unhot` in them. Both read the same generated log of three
short columns and train Popularity on it, and both copy the same generated texts with their predicted labels
(`unhot classify predict`), as CSV, JSON lines and parquet, in turns. A first run on a few rows, which loads
kernels and libraries, is not measured. Writes docs/results/<name>.csv and .md.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from checkouts import Checkout, checkout_folder
from harness import commit, rounds, say
from options import new_parser, results_path, words_of
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, write_page

TOOLS = ("before", "after")
TASKS = ("log", "predict")
FORMATS = ("csv", "jsonl", "parquet")
FIGURES = {"cpu_seconds": ".2f", "seconds": ".2f", "peak_mb": ".0f"}
COLUMNS = ("round", "tool", "revision", "task", "format", "rows", *FIGURES, "others_cores")
NOTES = """\
Each run is a process of its own; the two of a round run one after the other, and take turns at being the
first. CPU time is that of all threads. Memory is the peak of the whole process. A cell shows the median over
the rounds (least..most). A ratio above 1 means that `after` takes less: it is the median of the ratios of
each round (least..most).
"""


def main() -> None:
    """Parse, write the rows, measure, and write the page."""
    result = new_parser(__doc__, rounds=5, name="rows")
    for tool in TOOLS:
        result.add_argument(f"--{tool}", type=checkout_folder, required=True, help="folder with unhot")
    result.add_argument("--rows", type=int, default=1_000_000, help="of the log; default: 1,000,000")
    result.add_argument("--texts", type=int, default=100_000, help="to predict; default: 100,000")
    result.add_argument("--tasks", type=words_of(*TASKS), default=list(TASKS), help="log, predict")
    result.add_argument("--formats", type=words_of(*FORMATS), default=list(FORMATS))
    options = result.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(options, Path(directory))


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Measure all tasks and formats round by round, and write the page."""
    checkouts = {tool: Checkout(getattr(options, tool), folder / tool) for tool in TOOLS}
    commits = {tool: commit(checkout.folder) for tool, checkout in checkouts.items()}
    sizes = {"log": options.rows, "predict": options.texts}
    job = {"model": str(folder / "model"), "rows": options.rows, "texts": options.texts}
    say("writing rows")
    checkouts["before"].ask("handle_rows", {**job, "task": "write", "whole": str(folder)})
    path = results_path(options)
    with Table(path, COLUMNS, origin(["numpy", "pyarrow"])) as table:
        for task in options.tasks:
            for kind in options.formats:
                name = {"log": "log", "predict": "texts"}[task]
                files = {"few": f"few-{name}.{kind}", "whole": f"{name}.{kind}", "out": f"out.{kind}"}
                given = {"task": task, **job, **{key: str(folder / file) for key, file in files.items()}}
                for tool in TOOLS:  # compile
                    checkouts[tool].ask("handle_rows", {**given, "whole": given["few"]})
                for number, tool in rounds(options.rounds, TOOLS):
                    run, found = checkouts[tool].ask("handle_rows", given)
                    row = {"round": number, "tool": tool, "revision": commits[tool], "task": task}
                    row |= {"format": kind, "rows": sizes[task], "others_cores": run.others_text()}
                    table.add(row | {name: round(found[name], 3) for name in FIGURES})
                    say(f"round {number}  {task:8}{kind:8}{tool:8}{found['cpu_seconds']:.2f} s of CPU")
    write_page(path, page)


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (task, kind, size), some in groups(rows, "task", "format", "rows").items():
        line = [f"{task}, {int(size):,} rows", kind]
        for column, form in FIGURES.items():
            line += [cell for tool in TOOLS for cell in cells(of_tool(some, tool), {column: form})]
            line.append(ratio(some, column, *TOOLS, ".2f"))
        lines.append(line)
    facts = ["; ".join(f"{tool}: {of_tool(rows, tool)[0]['revision']}" for tool in TOOLS)]
    header = ["task", "format"]
    for what in ("CPU s", "s", "MB"):
        header += [f"before, {what}", f"after, {what}", "before / after"]
    return "\n".join([head("rows", name, rows, facts), NOTES, markdown_table(header, lines)])


if __name__ == "__main__":
    main()
