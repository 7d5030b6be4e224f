"""Print for commands: lines on stderr, a progress bar on a terminal, JSON and tables on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.terminal import printable, silence

if TYPE_CHECKING:
    from unhot.cli.screen import Bar
    from unhot.train.progress import Progress

PIPE = 160  # the width of tables if stdout is not a terminal


def note(line: str) -> None:
    """Print a line about what goes on to stderr; if no one reads it any more, the command goes on."""
    try:
        click.echo(line, err=True)
    except BrokenPipeError:
        silence(sys.stderr)


def show_json(value: Any) -> None:
    """Print a value as JSON; words that are not valid UTF-8 keep their bytes as escaped surrogates."""
    click.echo(json.dumps(value, indent=1))


def size_of(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def print_table(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], how: str, *, gap: bool = False
) -> None:
    """Print a table and a text below it.

    The first column is bold and aligned left, all others are aligned right. `gap`: print a blank line first.
    """
    from rich.table import Table
    from rich.text import Text

    from unhot.cli.screen import Screen

    console = Screen()
    width = console.width if console.is_terminal else PIPE
    lines = [[printable(cell) for cell in row] for row in rows]
    headings = header or [""] * len(lines[0])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(header))
    table.add_column(headings[0], overflow="fold", style="bold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", no_wrap=True, overflow="fold")
    for line in lines:
        table.add_row(*map(Text, line))
    # a truncated number would read as another number, so let the terminal wrap the lines instead
    needed = sum(max(map(len, column)) + 2 for column in zip(headings, *lines, strict=True))
    console.width = max(width, needed)
    if gap:
        console.print()
    if title:
        console.print(Text(printable(title), style="bold"))
    console.print(table)
    console.print(how, soft_wrap=not console.is_terminal)


def new_bar(before: str, behind: str, *, quiet: bool = False, transient: bool = False) -> Bar:
    """Return a progress bar on stderr with a text on each side; without a terminal nothing is drawn."""
    from unhot.cli.screen import Bar

    return Bar(before, behind, quiet=quiet, transient=transient)


class TrainingBar:
    """Shows the progress of reading and training: a bar on a terminal, otherwise a line per epoch."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Make the bar; `quiet` shows nothing."""
        self._quiet = quiet
        self._bar = new_bar(
            "{task.description:<10}", "{task.percentage:>3.0f}%  {task.fields[text]}", quiet=quiet
        )
        self._task = self._bar.add_task("reading", total=None, text="")
        self.unit = "words"  # the unit of progress

    def __enter__(self) -> TrainingBar:
        """Start drawing."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop drawing."""
        self.stop()

    def stop(self) -> None:
        """Stop drawing; the bar stays as it is."""
        self._bar.stop()

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        if not self._quiet:
            self._bar.console.print(line, soft_wrap=True)

    def reading(self, done: int, total: int | None) -> None:
        """Show how many bytes are read."""
        self._bar.update(self._task, completed=done, total=total, text=f"{done / 1e6:,.0f} MB")

    def counting(self, done: int, total: int) -> None:
        """Show how many rows are counted."""
        self._bar.update(self._task, description="counting", completed=done, total=total, text="")

    def __call__(self, progress: Progress) -> None:
        """Show how many words or cells are trained."""
        self.unit = "cells" if "cells" in progress.details else self.unit
        loss = "" if progress.loss is None else f"  loss {progress.loss:.4f}"
        left = "" if progress.seconds_left is None else f"  {progress.seconds_left:,.0f} s left"
        speed = f"{progress.words_per_second:,.0f} {self.unit}/s"
        self._bar.update(
            self._task,
            description=f"epoch {min(max(progress.epoch, 1), progress.epochs)}/{progress.epochs}",
            completed=progress.words,
            total=progress.total_words,
            text=f"{speed}{loss}  lr {progress.lr:.4f}{left}",
        )
        if progress.event == "epoch" and not self._bar.console.is_terminal:
            self.note(f"epoch {progress.epoch}/{progress.epochs}: loss {progress.loss:.4f}, {speed}")
