"""What the children of `tower_peers.py` share: the split, a clock, lists of recommendations, the answer.

Needs numpy alone, because each child runs in the Python environment of its tool.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LISTED = 20  # recommendations for each user
BLOCK = 512  # users whose scores are held at a time


class Split:
    """The histories of users and the item that came next, as numbers of items.

    A line of `histories.txt` is a user and then items, oldest first; a line of `targets.txt` is one item.
    """

    def __init__(self, folder: str) -> None:
        """Read the two files that `split_histories.py` wrote."""
        self.file = Path(folder) / "histories.txt"
        lines = self.file.read_text(encoding="utf-8").splitlines()
        self.histories = [[*map(int, line.split()[1:])] for line in lines]
        self.targets = [*map(int, (Path(folder) / "targets.txt").read_text(encoding="utf-8").split())]
        self.items = 1 + max(*self.targets, *map(max, self.histories))

    def events(self, *, with_targets: bool) -> dict[str, NDArray[np.int64]]:
        """Return rows of user, item and place; with targets: the target is the last event of each user."""
        lines = self.histories
        if with_targets:
            lines = [[*line, target] for line, target in zip(lines, self.targets, strict=True)]
        sizes = [*map(len, lines)]
        return {
            "user": np.repeat(np.arange(len(lines)), sizes),
            "item": np.concatenate([np.array(line) for line in lines]),
            "place": np.concatenate([np.arange(size) for size in sizes]),
        }

    def best_unseen(self, score: Callable[[range], Any]) -> NDArray[np.int32]:
        """Return the items with the highest scores that are not in the history of each user.

        score    users -> the scores of all items [users, items]
        """
        found = []
        for start in range(0, len(self.histories), BLOCK):
            users = range(start, min(start + BLOCK, len(self.histories)))
            scores = np.array(score(users), np.float32)
            for line, user in zip(scores, users, strict=True):
                line[self.histories[user]] = -np.inf
            found.append(np.argsort(-scores, axis=1, kind="stable")[:, :LISTED].astype(np.int32))
        return np.concatenate(found)


class Clock:
    """The seconds of training, by the clock on the wall and by that of the processor."""

    def start(self) -> None:
        """Start both clocks."""
        self.began = time.perf_counter(), time.process_time()

    def stop(self) -> None:
        """Keep what has passed."""
        self.seconds = time.perf_counter() - self.began[0]
        self.cpu_seconds = time.process_time() - self.began[1]


def answer(job: Any, lists: NDArray[np.int32], clock: Clock, packages: Sequence[str]) -> None:
    """Keep the lists, and tell the times and versions."""
    np.save(job["lists"], lists)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in packages]
    told = {
        "seconds": round(clock.seconds, 2),
        "cpu_seconds": round(clock.cpu_seconds, 2),
        "versions": ", ".join([*versions, f"python {platform.python_version()}"]),
    }
    sys.stdout.write("\n" + json.dumps(told) + "\n")
