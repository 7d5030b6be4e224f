"""What commands show: lines on stderr, a progress bar on a terminal, JSON and tables on stdout."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from unhot.train.progress import Progress


def printable(word: str) -> str:
    """A word that any terminal can show: bytes that are not UTF-8 and control characters as escapes."""
    text = word.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def note(line: str) -> None:
    """A line about what goes on."""
    click.echo(line, err=True)


def show_json(value: Any) -> None:
    """JSON for machines; words that are not valid UTF-8 keep their bytes as escaped surrogates."""
    click.echo(json.dumps(value, indent=1))


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    return (
        sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        if path.is_dir()
        else path.stat().st_size
    )


class TrainingBar:
    """Progress of reading and training: a bar on a terminal, otherwise a line per epoch."""

    def __init__(self, *, quiet: bool = False) -> None:
        """`quiet`: show nothing."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._quiet, self._terminal = quiet, console.is_terminal
        columns = (
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=30),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[text]}"),
        )
        self._bar = Progress(*columns, console=console, disable=quiet or not console.is_terminal)
        self._task = self._bar.add_task("reading", total=None, text="")
        self.unit = "words"  # what is trained

    def __enter__(self) -> TrainingBar:
        """Begin to draw."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the bar as it is."""
        self._bar.stop()

    def note(self, line: str) -> None:
        """A line above the bar."""
        if not self._quiet:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def reading(self, done: int, total: int | None) -> None:
        """Bytes read so far."""
        self._bar.update(self._task, completed=done, total=total, text=f"{done / 1e6:,.0f} MB")

    def counting(self, done: int, total: int) -> None:
        """Rows counted so far."""
        self._bar.update(self._task, description="counting", completed=done, total=total, text="")

    def __call__(self, progress: Progress) -> None:
        """Words trained so far, or cells."""
        self.unit = "cells" if "cells" in progress.details else self.unit
        loss = "" if progress.loss is None else f"  loss {progress.loss:.4f}"
        left = "" if progress.seconds_left is None else f"  {progress.seconds_left:,.0f} s left"
        text = f"{progress.words_per_second:,.0f} {self.unit}/s{loss}  lr {progress.lr:.4f}{left}"
        description = f"epoch {min(max(progress.epoch, 1), progress.epochs)}/{progress.epochs}"
        self._bar.update(
            self._task,
            description=description,
            completed=progress.words,
            total=progress.total_words,
            text=text,
        )
        if progress.event == "epoch" and not self._terminal:
            self.note(
                f"epoch {progress.epoch}/{progress.epochs}: loss {progress.loss:.4f}, "
                f"{progress.words_per_second:,.0f} {self.unit}/s"
            )
