"""Speed, memory and quality of unhot beside gensim and fastText.

    python benchmarks/peers.py [CORPUS] [--rounds 5] [--epochs 1] [--dims 100,300] [--models skipgram,cbow]
                               [--threads 1,2]
    python benchmarks/peers.py CORPUS --output hierarchical --name hierarchical
    python benchmarks/peers.py CORPUS --analogies FILE --wordsim FILE --simlex FILE [--seeds 1,2,3]
                               [--quality-epochs 5]

Writes docs/results/<name>.csv, one row a run, and <name>.md, made from it. Speed: every tool in every round,
in every setup; none with `--rounds 0`. Quality, if evaluation files are given: one run for each seed with the
first of the dims and the most threads. POSIX only, needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

from harness import ChildFailed, rounds, say
from options import add_corpus, add_tests, evaluation_files, new_parser, numbers, results_path, words_of
from peers_report import page
from report import Table, origin, write_page
from text import WARM_UP_BYTES, Text, prepare
from trainers import PACKAGES, TOOLS, Setup, evaluate, train

COLUMNS = (
    *("kind", "round", "tool", "model", "dim", "threads", "epochs", "seed", "output", "lr", "words"),
    *("vocabulary", "train_seconds", "total_seconds", "words_per_second", "peak_mb", "others_cores", "loss"),
    *("analogies", "wordsim", "simlex", "error"),
)


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    files = evaluation_files(options)
    if options.rounds < 1 and not any(files.values()):
        raise SystemExit("nothing to measure: give --rounds >= 1, or an evaluation file")
    with tempfile.TemporaryDirectory() as directory:
        text = prepare(options.corpus, Path(directory))
        path = results_path(options, text.name)
        packages = [package for tool in options.tools for package in PACKAGES[tool]]
        say(f"{text.words:,} words -> {path}")
        try:
            with Table(path, COLUMNS, origin(["numpy", *packages])) as table:
                warm_up(options)
                measure_speed(options, text, table)
                if any(files.values()):
                    measure_quality(options, text, table, files)
        finally:  # a page of what there is, also after Ctrl-C
            write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=5, name="peers-CORPUS")
    add_corpus(result)
    add_tests(result)
    result.add_argument("--epochs", type=int, default=1, help="of a speed run")
    result.add_argument("--dims", type=numbers, default=[100, 300])
    result.add_argument("--models", type=words_of("skipgram", "cbow"), default=["skipgram", "cbow"])
    result.add_argument("--threads", type=numbers, default=[1, 2])
    result.add_argument("--tools", type=words_of(*TOOLS), default=list(TOOLS))
    negative = Setup._field_defaults["output"]
    result.add_argument("--output", choices=[negative, "hierarchical"], default=negative)
    result.add_argument("--seeds", type=numbers, default=[1, 2, 3], help="of the quality runs")
    result.add_argument("--quality-epochs", type=int, default=5)
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
            setup = Setup(model, dim, threads, 1, 1, options.output)
            train("unhot", text, setup, Path(directory, f"{model}-{dim}-{threads}"))


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
            told = str(error).strip().splitlines()[-1]
            return {"tool": tool, **setup._asdict(), "words": text.words, "error": told}


def measure_speed(options: argparse.Namespace, text: Text, table: Table) -> None:
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
                table.add({"kind": "speed", "round": number, **row})
                say(f"round {number}  {tool:8}  {setup}  {row.get('words_per_second', row['error'])} words/s")


def measure_quality(options: argparse.Namespace, text: Text, table: Table, files: dict[str, str]) -> None:
    """Every model and tool with every seed."""
    for number, seed in enumerate(options.seeds, start=1):
        for model in options.models:
            setup = Setup(
                model, options.dims[0], max(options.threads), options.quality_epochs, seed, options.output
            )
            for tool in options.tools:
                row = measure(tool, text, setup, files)
                table.add({"kind": "quality", "round": number, **row})
                say(f"seed {seed}  {tool:8}  {setup}  {[row.get(name) for name in files]} {row['error']}")


if __name__ == "__main__":
    main()
