"""What a training tells the outside: one `Progress` per chunk and per epoch, to callbacks.

And a callback that writes JSON lines.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

logger = logging.getLogger("unhot")


@dataclass(frozen=True)
class Progress:
    """The state of a training at one moment."""

    event: str  # start | progress | epoch | done
    epoch: int  # epochs begun, from 1; 0 before the first
    epochs: int
    words: int  # tokens of the corpus trained so far, over all epochs
    total_words: int  # tokens of all epochs
    seconds: float  # since training began
    loss: float | None  # mean over the pairs of this epoch so far; of the whole epoch at its end
    lr: float
    # start: vocabulary, threads, memory ...; done: why it ended
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def words_per_second(self) -> float:
        """Speed since training began."""
        return self.words / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Estimated time to the end; None before there is anything to go by."""
        return (self.total_words - self.words) / self.words_per_second if self.words else None


class Callback(Protocol):
    """Called from the main thread with every `Progress`; an exception ends the training and is passed on."""

    def __call__(self, progress: Progress) -> None:
        """Take note."""


class JsonLog:
    """Writes progress as JSON lines: all but the events `progress`, of these one in so many seconds."""

    def __init__(self, path: str | Path, seconds: float = 0.5, *, append: bool = False) -> None:
        """Begin the file anew with the first line, or go on with it."""
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._pause, self._last = seconds, 0.0
        self._begun, self._ended = append, False

    def __call__(self, progress: Progress) -> None:
        """Write a line, or not yet."""
        now = time.monotonic()
        if self._ended or (progress.event == "progress" and now - self._last < self._pause):
            return
        self._last = now
        line = asdict(progress)
        line |= {"words_per_second": round(progress.words_per_second, 1), **line.pop("details")}
        try:
            if not self._begun:
                with contextlib.suppress(OSError):  # a device or a pipe has no beginning
                    self._file.truncate(0)
                self._begun = True
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
        except OSError as error:  # a full disk: a log is not worth a training
            self._ended = True
            logger.warning("%s: the log ends here (%s); training goes on", self._file.name, error.strerror)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # what could not be written a moment ago
            self._file.close()

    def __enter__(self) -> JsonLog:
        """The log itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
