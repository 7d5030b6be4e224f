"""Print for commands: lines on stderr, a progress bar on a terminal, JSON and tables on stdout."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.json_file import json_text, not_finite, plain
from unhot.screen.terminal import printable_lines, shown, silence

if TYPE_CHECKING:
    from unhot.screen.console import Bar

LONGEST = 10_000  # characters of a value shown
PIPE = 160  # the width of tables if stdout is not a terminal


def note(line: str) -> None:
    """Print a line about what goes on to stderr; if no one reads it any more, the command goes on."""
    try:
        click.echo(printable_lines(line), err=True)
    except BrokenPipeError:
        silence(sys.stderr)


def show_json(value: Any) -> None:
    """Print a value as JSON; words that are not valid UTF-8 keep their bytes as escaped surrogates.

    Numbers that are not finite are null, and a note counts them.
    """
    click.echo(json_text(plain(value), indent=1))
    if number := not_finite(value):
        note(f"numbers that are not finite: {number:,}; the JSON has null for them")


def show_facts(facts: Mapping[str, Any], width: int = 12) -> None:
    """Print a line for each fact, with its name in a column of at least the given width."""
    width = max(width, *(len(shown(name)) for name in facts))
    for name, value in facts.items():
        click.echo(f"{shown(name):<{width}} {'-' if value is None else shown(str(value), LONGEST)}")


def percents(interval: tuple[float, float] | None) -> str:
    """Return an interval in percent; an empty text if there is none."""
    low, high = interval or (math.nan, math.nan)
    return "" if math.isnan(low) else f"{100 * low:.2f} .. {100 * high:.2f}"


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

    from unhot.screen.console import Screen

    console = Screen()
    width = console.width if console.is_terminal else PIPE
    lines = [[shown(cell) for cell in row] for row in rows]
    headings = [shown(heading) for heading in header or [""] * len(lines[0])]
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
        console.print(Text(shown(title), style="bold"))
    console.print(table)
    console.print(printable_lines(how), soft_wrap=not console.is_terminal)


def new_bar(before: str, behind: str, *, quiet: bool = False, transient: bool = False) -> Bar:
    """Return a progress bar on stderr with a text on each side; without a terminal nothing is drawn."""
    from unhot.screen.console import Bar

    return Bar(before, behind, quiet=quiet, transient=transient)
