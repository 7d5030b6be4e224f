"""Time and memory that a log takes: to read, sort and encode it, and to count skip-markov on it.

    python benchmarks/logs.py [--rows 10000000] [--threads 2] [--folder DIR]

Writes a CSV of user,item,time (100,000 users, 50,000 items, some of which are frequent) into a temporary
folder, reads a small one first, so that all kernels are compiled, then reads the big one in a process of its
own, and prints a line of JSON: rows, bytes, seconds, rows a second, peak memory. `events_seconds` is reading
alone, `seconds` is all of `read_log`; the peak before skip-markov is `reading_peak_mb`.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

from harness import child

CHUNK = 100_000  # rows written at a time
USERS, ITEMS = 100_000, 50_000
START = 1_600_000_000  # seconds


def main() -> None:
    """Parse, write the log, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where the log is written")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        small, whole = Path(folder, "small.csv"), Path(folder, "log.csv")
        write_log(small, 20_000)
        measure(small, options.threads)
        write_log(whole, options.rows)
        print(json.dumps(measure(whole, options.threads)))


def write_log(path: Path, rows: int) -> None:
    """Write a log whose times rise."""
    rng = random.Random(1)
    with path.open("w", encoding="ascii") as file:
        file.write("user,item,time\n")
        for first in range(0, rows, CHUNK):
            lines = (
                f"u{int(USERS * rng.random())},i{int(ITEMS * rng.random() ** 2)},{START + row}\n"
                for row in range(first, min(first + CHUNK, rows))
            )
            file.write("".join(lines))


def measure(log: Path, threads: int) -> dict[str, Any]:
    """Read a log in a process of its own."""
    run, answer = child("read_log", {"path": str(log), "threads": threads})
    rate = round(answer["rows"] / answer["seconds"])
    return {**answer, "bytes": log.stat().st_size, "rows_per_second": rate, **run.columns()}


if __name__ == "__main__":
    main()
