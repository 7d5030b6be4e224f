"""The memory that a training needs, computed before its matrices are allocated."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from unhot.errors import DataError
from unhot.sizes import readable

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

CGROUP = Path("/sys/fs/cgroup")
PROCESS = Path("/proc/self")
# files of a group of processes, cgroup 2 and 1: its limit, what it uses, and the cached files within that,
# which the system drops when it needs memory
GROUPS = (
    ("memory.max", "memory.current", ("inactive_file", "active_file")),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")),
)


def available_memory() -> int | None:
    """Return the bytes that this process can still use: of the machine, its container, and `ulimit -v`.

    Return None if the platform does not say.
    """
    limits = [*_machine_memory(), *_group_memory(), *_address_space()]
    return max(0, min(limits)) if limits else None


def _machine_memory() -> Iterator[int]:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in fields:
            yield int(fields["MemAvailable"].split()[0]) * 1024
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _group_memory() -> Iterator[int]:
    """Yield what is left in the groups of this process, each inside the next; a container is such a group."""
    own = []
    with suppress(OSError):
        own = [line.split(":", 2)[2].strip("/") for line in (PROCESS / "cgroup").read_text().splitlines()]
    for root in (CGROUP, CGROUP / "memory"):
        inner = (place for name in own for place in ((root / name), *(root / name).parents))
        for place in {root, *(place for place in inner if place.is_relative_to(root))}:
            for limit, used, cached in GROUPS:
                with suppress(OSError, ValueError, KeyError):  # "max" if there is no limit
                    most = int((place / limit).read_text())
                    facts = dict(line.split() for line in (place / "memory.stat").read_text().splitlines())
                    files = sum(int(facts[name]) for name in cached)
                    yield most - int((place / used).read_text()) + files


def _address_space() -> Iterator[int]:
    """Yield what `ulimit -v` leaves to this process."""
    if resource is not None and (PROCESS / "statm").exists():
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            yield limit - int((PROCESS / "statm").read_text().split()[0]) * resource.getpagesize()


def out_of_memory(error: Exception) -> bool:
    """Return whether an error says that there is no memory left; PyTorch and threads have no type for it."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    told = "can't start new thread", "can't allocate memory", "failed to map segment"
    return isinstance(error, MemoryError) or any(text in str(error) for text in told)


def describe(plan: Mapping[str, int]) -> str:
    """Describe the plan in one line."""
    parts = ", ".join(f"{name} {readable(size)}" for name, size in plan.items())
    return f"{readable(sum(plan.values()))} ({parts})"


def check_plan(plan: Mapping[str, int], words: int, dim: int) -> None:
    """Refuse a plan that does not fit into memory, and suggest what to change."""
    needed, free = sum(plan.values()), available_memory()
    if free is not None and needed > free:
        smaller = "a smaller dim or batch" if "a batch" in plan else "a smaller dim"
        raise DataError(
            f"training {words:,} words with dim={dim} needs {describe(plan)}, but {readable(free)} of "
            "memory is free: "
            f"raise min_count, set max_vocab (about {max(1, int(words * free / needed * 0.8)):,} words "
            f"fit), or use {smaller}"
        )
