"""Damage files of every kind that unhot reads, and read them: whole results or errors of unhot, nothing else.

    python tools/fuzz.py [--inputs 100000] [--jobs 2] [--seed 1] [--reader NAME ...]

fuzz_cases.py says what counts as a bug; the docstring of readers/__init__.py lists the readers. Each reader
is a process of its own, so that a crash is told from an error; after a crash, the reader goes on with its
next case in a new process. The same seed damages the same bytes: `--reader NAME --case N` runs one case again
and shows its files and its traceback.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import logging
import random
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, pairwise
from pathlib import Path

from fuzz_cases import KINDS, Cases, limit_address_space, run, write_files
from readers import READERS

MOST_CRASHES = 5  # a reader that crashes more often is given up
# files in memory, where a system has them
QUICK = next((path for path in (Path("/dev/shm"),) if path.is_dir()), None)
COLUMNS = (*KINDS, "bug", "crash")
HEADS = ("inputs", "whole", "FormatE.", "DataE.", "ConfigE.", "bugs", "crashes", "seconds")


def main() -> None:
    """Run all readers and print a table; the exit code is 1 if there was a bug."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="over all readers")
    parser.add_argument("--jobs", type=int, default=1, help="readers at the same time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", nargs="*", default=list(READERS), choices=list(READERS))
    parser.add_argument("--case", type=int, help="one case of one reader, with its files and traceback")
    parser.add_argument("--child", type=int, nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case is not None:
        show(options.reader[0], options.seed, options.case)
    elif options.child is not None:
        work(options.reader[0], options.seed, range(*options.child), options.folder)
    else:
        sys.exit(0 if run_all(options.reader, options.seed, options.inputs, options.jobs) else 1)


def show(name: str, seed: int, number: int) -> None:
    """Run one case again."""
    with tempfile.TemporaryDirectory() as folder:
        cases = Cases(name, seed, Path(folder))
        which, files, how = cases.case(number)
        for file, data in files.items():
            whole = data == cases.seeds[which].get(file)
            print(f"{file}{'' if whole else ' (damaged)'}: {data[:5000]!r}")
        shutil.rmtree(cases.home(which))
        write_files(cases.home(which), files)
        print(READERS[name].read(cases.home(which), random.Random(how)) or "whole")


def work(name: str, seed: int, numbers: range, folder: Path) -> None:
    """Run the cases of a reader and print the results as JSON; this is the child process."""
    faulthandler.enable()
    logging.getLogger("unhot").setLevel(logging.ERROR)  # words that occur twice
    tempfile.tempdir = str(folder)  # what a reader writes goes into memory, too
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ResourceWarning)
    cases = Cases(name, seed, folder / "cases")
    limit_address_space()
    print(json.dumps(run(cases, numbers, folder / "progress")))


def run_child(name: str, seed: int, numbers: range) -> tuple[Counter[str], list[str], int]:
    """Run cases in a process; return what became of them, lines about bugs, and the first case not run."""
    with tempfile.TemporaryDirectory(dir=QUICK) as folder:  # made here, so that a crash leaves nothing behind
        command = [sys.executable, __file__, "--reader", name, "--seed", str(seed), "--folder", folder]
        command += ["--child", str(numbers.start), str(numbers.stop)]
        done = subprocess.run(command, capture_output=True, text=True)
        *bugs, last = done.stdout.splitlines() or [""]
        if done.returncode == 0:
            return Counter(json.loads(last)), bugs, numbers.stop
        progress = Path(folder, "progress")
        number, before = json.loads(progress.read_bytes()) if progress.exists() else (numbers.stop - 1, {})
    crash = f"{name} case {number}: crash, exit code {done.returncode}"
    return (
        Counter(before) + Counter(crash=1),
        [*bugs, last, crash, *done.stderr.splitlines()[:20]],
        number + 1,
    )


def run_reader(name: str, seed: int, inputs: int) -> tuple[Counter[str], list[str], float]:
    """Run all cases of a reader; return what became of them, lines about bugs, and the seconds."""
    start, first = time.perf_counter(), 0
    results: Counter[str] = Counter()
    lines: list[str] = []
    while first < inputs and results["crash"] < MOST_CRASHES:
        some, said, first = run_child(name, seed, range(first, inputs))
        results += some
        lines += said
    return results, lines, time.perf_counter() - start


def shares(names: list[str], inputs: int) -> list[int]:
    """Return how many inputs each reader gets: the sum is `inputs`."""
    ends = list(accumulate(READERS[name].share for name in names))
    cuts = [0, *(round(inputs * end / ends[-1]) for end in ends)]
    return [end - begin for begin, end in pairwise(cuts)]


def run_all(names: list[str], seed: int, inputs: int, jobs: int) -> bool:
    """Run every reader and print a line for each; return whether all went well."""
    print(f"{'reader':18}" + "".join(f"{head:>9}" for head in HEADS))
    total: Counter[str] = Counter()
    began = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        done = pool.map(lambda name, share: run_reader(name, seed, share), names, shares(names, inputs))
        for name, (results, lines, seconds) in zip(names, done, strict=True):
            for line in lines[:40]:
                print(f"  {line[:500]}")
            print(row(name, results, seconds), flush=True)
            total += results
    print(row("all", total, time.perf_counter() - began))
    return not total["bug"] and not total["crash"]


def row(name: str, results: Counter[str], seconds: float) -> str:
    """Return a line of the table."""
    figures = "".join(f"{results[kind]:>9}" for kind in COLUMNS)
    return f"{name:18}{sum(results.values()):>9}{figures}{seconds:>9.1f}"


if __name__ == "__main__":
    main()
