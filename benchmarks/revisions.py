"""One revision of unhot against another: CPU time and peak memory, or the bytes of what is learned.

    python benchmarks/revisions.py --before OLD --after NEW [--rounds 5] [--epochs 5] [--dim 100]
    python benchmarks/revisions.py --before OLD --after NEW --bytes [skipgram,ease]

OLD and NEW are checkouts: folders with the package `unhot` in them. Both do the same work on the same data,
in turns: train word models, a classifier, an n-gram model and item2vec, predict labels, score sentences. Only
the work itself is measured: not reading, counting cells or loading kernels. Writes docs/results/<name>.csv
and .md.

With --bytes, both train every kind of model with one thread on small generated data. For each kind a line
says whether the saved models and their answers are equal, or which tensor or file differs and by how much.
The exit code is 1 if anything differs, if a training fails, or if NEW lacks a kind of OLD. Nothing is timed
and no page is written, so the machine may be busy meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from checkouts import Checkout, checkout_folder
from harness import commit, rounds, say
from options import existing, new_parser, results_path, words_of
from report import Row, Table, cells, groups, head, markdown_table, of_tool, origin, ratio, ratios, write_page
from revision_bytes import TRAINED, compare_bytes
from revision_work import SEED, TIMED, Data, Work, prepare_data

COLUMNS = (
    *("round", "tool", "revision", "kind", "data", "settings", "repeats"),
    *("cpu_seconds", "seconds", "peak_mb", "loss", "others_cores"),
)
TOOLS = ("before", "after")
FIGURES = {"cpu_seconds": ".2f", "peak_mb": ".0f"}
NOTES = """\
Settings that are not named here are the defaults. CPU time is that of all threads together, from the
beginning of a training to its end; for predicting and scoring it is the time of the calls after a first one,
with a model that `before` trained on a few lines. Memory is the peak of the whole process. A cell shows the
median over the rounds (least..most). A ratio above 1 means that `after` takes less: it is the median of the
ratios of each round (least..most), and the CPU ratios of the single rounds follow. Each run is a process of
its own. The two of a round run one after the other, and take turns at being the first. Losses are those of
the last round.
"""


def main() -> None:
    """Parse, then compare bytes, or measure and write the page."""
    options = parser().parse_args()
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        kernels = options.kernels.resolve() if options.kernels else folder / "kernels"
        checkouts = {tool: Checkout(getattr(options, tool), kernels / tool) for tool in TOOLS}
        if options.bytes:
            sys.exit(0 if compare_bytes(checkouts, options.bytes, folder) else 1)
        measure_all(checkouts, options, folder)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="revisions")
    for tool in TOOLS:
        result.add_argument(
            f"--{tool}", type=checkout_folder, required=True, help="folder with the package unhot"
        )
    result.add_argument(
        "--bytes",
        nargs="?",
        type=words_of(*TRAINED),
        const=list(TRAINED),
        metavar="KINDS",
        help="compare what is learned; without KINDS: by all kinds",
    )
    result.add_argument(
        "--corpus", type=existing, help="text, words separated by white space; default: bundled"
    )
    result.add_argument("--kinds", type=words_of(*TIMED), default=list(TIMED), help="that are measured")
    result.add_argument("--epochs", type=int, default=5, help="of word models; default: 5")
    result.add_argument("--threads", type=int, default=2, help="of what is measured; default: 2")
    result.add_argument("--dim", type=int, default=100, help="of word models; default: 100")
    result.add_argument(
        "--kernels", type=Path, help="directory to keep compiled kernels in; default: a new one"
    )
    return result


def measure_all(checkouts: Mapping[str, Checkout], options: argparse.Namespace, folder: Path) -> None:
    """Measure all kinds round by round, and write the page."""
    path = results_path(options)
    commits = {tool: commit(checkout.folder) for tool, checkout in checkouts.items()}
    words = {"dim": options.dim, "epochs": options.epochs, "seed": SEED}
    data: dict[str, Data] = {}
    with Table(path, COLUMNS, origin(["numpy", "numba"])) as table:
        for name in options.kinds:
            kind = TIMED[name]
            if kind.data not in data:
                before = checkouts["before"]
                data[kind.data] = prepare_data(kind.data, before, options.corpus, folder / kind.data)
            settings = {**(words if kind.data == "words" else {}), **kind.settings}
            settings["threads"] = options.threads
            work = Work(kind, data[kind.data], settings, str(folder / f"{name}.model"))
            work.begin(checkouts["before"])
            for tool in TOOLS:
                work.warm_up(checkouts[tool])
            for number, tool in rounds(options.rounds, TOOLS):
                row = work.measure(checkouts[tool])
                table.add({"round": number, "tool": tool, "revision": commits[tool], "kind": name, **row})
                say(f"round {number}  {name:18}{tool:8}{row['cpu_seconds']} s of CPU, {row['peak_mb']} MB")
    write_page(path, page)


def page(name: str, rows: Sequence[Row]) -> str:
    """The results page."""
    lines = []
    for (kind,), some in groups(rows, "kind").items():
        own = [of_tool(some, tool) for tool in TOOLS]
        seconds, memory = (
            [
                *cells(own[0], {column: form}),
                *cells(own[1], {column: form}),
                ratio(some, column, *TOOLS, ".3f"),
            ]
            for column, form in FIGURES.items()
        )
        single = " ".join(f"{value:.3f}" for value in ratios(some, "cpu_seconds", *TOOLS))
        losses = [(mine[-1]["loss"] or "-") if mine else "-" for mine in own]
        lines.append([kind, *seconds, single, *memory, *losses])
    revisions = {row["tool"]: row["revision"] for row in rows}
    facts = ["; ".join(f"{tool}: {revision}" for tool, revision in revisions.items())]
    for (data, settings, repeats), some in groups(rows, "data", "settings", "repeats").items():
        kinds = ", ".join(dict.fromkeys(row["kind"] for row in some))
        facts.append(f"{kinds}: {data}; {settings}" + (f"; {repeats} times" if repeats != "1" else ""))
    header = ["kind", "before, CPU s", "after, CPU s", "before / after", "round by round"]
    header += ["before, MB", "after, MB", "before / after", "loss before", "loss after"]
    return "\n".join([head("revisions", name, rows, facts), NOTES, markdown_table(header, lines)])


if __name__ == "__main__":
    main()
