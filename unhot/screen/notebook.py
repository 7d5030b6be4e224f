"""A progress bar in a notebook: one output of the cell, which is updated in place."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

PAUSE = 0.25  # seconds between two updates; a notebook keeps every one of them in its browser's memory


def in_notebook() -> bool:
    """Return whether the code runs in a kernel of Jupyter, Colab or the like, not in IPython's terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return hasattr(shell, "kernel")


class NotebookBar:
    """A bar with a text on each side; it has the methods of `unhot.screen.console.Bar`."""

    drawn = True

    def __init__(self) -> None:
        """Make a bar that shows nothing yet."""
        self._shown: Any = None  # the handle of the output
        self._last = 0.0  # when it was updated
        self.before, self.behind = "", ""
        self.done: int | None = None
        self.total: int | None = None
        self.stopped = False

    def start(self) -> None:
        """Show the bar."""
        from IPython.display import display

        self._shown = display(self, display_id=True)

    def stop(self) -> None:
        """Show the last state."""
        self.stopped = True
        self._shown.update(self)

    def show(self, before: str, done: int, total: int | None, behind: str = "") -> None:
        """Show how much is done, unless the bar has just been updated."""
        self.before, self.behind = before, behind
        self.done, self.total = done, total
        if time.monotonic() - self._last > PAUSE:
            self._last = time.monotonic()
            self._shown.update(self)

    def say(self, line: str) -> None:
        """Print a line below the bar."""
        print(line)  # noqa: T201 (the output of the cell)

    def __repr__(self) -> str:
        """Return the state as text, for notebooks that are read without a browser."""
        share = f"{self.done / self.total:4.0%}" if self.total and self.done is not None else ""
        return "  ".join(filter(None, (self.before, share, self.behind)))

    def _repr_html_(self) -> str:
        """Return the state as HTML; without a known total the bar moves to and fro until it is stopped."""
        known = bool(self.total and self.done is not None)
        numbers = f' value="{self.done}" max="{self.total}"' if known else ""
        bar = f"<progress{numbers}></progress> " if known or not self.stopped else ""
        return f"{bar}<code>{html.escape(repr(self))}</code>"
