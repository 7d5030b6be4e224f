"""From text to vectors with Stanford's C programs, one after the other.

Seconds of each, and of each iteration.

glove prints a line for each iteration, at once; when it arrives, the iteration is over. The peak memory of
this process, as the system counts it, is that of the largest program.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

job = json.loads(sys.argv[1])
programs, folder = Path(job["programs"]).resolve(), Path(job["folder"])
vocabulary, cells, shuffled, vectors = (
    folder / name for name in ("vocab.txt", "cells.bin", "shuffled.bin", "vectors")
)
seconds: dict[str, float] = {}


def command(program: str, **options: Any) -> list[str]:
    """A command line: memory_limit=8 is -memory-limit 8."""
    parts = [str(part) for name, value in options.items() for part in (f"-{name.replace('_', '-')}", value)]
    return [str(programs / program), *parts, "-verbose", "1"]


def piped(program: str, source: Path, target: Path, **options: Any) -> None:
    """Run a program from one file to another."""
    start = time.perf_counter()
    with source.open("rb") as taken, target.open("wb") as given:
        subprocess.run(
            command(program, **options), stdin=taken, stdout=given, stderr=subprocess.DEVNULL, check=True
        )
    seconds[program] = time.perf_counter() - start


def train() -> tuple[list[float], list[float]]:
    """The seconds and the cost of each iteration."""
    options = {name: job[name] for name in ("x_max", "alpha", "threads", "seed")}
    files = {"input_file": shuffled, "vocab_file": vocabulary, "save_file": vectors}
    full = command("glove", **files, vector_size=job["dim"], iter=job["iterations"], eta=job["lr"], **options)
    took, costs = [], []
    start = last = time.perf_counter()
    with subprocess.Popen(full, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr or ():
            now = time.perf_counter()
            found = re.search(r"iter: *\d+, cost: ([-\w.]+)", line)
            if found:
                took.append(now - last)
                costs.append(float(found[1]))
            last = now
    if process.returncode or len(took) != job["iterations"]:
        raise SystemExit(f"glove ended with {process.returncode} after {len(took)} iterations")
    seconds["glove"] = time.perf_counter() - start
    return took, costs


memory = {"memory": job["memory"]}
piped("vocab_count", Path(job["text"]), vocabulary, min_count=job["min_count"])
counting = {"vocab_file": vocabulary, "window_size": job["window"], "overflow_file": folder / "overflow"}
piped("cooccur", Path(job["text"]), cells, **counting, **memory)
piped("shuffle", cells, shuffled, temp_file=folder / "shuffle", seed=job["seed"], **memory)
took, costs = train()
answer = {
    "vocabulary_seconds": seconds["vocab_count"],
    "cells_seconds": seconds["cooccur"],
    "order_seconds": seconds["shuffle"],
    "rest_seconds": seconds["glove"] - sum(took),
    "iterations": took,
    "loss": costs[-1],
    "cells": cells.stat().st_size // 16,
    "vocabulary": vocabulary.read_bytes().count(b"\n"),
    "vectors": f"{vectors}.txt",
}
sys.stdout.write(json.dumps(answer) + "\n")
