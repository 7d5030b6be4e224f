"""Early stopping: measure held-out lines after each epoch, keep the best state, stop when it gets worse."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unhot.train.good_state import GoodState
from unhot.train.history import History
from unhot.train.progress import Progress


class Validation:
    """A callback of a training; `stops` says when the loss has not fallen for some epochs."""

    def __init__(
        self, measure: Callable[[], tuple[float, float]], history: History, patience: int, say: Any
    ) -> None:
        """Take a function that returns the loss and the accuracy of the held-out lines."""
        self._measure, self._history = measure, history
        self._patience, self._say = patience, say
        self._best: GoodState | None = None
        self._kept = 0  # the epoch whose state is kept; 0: none, as after a training was resumed

    def watch(self, arrays: Sequence[Any]) -> None:
        """Take the arrays that the training changes."""
        self._best = GoodState(arrays)

    def __call__(self, progress: Progress) -> None:
        """Measure after each epoch; at the end, go back to the best state."""
        losses = self._history.validation
        if progress.event == "epoch":
            loss, accuracy = self._measure()
            losses.append(loss)
            self._say(f"validation after epoch {progress.epoch}: loss {loss:.4f}, accuracy {accuracy:.2%}")
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
