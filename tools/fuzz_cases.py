"""Damaged files of one reader: write them, read them, and judge what became of it.

A reader gives a whole result or an error of unhot. Anything else is a bug: another exception, an error that
does not say where (if its reader promises that), more than a second of the processor's time, or more memory
than ten times the files, unpacked, and the reader's slack.

Every case runs under a limit of address space, and the system tells the most memory the process has ever
held. Memory is traced exactly, which takes four times as long, in each eighth case, and again in a case that
raised that mark: the sum of the most that Python and NumPy held and the most that Arrow held.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import re
import shutil
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from damage import damaged
from readers import READERS
from readers.reader import Files, Reader

from unhot.errors import ConfigError, DataError, FormatError
from unhot.rows.streams import compression, decompress

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS = 1.0
GROWTH = 10
WARM_UP = 6  # times that each file is read in the beginning
TRACED = 8  # memory is traced in one of so many cases
ROOM = 1 << 31  # bytes of address space that a case may take
UNTRACED = 1 << 26  # bytes that the process may grow by although a second run of the case needs less
HANG, TOGETHER = 120, 100  # so many cases that take longer together, in seconds, hang
POSITION = re.compile(r"\b(byte|bytes|row|rows|line) [0-9]")
POOLS: list[object] = []  # of pyarrow, whose arrays do not hold the pool that they give their memory back to
KINDS = ("whole", "FormatError", "DataError", "ConfigError")


class Cases:
    """Damaged files of one reader, numbered; the same seed and number give the same files."""

    def __init__(self, name: str, seed: int, folder: Path) -> None:
        """Write the files that are not damaged, and read them in many ways: this compiles all kernels."""
        self.reader: Reader = READERS[name]
        self.seed, self.folder = seed, folder
        made = folder / "made"
        made.mkdir(parents=True)
        self.seeds = self.reader.seeds(made)
        shutil.rmtree(made)
        for which, files in enumerate(self.seeds):
            write_files(self.home(which), files)
        # for each seed, what became of it
        self.undamaged = [
            {self.read(which, WARM_UP * which + way) for way in range(WARM_UP)}
            for which in range(len(self.seeds))
        ]

    def home(self, which: int) -> Path:
        """Return the folder of a seed's files."""
        return self.folder / str(which)

    def case(self, number: int) -> tuple[int, Files, float]:
        """Return which seed a case damages, its files, and the start of the reader's random stream."""
        rng = random.Random(f"{self.seed} {self.reader.name} {number}")
        which = rng.randrange(len(self.seeds))
        return which, damaged(self.seeds[which], self.seeds, rng), rng.random()

    def check(self, number: int) -> str:
        """Run a case; return `whole`, the name of an error, or what is wrong."""
        which, files, how = self.case(number)
        whole, size = self.seeds[which], sum(map(unpacked_size, files.values()))
        changed = {name: data for name, data in files.items() if data is not whole.get(name)}
        gone = whole.keys() - files.keys()
        for name in gone:
            (self.home(which) / name).unlink()
        write_files(self.home(which), changed)
        try:
            return self._judged(which, how, GROWTH * size + self.reader.slack, number % TRACED == 0)
        finally:
            write_files(self.home(which), {name: whole[name] for name in (*changed, *gone) if name in whole})

    def _judged(self, which: int, how: float, most: int, traced: bool) -> str:
        mark = _mark()
        before = time.process_time()  # not the clock on the wall: others may keep the processor busy
        try:
            peak, result = self._traced(which, how) if traced else (0, self.read(which, how))
        except Exception as error:
            return f"bug: {type(error).__name__}: {error}"
        seconds = time.process_time() - before
        if seconds > SECONDS:
            return f"bug: {seconds:.1f} s"
        risen = _mark() - mark
        if risen > most and not traced:
            return self._judged(which, how, most, traced=True)
        peak = max(peak, risen - UNTRACED)
        if peak > most:
            return f"bug: {peak:,} bytes of memory, more than {most:,}"
        return result if result in KINDS else f"bug: {result}"

    def _traced(self, which: int, how: float) -> tuple[int, str]:
        with arrow_peak() as arrow:
            tracemalloc.start()
            try:
                result = self.read(which, how)
                return tracemalloc.get_traced_memory()[1] + arrow(), result
            finally:
                tracemalloc.stop()

    def read(self, which: int, how: float) -> str:
        """Read the files of a seed as they are now: `whole`, the name of the error, or what is wrong."""
        try:
            return self.reader.read(self.home(which), random.Random(how)) or "whole"
        except (FormatError, DataError, ConfigError) as error:
            if self.reader.says_where and isinstance(error, FormatError) and not POSITION.search(str(error)):
                return f"no position in {error}"
            return next(
                kind.__name__ for kind in (FormatError, DataError, ConfigError) if isinstance(error, kind)
            )


def write_files(folder: Path, files: Files) -> None:
    """Write files into a folder."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _mark() -> int:
    """Return the most memory that this process has ever held, in bytes."""
    if resource is None:
        return 0
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)


@contextlib.contextmanager
def arrow_peak() -> Iterator[Callable[[], int]]:
    """Give what returns the most memory that Arrow has held since the beginning of the block, in bytes."""
    import pyarrow

    before = pyarrow.default_memory_pool()
    pool = pyarrow.proxy_memory_pool(before)
    POOLS.append(pool)
    pyarrow.set_memory_pool(pool)
    try:
        yield lambda: int(pool.max_memory() or 0)
    finally:
        pyarrow.set_memory_pool(before)


def unpacked_size(data: bytes) -> int:
    """Return how many bytes a file has when it is unpacked, as far as it can be."""
    size, stream = 0, decompress(kind, io.BytesIO(data)) if (kind := compression(data[:10])) else None
    with contextlib.suppress(Exception):  # it is damaged
        while stream is not None and (piece := stream.read(1 << 20)):
            size += len(piece)
    return max(size, len(data))


def limit_address_space() -> None:
    """Make an allocation of more than `ROOM` bytes a `MemoryError`, where the system can do that."""
    pages = Path("/proc/self/statm")
    if resource is not None and pages.exists():
        taken = int(pages.read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))


def run(cases: Cases, numbers: range, progress: Path) -> Counter[str]:
    """Return what became of cases, and print the bugs.

    The file `progress` holds the number of the current case and the results before it, for after a crash. A
    process whose next cases take too long ends itself.
    """
    results: Counter[str] = Counter()
    with progress.open("wb", 0) as file:
        for number in numbers:
            if number % TOGETHER == 0:
                faulthandler.dump_traceback_later(HANG, exit=True, file=2)
            file.seek(0)
            file.write(json.dumps([number, results]).ljust(300).encode())
            result = cases.check(number)
            results[result.partition(":")[0]] += 1
            if result.startswith("bug"):
                print(f"{cases.reader.name} case {number}: {result[:500]}", flush=True)
    faulthandler.cancel_dump_traceback_later()
    return results
