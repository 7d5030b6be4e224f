"""Speed, memory and quality of unhot beside gensim and fastText.

    python benchmarks/peers.py [CORPUS] [--rounds 5] [--epochs 1] [--dims 100,300] [--models skipgram,cbow]
    [--threads 1,2] python benchmarks/peers.py CORPUS --output hierarchical --name hierarchical python
    benchmarks/peers.py CORPUS --analogies FILE --wordsim FILE --simlex FILE [--seeds 1,2,3] [--quality-epochs
    5]

Writes docs/results/<name>.csv, one row a run, and <name>.md, made from it. Speed: every tool in every round,
in every setup. Quality, if evaluation files are given: one run for each seed with the first of the dims and
the most threads. POSIX only, needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from harness import ORIGIN, RESULTS, ChildFailed, Table, origin, read_rows, rounds, say
from options import existing, numbers, words_of
from peers_report import page
from text import Text, prepare
from trainers import PACKAGES, TOOLS, Setup, evaluate, train

COLUMNS = (
    *ORIGIN,
    *(
        "kind",
        "round",
        "tool",
        "model",
        "dim",
        "threads",
        "epochs",
        "seed",
        "output",
        "lr",
        "words",
        "vocabulary",
    ),
    *(
        "train_seconds",
        "total_seconds",
        "words_per_second",
        "peak_mb",
        "others_cores",
        "loss",
        "analogies",
        "wordsim",
        "simlex",
        "error",
    ),
)
WARM_UP_BYTES = 300_000


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    if options.rounds < 1 and not (options.analogies or options.wordsim or options.simlex):
        raise SystemExit("nothing to measure: give --rounds >= 1, or an evaluation file")
    files = {name: str(getattr(options, name) or "") for name in ("analogies", "wordsim", "simlex")}
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(options.corpus, Path(directory))
        name = options.name or f"peers-{text.name}"
        path = options.results / f"{name}.csv"
        common = origin(["numpy", *(package for tool in options.tools for package in PACKAGES[tool])])
        say(f"{text.words:,} words -> {path}")
        try:
            with Table(path, COLUMNS) as table:
                warm_up(options)
                measure_speed(options, text, table, common)
                if any(files.values()):
                    measure_quality(options, text, table, common, files)
        finally:  # a page of what there is, also after Ctrl-C
            rows = read_rows(path)
            if rows:
                path.with_suffix(".md").write_text(page(name, rows), encoding="utf-8")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument(
        "corpus",
        nargs="?",
        type=existing,
        help="text, words separated by white space; default: the bundled text",
    )
    result.add_argument("--rounds", type=int, default=5, help="of the speed runs; 0: none")
    result.add_argument("--epochs", type=int, default=1, help="of a speed run")
    result.add_argument("--dims", type=numbers, default=[100, 300])
    result.add_argument("--models", type=words_of("skipgram", "cbow"), default=["skipgram", "cbow"])
    result.add_argument("--threads", type=numbers, default=[1, 2])
    result.add_argument("--tools", type=words_of(*TOOLS), default=list(TOOLS))
    result.add_argument(
        "--output",
        choices=[Setup._field_defaults["output"], "hierarchical"],
        default=Setup._field_defaults["output"],
    )
    for name in ("analogies", "wordsim", "simlex"):
        result.add_argument(f"--{name}", type=existing, help="evaluation file")
    result.add_argument("--seeds", type=numbers, default=[1, 2, 3], help="of the quality runs")
    result.add_argument("--quality-epochs", type=int, default=5)
    result.add_argument("--name", help="of the results; default: peers-CORPUS")
    result.add_argument("--results", type=Path, default=RESULTS, help="directory")
    return result


def warm_up(options: argparse.Namespace) -> None:
    """Let unhot compile and keep its kernels.

    Once on a machine, not once a training (startup.py measures it).
    """
    if "unhot" not in options.tools:
        return
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(None, Path(directory), limit=WARM_UP_BYTES)
        # reading has kernels for several threads
        for model, dim, threads in product(options.models, options.dims, options.threads):
            train(
                "unhot",
                text,
                Setup(model, dim, threads, 1, 1, options.output),
                Path(directory, f"{model}-{dim}-{threads}"),
            )


def measure(tool: str, text: Text, setup: Setup, files: dict[str, str]) -> dict[str, Any]:
    """One run, scored if there are files.

    A run that fails becomes a row that says so: it must not end hours of measuring.
    """
    with tempfile.TemporaryDirectory() as directory:
        saved = Path(directory, "model")
        try:
            row = train(tool, text, setup, saved)
            return {**row, **(evaluate(tool, saved, files) if files else {}), "error": ""}
        except ChildFailed as error:
            say(str(error))
            return {
                "tool": tool,
                **setup._asdict(),
                "words": text.words,
                "error": str(error).strip().splitlines()[-1],
            }


def measure_speed(options: argparse.Namespace, text: Text, table: Table, common: dict[str, str]) -> None:
    """Every setup in every round, the tools of a setup one behind the other."""
    setups = [
        Setup(*parts, options.epochs, 1, options.output)
        for parts in product(options.models, options.dims, options.threads)
    ]
    order: dict[int, list[str]] = {}
    for number, tool in rounds(options.rounds, options.tools):
        order.setdefault(number, []).append(tool)
    for number, tools in order.items():
        for setup in setups:
            for tool in tools:
                row = measure(tool, text, setup, {})
                table.add({**common, "kind": "speed", "round": number, **row})
                say(f"round {number}  {tool:8}  {setup}  {row.get('words_per_second', row['error'])} words/s")


def measure_quality(
    options: argparse.Namespace, text: Text, table: Table, common: dict[str, str], files: dict[str, str]
) -> None:
    """Every model and tool with every seed."""
    for number, seed in enumerate(options.seeds, start=1):
        for model in options.models:
            setup = Setup(
                model, options.dims[0], max(options.threads), options.quality_epochs, seed, options.output
            )
            for tool in options.tools:
                row = measure(tool, text, setup, files)
                table.add({**common, "kind": "quality", "round": number, **row})
                say(f"seed {seed}  {tool:8}  {setup}  {[row.get(name) for name in files]} {row['error']}")


if __name__ == "__main__":
    main()
