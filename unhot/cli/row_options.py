"""What commands share that add columns to a file of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from unhot.cli.show import new_bar
from unhot.cli.streams import is_stream, open_stream
from unhot.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])
OnProgress = Callable[[int, "int | None"], None]

threads_option = click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
column_option = click.option(
    "--column", help="Tables: the column with the text  [default: text, or the only one]"
)
format_option = click.option(
    "--format",
    "kind",
    type=click.Choice(["text", "jsonl", "csv", "tsv", "parquet"]),
    help="The format of INPUT, if its name does not say it.",
)


def rename_option(example: str) -> Callable[[Command], Command]:
    """Return the option that names new columns differently."""
    return click.option(
        "--rename", multiple=True, metavar="OLD=NEW", help=f"Name a new column differently: {example}."
    )


def renamed(pairs: Iterable[str], example: str) -> dict[str, str]:
    """Return what --rename says: the usual name of a column -> its name."""
    found = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise ConfigError(f"--rename {pair}: must be OLD=NEW, for example {example}")
        found[old] = new
    return found


def write_rows(out: str, title: str, write: Callable[[Any, OnProgress], None], *, quiet: bool) -> None:
    """Call write(place, on_progress) with a path or an open stream, and show the progress."""
    with new_bar(title, "{task.percentage:>3.0f}%", quiet=quiet, transient=True) as bar:
        task = bar.add_task(title, total=None)

        def on_progress(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        if is_stream(out):
            with open_stream(out) as file:
                write(file, on_progress)
        else:
            write(out, on_progress)
