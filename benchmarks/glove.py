"""GloVe beside Stanford's C programs: every stage, the counts, memory within a budget, quality.

    python benchmarks/glove.py [CORPUS] --glove DIR [--rounds 3]
                               [--analogies FILE --wordsim FILE --simlex FILE]
    python benchmarks/glove.py CORPUS --glove DIR --limit 3000000 --rounds 1 --whole 0     # a short one

DIR holds the programs vocab_count, cooccur, shuffle and glove (several DIRs: several builds; the first one is
compared in full). Without it unhot is measured alone. Rounds go from text to vectors with a few iterations;
then, once for each seed, with all of them. `--scored NAME=FILE` adds vectors of the same text that were made
before, to be scored only. Last, co-occurrences are counted with each of the budgets. Writes
docs/results/<name>.csv and .md. POSIX only; needs 3 GB of temporary space for 100 MB of text.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from glove_report import COLUMNS, page
from harness import child, rounds, say
from nearest import Nearest, nearest_by_ppmi, overlap
from options import TESTS, add_corpus, add_tests, evaluation_files, new_parser, numbers, results_path
from report import Table, origin, write_page
from text import WARM_UP_BYTES, Text, prepare

SETTINGS: dict[str, Any] = {
    "window": 10,
    "min_count": 5,
    "dim": 100,
    "x_max": 10.0,
    "alpha": 0.75,
    "lr": 0.05,
}
PROGRAMS = ("vocab_count", "cooccur", "shuffle", "glove")
STAGES = ("vocabulary_seconds", "cells_seconds", "order_seconds", "rest_seconds")


def main() -> None:
    """Parse, measure, write the page."""
    options = parser().parse_args()
    path = results_path(options)
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        text = prepare(options.corpus, folder, limit=options.limit)
        say(f"{text.words:,} words -> {path}")
        try:
            with Table(path, COLUMNS, origin(["numpy", "numba"])) as table:
                Benchmark(options, text, folder, table).run()
        finally:  # a page of what there is, also after Ctrl-C
            write_page(path, page)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = new_parser(__doc__, rounds=3, name="glove")
    add_corpus(result)
    add_tests(result)
    add = result.add_argument
    add("--glove", type=built, nargs="*", default=[], metavar="DIR", help="with the C programs")
    add("--limit", type=int, help="bytes of the text; default: all")
    add("--iterations", type=int, default=2, help="of a round")
    add("--whole", type=int, default=15, metavar="ITERATIONS", help="of the runs that are scored; 0: none")
    add("--seeds", type=numbers, default=[1], help="of the runs that are scored")
    add("--threads", type=int, default=2)
    add("--gigabytes", type=float, default=8, help="memory of the C programs, their -memory")
    add("--memory", default="1GB", help="budget of unhot's co-occurrences in rounds")
    add(
        "--scored",
        type=named_file,
        nargs="*",
        default=[],
        metavar="NAME=FILE",
        help="vectors of the same text",
    )
    alone = "that co-occurrences are counted with alone; empty: none"
    add("--budgets", default="100MB,200MB,1GB", help=alone)
    return result


def built(text: str) -> Path:
    """A folder with the four programs."""
    missing = [name for name in PROGRAMS if not Path(text, name).is_file()]
    if missing:
        raise argparse.ArgumentTypeError(
            f"{text}: no {', '.join(missing)} there; give the folder with the programs of Stanford's GloVe"
        )
    return Path(text)


def named_file(text: str) -> tuple[str, Path]:
    """NAME=FILE, a file or folder with vectors."""
    name, _, path = text.partition("=")
    if not name or not Path(path).exists():
        raise argparse.ArgumentTypeError(f"{text}: must be NAME=FILE, with vectors in FILE")
    return name, Path(path)


class Benchmark:
    """One text, and where everything goes."""

    def __init__(self, options: argparse.Namespace, text: Text, folder: Path, table: Table) -> None:
        self._options = options
        self._text = text
        self._folder = folder
        self._table = table
        self._facts = {"threads": options.threads, "words": text.words}
        self._programs = {f"C ({directory.name})": directory for directory in options.glove}
        self._theirs: Nearest = {}  # PPMI's nearest words

    def run(self) -> None:
        """All of it."""
        options, tools = self._options, ["unhot", *self._programs]
        few = prepare(None, self._new("few"), limit=WARM_UP_BYTES)
        self._train("unhot", few, 1, 1)  # compiles the kernels, once on a machine
        for number, tool in rounds(options.rounds, tools):
            self._add("round", number, self._train(tool, self._text, options.iterations, 1))
        if options.rounds and self._programs:
            self._compare(tools[1])
        if options.whole or options.scored:
            self._theirs = nearest_by_ppmi(self._text.path, SETTINGS["min_count"], options.threads)
        for name, file in options.scored:
            self._add("scored", 0, {"tool": name, **self._score(str(file))})
        for number, seed in enumerate(options.seeds if options.whole else [], start=1):
            for tool in tools[:2]:
                self._add("whole", number, self._train(tool, self._text, options.whole, seed, score=True))
        self._count()

    def _new(self, name: str) -> Path:
        """An empty folder."""
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return folder

    def _add(self, kind: str, number: int, row: dict[str, Any]) -> None:
        self._table.add({**self._facts, "kind": kind, "round": number, **row})
        told = (
            "tool",
            "budget",
            "total_seconds",
            "cells_seconds",
            "iteration_seconds",
            "peak_mb",
            *TESTS,
            "overlap",
        )
        say(f"{kind} {number}  {', '.join(f'{name} {row[name]}' for name in told if row.get(name))}")

    def _train(
        self, tool: str, text: Text, iterations: int, seed: int, *, score: bool = False
    ) -> dict[str, Any]:
        """From text to vectors in a process of its own; its files stay until the next run of the tool."""
        folder = self._new(tool)
        job = {
            **SETTINGS,
            "text": str(text.path),
            "folder": str(folder),
            "threads": self._options.threads,
            "seed": seed,
        }
        if tool == "unhot":
            name = "glove_unhot"
            own = {"memory": self._options.memory}
        else:
            name = "glove_programs"
            own = {"memory": self._options.gigabytes, "programs": str(self._programs[tool])}
        done, answer = child(name, {**job, "iterations": iterations, **own})
        return {
            "tool": tool,
            "seed": seed,
            "vocabulary": answer["vocabulary"],
            "cells": answer["cells"],
            "iterations": iterations,
            **{stage: round(answer[stage], 3) for stage in STAGES},
            "iteration_seconds": round(statistics.median(answer["iterations"]), 3),
            "total_seconds": round(done.seconds, 2),
            "peak_mb": round(done.peak_mb),
            "others_cores": done.others_text(),
            "loss": round(answer["loss"], 6),
            **(self._score(answer["vectors"]) if score else {}),
        }

    def _score(self, vectors: str) -> dict[str, Any]:
        """Score vectors with the given files, and compare their nearest words with PPMI's."""
        job = {"vectors": vectors, "asked": list(self._theirs), **evaluation_files(self._options)}
        scores = child("score_vectors", job)[1]
        nearest = scores.pop("nearest")
        return {**scores, "overlap": overlap(nearest, self._theirs)}

    def _compare(self, program: str) -> None:
        """The counts of the last round."""
        theirs = self._folder / program
        files = {
            "ours": self._folder / "unhot" / "cells",
            "theirs": theirs / "cells.bin",
            "vocabulary": theirs / "vocab.txt",
        }
        found = child("compare_cells", {name: str(file) for name, file in files.items()})[1]
        self._add("counts", 0, {"tool": "unhot", **found})

    def _count(self) -> None:
        """Co-occurrences alone, with each budget."""
        budgets = [budget for budget in self._options.budgets.split(",") if budget]
        if not budgets:
            return
        corpus, threads = str(self._folder / "corpus"), self._options.threads
        encoding = {
            "text": str(self._text.path),
            "min_count": SETTINGS["min_count"],
            "threads": threads,
            "directory": corpus,
        }
        child("encode_unhot", encoding)
        for number, budget in rounds(1, budgets):
            how = {
                "window": SETTINGS["window"],
                "threads": threads,
                "memory": budget,
                "folder": str(self._new("cells") / "cells"),
            }
            done, answer = child("count_cells", {"corpus": corpus, **how})
            row = {
                **answer,
                "cells_seconds": round(answer["cells_seconds"], 3),
                "buffers_mb": round(answer["buffers_mb"]),
            }
            run = {
                "total_seconds": round(done.seconds, 2),
                "peak_mb": round(done.peak_mb),
                "others_cores": done.others_text(),
            }
            self._add("budget", number, {"tool": "unhot", "budget": budget, **row, **run})


if __name__ == "__main__":
    main()
