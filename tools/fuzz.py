"""Damage files of every format and read them.

A reader gives a table or an error that says where, and nothing else.

    python tools/fuzz.py [--inputs 100000] [--seed 1] [--format NAME ...]

No other exception, no crash, nothing slower than a second, no memory above 10 times the file and 1 MB (as
tracemalloc and pyarrow's pool count it). Each format is a process of its own, so that a crash is told from an
error and ends only its format. The same seed damages the same bytes; `--format NAME --case N` runs one of
them again and shows its traceback.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import random
import re
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
from damage import Files, damaged, seeds

from unhot.errors import ConfigError, DataError, FormatError
from unhot.vectors.formats import FORMATS, WORDLESS, read_table
from unhot.vectors.formats.floret import read_floret

ENDINGS = {name: next(iter(form.endings), "") for name, form in FORMATS.items()} | WORDLESS
SECONDS = 1.0
WATCHED, HANG = 100, 120  # so many cases that take longer, in seconds, hang
# files in memory, where a system has them
QUICK = next((path for path in (Path("/dev/shm"),) if path.is_dir()), None)
GROWTH, SLACK = 10, 1 << 20
POSITION = re.compile(r"\b(byte|bytes|row|rows|line) [0-9]")


def warm_up(folder: Path) -> None:
    """Reach every kernel: a damaged file may look like another format."""
    for name, data in (
        ("glove", b"a 1 nan\n"),
        ("word2vec-text", b"1 1\na 1\n"),
        ("word2vec-binary", b"1 1\na \0\0\0\0"),
    ):
        (folder / name).write_bytes(data)
        read_table(folder / name)


class Readers:
    """Damaged files of one format, numbered."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        """Write the files that are not damaged, and read them once.

        Kernels are compiled, modules imported.
        """
        self.name, self.seed, self.folder = name, seed, folder / "case"
        self.seeds = seeds(name, folder)
        self.ending = ENDINGS[name]
        for files in self.seeds:
            self.read(files, random.Random(0))
        warm_up(folder)

    def case(self, number: int) -> tuple[Files, random.Random]:
        """The files of a case."""
        rng = random.Random(f"{self.seed} {self.name} {number}")
        return damaged(rng.choice(self.seeds), self.seeds, rng), rng

    def read(self, files: Files, rng: random.Random) -> str:
        """Read files: `table` or the name of the error."""
        for file, data in files.items():
            path = self.folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        limit, bad_utf8 = (
            rng.choice([None, None, 0, 3, 10**12]),
            rng.choice(["escape", "escape", "error", "replace"]),
        )
        name = self.name if rng.random() < 0.7 else None  # or what it looks like
        path = self.folder / f"x{self.ending}"
        try:
            if self.name in WORDLESS:
                pieces = read_floret(path)
                return (
                    "table"
                    if pieces.vector("where").shape == (pieces.dim,)
                    else f"vectors of {pieces.dim} numbers"
                )
            table = read_table(path, name, limit=limit, bad_utf8=bad_utf8)
        except (FormatError, DataError, ConfigError) as error:
            if isinstance(error, FormatError) and not POSITION.search(str(error)):
                return f"no position in {error}"
            return type(error).__name__
        rows = len(table.words)
        whole = (
            table.vectors.shape[0] == rows
            and table.vectors.dtype == np.float32
            and (table.counts is None or len(table.counts) == rows)
        )
        return "table" if whole else f"{rows} words, vectors {table.vectors.shape}"

    def check(self, number: int) -> str:
        """Run a case: `table`, an error's name, or what is wrong."""
        files, rng = self.case(number)
        size = sum(map(len, files.values()))
        # not the clock on the wall: others may keep the processor busy
        pool, before = pool_peak(), time.process_time()
        tracemalloc.reset_peak()
        base = tracemalloc.get_traced_memory()[0]
        try:
            result = self.read(files, rng)
        except Exception as error:
            return f"bug: {type(error).__name__}: {error}"
        seconds = time.process_time() - before
        peak = max(tracemalloc.get_traced_memory()[1] - base, pool_peak() if pool_peak() > pool else 0)
        if seconds > SECONDS:
            return f"bug: {seconds:.1f} s"
        if peak > GROWTH * size + SLACK:
            return f"bug: {peak} bytes of memory for {size} bytes of files"
        return result if result in ("table", "FormatError", "DataError", "ConfigError") else f"bug: {result}"


def pool_peak() -> int:
    """The most memory that pyarrow has held, if it is there."""
    arrow = sys.modules.get("pyarrow")
    return int(arrow.default_memory_pool().max_memory() or 0) if arrow else 0


def run(name: str, seed: int, numbers: range, folder: Path) -> Counter[str]:
    """What became of the cases of one format; bugs are printed.

    The file `progress` in the folder says which case it was, after a crash.
    """
    results: Counter[str] = Counter()
    readers = Readers(name, seed, folder)
    tracemalloc.start()
    try:
        for number in numbers:
            if number % WATCHED == 0:
                faulthandler.dump_traceback_later(HANG, exit=True, file=2)
            (folder / "progress").write_text(str(number), encoding="ascii")
            result = readers.check(number)
            results[result.partition(":")[0]] += 1
            if result.startswith("bug"):
                print(f"{name} case {number}: {result[:500]}", flush=True)
    finally:
        faulthandler.cancel_dump_traceback_later()
        tracemalloc.stop()
    return results


def main() -> None:
    """Run all formats, print a table; exit code 1 if there was a bug."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="over all formats")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", nargs="*", default=list(ENDINGS), choices=list(ENDINGS))
    parser.add_argument("--case", type=int, help="one case of one format, with its traceback")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory() as folder:
            readers = Readers(options.format[0], options.seed, Path(folder))
            files, rng = readers.case(options.case)
            print(files, "\n", readers.read(files, rng))
    elif options.child is not None:
        faulthandler.enable()
        logging.getLogger("unhot").setLevel(logging.ERROR)  # words that occur twice
        print(json.dumps(run(options.format[0], options.seed, range(options.child), options.folder)))
    else:
        sys.exit(0 if run_all(options.format, options.seed, options.inputs) else 1)


def run_child(name: str, seed: int, inputs: int) -> tuple[Counter[str], list[str]]:
    """What became of a format's cases, and lines about what went wrong."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:  # made here, so that a crash leaves nothing behind
        command = [
            sys.executable,
            __file__,
            "--format",
            name,
            "--seed",
            str(seed),
            "--child",
            str(inputs),
            "--folder",
            folder,
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        *bugs, last = done.stdout.splitlines() or [""]
        if done.returncode == 0:
            return Counter(json.loads(last)), bugs
        progress = Path(folder, "progress")
        case = progress.read_text(encoding="ascii") if progress.exists() else "none"
        return Counter({"crash": 1}), [
            *bugs,
            last,
            f"crash in case {case}, exit code {done.returncode}",
            *done.stderr.splitlines()[:20],
        ]


def run_all(names: list[str], seed: int, inputs: int) -> bool:
    """A process for each format; whether all went well."""
    kinds = ("table", "FormatError", "DataError", "ConfigError", "bug", "crash")
    print(
        f"{'format':16}{'inputs':>9}{'table':>9}{'FormatE.':>9}{'DataE.':>9}{'ConfigE.':>9}{'bugs':>9}{'crashes':>9}{'seconds':>9}"
    )
    total: Counter[str] = Counter()
    for position, name in enumerate(names):
        share = inputs // len(names) + (position < inputs % len(names))
        start = time.perf_counter()
        results, lines = run_child(name, seed, share)
        for line in lines[:40]:
            print(f"  {line[:500]}")
        figures = "".join(f"{results[kind]:>9}" for kind in kinds)
        print(f"{name:16}{sum(results.values()):>9}{figures}{time.perf_counter() - start:>9.1f}", flush=True)
        total += results
    print(f"{'all':16}{sum(total.values()):>9}{''.join(f'{total[kind]:>9}' for kind in kinds)}")
    return not total["bug"] and not total["crash"]


if __name__ == "__main__":
    main()
