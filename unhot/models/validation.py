"""Early stopping: measure held-out lines after each epoch, keep the best state, stop when it gets worse."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from unhot.train.history import History
from unhot.train.progress import Progress


class StateCopy(Protocol):
    """A copy of a state."""

    def keep(self) -> None:
        """Copy the state as it is now."""

    def restore(self) -> None:
        """Go back to the copy."""


class Validation:
    """A callback of a training; `stops` says when the loss has not fallen for some epochs."""

    def __init__(
        self, measure: Callable[[], tuple[float, str]], history: History, patience: int, say: Any
    ) -> None:
        """Take a function that returns the loss of the held-out lines, and figures in words."""
        self._measure, self._history = measure, history
        self._patience, self._say = patience, say
        self._best: StateCopy | None = None
        self._kept = 0  # the epoch whose state is kept; 0: none, as after a training was resumed

    def watch(self, state: StateCopy, *, holds_best: bool = False) -> None:
        """Take what keeps the best state of the training; after a resume it may hold it already."""
        self._best = state
        self._kept = int(np.argmin(self._history.validation)) + 1 if holds_best else 0

    def __call__(self, progress: Progress) -> None:
        """Measure after each epoch; at the end, go back to the best state."""
        losses = self._history.validation
        if progress.event == "epoch":
            loss, figures = self._measure()
            losses.append(loss)
            self._say(f"validation after epoch {progress.epoch}: {figures}")
            if self._best is not None and (not self._kept or loss <= losses[self._kept - 1]):
                self._best.keep()
                self._kept = len(losses)
        finished = progress.event == "done" and progress.details.get("reason") == "finished"
        if finished and self._best is not None and 0 < self._kept < len(losses):
            self._best.restore()
            self._say(f"the model is that of epoch {self._kept}, which was the best")

    def stops(self) -> bool:
        """Return whether the last epochs brought nothing better."""
        losses = self._history.validation
        return len(losses) - 1 - int(np.argmin(losses)) >= self._patience if losses else False
