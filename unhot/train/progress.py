"""Progress reports: callbacks get one `Progress` per chunk and per epoch.

`JsonLog` is a callback that writes JSON lines.
"""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from unhot.json_file import json_text, plain

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
    loss: float | None  # mean over the pairs of this epoch so far, or of the whole epoch at its end
    lr: float
    # start: vocabulary, threads, memory ...; done: why the training ended
    details: dict[str, Any] = field(default_factory=dict)
    limit: float | None = None  # the seconds after which training ends, however far it is; None: no limit

    @property
    def words_per_second(self) -> float:
        """Return the mean speed since training began."""
        return self.words / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Return the estimated time to the end; None if no word has been trained yet."""
        if not self.words:
            return None
        left = (self.total_words - self.words) / self.words_per_second
        return left if self.limit is None else min(left, max(0.0, self.limit - self.seconds))


class Callback(Protocol):
    """A function that the main thread calls with every `Progress`.

    An exception ends the training and is passed on.
    """

    def __call__(self, progress: Progress) -> None:
        """Handle one report."""


class JsonLog(contextlib.AbstractContextManager["JsonLog"]):
    """Write reports as JSON lines: all of them, except that `progress` comes once in so many seconds."""

    def __init__(self, path: str | Path, seconds: float = 0.5, *, append: bool = False) -> None:
        """Open the log; the first line replaces an old file, unless `append` is set."""
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 (closed by close)
        self._pause, self._last = seconds, 0.0
        self._begun, self._ended = append, False

    def __call__(self, progress: Progress) -> None:
        """Write a report as one line, unless it comes too soon after the last."""
        now = time.monotonic()
        if self._ended or (progress.event == "progress" and now - self._last < self._pause):
            return
        self._last = now
        line = asdict(progress)
        line |= {"words_per_second": round(progress.words_per_second, 1), **line.pop("details")}
        try:
            if not self._begun:
                with contextlib.suppress(OSError):  # a device or a pipe cannot be truncated
                    self._file.truncate(0)
                self._begun = True
            self._file.write(json_text(plain(line)) + "\n")
            self._file.flush()
        except OSError as error:  # a full disk, for example: training is worth more than its log
            self._ended = True
            logger.warning("%s: the log ends here (%s); training goes on", self._file.name, error.strerror)

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):  # buffered lines that could not be written
            self._file.close()

    def __exit__(self, *stopped: object) -> None:
        """Close the file."""
        self.close()
