"""How every benchmark measures: run a child in a process of its own, and let tools take turns.

Two rules make the figures comparable:

- *One process for each run.* Its peak memory is then its own. Linux counts the parent's memory at the moment
  of the fork as the child's, so the parent imports nothing but the standard library and holds no text. (A
  peak below the parent's 20 MB is not seen.)
- *Round by round.* A round runs every tool once, and each round starts with another tool. Machines get slower
  and faster over the minutes; the ratio of two runs of the same round hardly notices. So a comparison is the
  median of the ratios, not the ratio of the medians.

Neither helps against another job that comes and goes within a round. It hits long runs more surely than short
ones, and so flatters the fast tool. Each row therefore says how many cores other processes used during the
run, and the page warns if that was too much (`report.py`).
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

BENCHMARKS = Path(__file__).resolve().parent
ROOT = BENCHMARKS.parent
RESULTS = ROOT / "docs" / "results"

# A run uses as many threads as it was told to, and no others.
ONE_BLAS_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}

SHORT = 0.5  # seconds; the clock of busy cores has steps of 10 ms, too coarse for a shorter run


class ChildFailed(RuntimeError):
    """A benchmarked command did not do what it should."""


class Run(NamedTuple):
    """What one process took."""

    seconds: float  # from before the start of the process to its end
    peak_mb: float  # most memory it held; pages of mapped files count
    output: str
    others_cores: float | None  # cores that other processes kept busy meanwhile; None if not known

    def others_text(self) -> str:
        """`others_cores` for a CSV file."""
        return "" if self.others_cores is None else f"{self.others_cores:.2f}"

    def columns(self) -> dict[str, Any]:
        """What a CSV file says of it."""
        return {
            "total_seconds": round(self.seconds, 3),
            "peak_mb": round(self.peak_mb, 1),
            "others_cores": self.others_text(),
        }


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: this working copy of unhot is the one that is imported."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, **ONE_BLAS_THREAD, "PYTHONPATH": os.pathsep.join(paths), **(extra or {})}


def run(
    command: Sequence[str], *, extra: Mapping[str, str] | None = None, watch: Callable[[], None] | None = None
) -> Run:
    """Run a command in a process of its own. `watch` is called while it runs.

    `extra` adds to its environment.
    """
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        start, busy = time.perf_counter(), busy_seconds()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment(extra))
        status, usage = _wait(process.pid, watch)
        seconds, busy_now = time.perf_counter() - start, busy_seconds()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise ChildFailed(
                f"exit code {process.returncode} of: {' '.join(command)}\n{errors.read()[-4000:]}"
            )
        output.seek(0)
        others = None
        if busy is not None and busy_now is not None and seconds >= SHORT:
            others = max(0.0, busy_now - busy - usage.ru_utime - usage.ru_stime) / seconds
        return Run(seconds, _megabytes(usage.ru_maxrss), output.read(), others)


def busy_seconds() -> float | None:
    """Seconds that all cores together have worked since the machine started.

    None where the system does not tell.
    """
    lines = _lines("/proc/stat")
    if not lines:
        return None
    # user, nice, system, idle, waiting for disk, interrupts, soft interrupts, stolen by other machines
    times = [int(part) for part in lines[0].split()[1:9]]
    return (sum(times) - times[3] - times[4]) / os.sysconf("SC_CLK_TCK")


def _wait(pid: int, watch: Callable[[], None] | None) -> tuple[int, Any]:
    """The exit status and the resources of a process."""
    while watch is not None:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage
        watch()
        time.sleep(0.002)
    return os.wait4(pid, 0)[1:]


def _megabytes(peak: float) -> float:
    """Linux counts kilobytes, macOS bytes."""
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


def child(
    name: str,
    parameters: Mapping[str, Any],
    *,
    extra: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> tuple[Run, dict[str, Any]]:
    """Run `children/<name>.py`: parameters go in as JSON, its answer comes back as one line of JSON.

    `extra` adds to its environment.
    """
    script = BENCHMARKS / "children" / f"{name}.py"
    done = run([python, str(script), json.dumps(parameters)], extra=extra)
    return done, json.loads(done.output.splitlines()[-1])


def rounds(count: int, names: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(round, name) for every name in every round; each round starts one name further on."""
    for number in range(count):
        shift = number % len(names)
        for name in (*names[shift:], *names[:shift]):
            yield number + 1, name


def commit(checkout: Path = ROOT) -> str:
    """The commit of a working copy, with a + if files differ from it (results apart)."""
    git = ["git", "--no-optional-locks", "-C", str(checkout)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", ".", ":!docs/results"], check=True, capture_output=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed.strip() else "")


def machine() -> str:
    """Processor, cores and memory, in a line."""
    lines = _lines("/proc/cpuinfo")
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    name = names[0] if names else platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}"


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []


def say(message: str) -> None:
    """Tell whoever waits for the benchmark."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
