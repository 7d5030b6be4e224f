"""The memory that a training needs, computed before its matrices are allocated."""

import os
from collections.abc import Mapping
from pathlib import Path

from unhot.errors import DataError
from unhot.sizes import readable

CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Return the bytes that can still be used, also inside a container (cgroup 2).

    Return None if the platform does not say.
    """
    limits = []
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        if "MemAvailable" in fields:
            limits.append(int(fields["MemAvailable"].split()[0]) * 1024)
    elif hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        limit = int((CGROUP / "memory.max").read_text())  # reads "max" if there is no limit
        statistics = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
        # the system drops cached files when it needs memory
        files = int(statistics["inactive_file"]) + int(statistics["active_file"])
        limits.append(limit - int((CGROUP / "memory.current").read_text()) + files)
    except (OSError, ValueError, KeyError):
        pass
    return min(limits) if limits else None


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
