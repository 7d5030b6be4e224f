"""A plugin of pytest for tools/quick.py: run the nearest tests first, and none after a deadline.

Tests after the deadline are not run, and the last line says how many: they are neither passed nor skipped. It
works with the processes of xdist, which learn order and deadline from the environment.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

ORDER = "UNHOT_QUICK_ORDER"  # files and ids, one per line, the nearest first
DEADLINE = "UNHOT_QUICK_DEADLINE"  # of the monotonic clock, which all processes of a machine share


class Nearest:
    """The order, the deadline, and how many tests ran before it."""

    def __init__(self, order: list[str], deadline: float) -> None:
        self.ranks = {place: rank for rank, place in reversed(list(enumerate(order)))}
        self.deadline = deadline
        self.ran = 0
        self.left_out = 0

    def rank(self, test: str) -> int:
        """Return the place of a test in the order: the first of its id, its function and its file.

        A test that only pytest's own options name has no place, and comes first.
        """
        places = (test, test.partition("[")[0], test.partition("::")[0])
        return min((self.ranks[place] for place in places if place in self.ranks), default=-1)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests."""
        items.sort(key=lambda item: self.rank(item.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self) -> bool | None:
        """Leave out a test whose turn comes too late."""
        if time.monotonic() < self.deadline:
            return None
        self.left_out += 1
        return True

    def pytest_runtest_logfinish(self) -> None:
        """Count a test that ran."""
        self.ran += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Tell the process that started this one, if it is one of xdist's."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = self.left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add what a process of xdist has left out."""
        self.left_out += getattr(node, "workeroutput", {}).get("left_out", 0)

    def pytest_unconfigure(self, config: pytest.Config) -> None:
        """Say how many tests ran."""
        if not hasattr(config, "workeroutput"):
            late = f"; {self.left_out:,} farther ones were left out for lack of time: make test runs them"
            print(f"{self.ran:,} tests ran{late if self.left_out else ''}")


def pytest_configure(config: pytest.Config) -> None:
    """Begin with what the environment says."""
    nearest = Nearest(os.environ[ORDER].splitlines(), float(os.environ[DEADLINE]))
    config.pluginmanager.register(nearest, "nearest")
