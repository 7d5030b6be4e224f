"""What commands share that add columns to a file of rows."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from unhot.cli.show import new_bar, note
from unhot.cli.streams import is_stream, open_stream
from unhot.errors import ConfigError

Command = TypeVar("Command", bound=Callable[..., Any])

threads_option = click.option("--threads", type=click.IntRange(1), default=2, show_default=True)
column_option = click.option(
    "--column", help="Tables: the column of the text  [default: text, or the only one]"
)
READING = ("column", "kind", "header", "separator", "strict", "force")  # options that say how rows are read
FORMAT = (
    click.option(
        "--format",
        "kind",
        type=click.Choice(
            ["text", "jsonl", "csv", "tsv", "csv-unquoted", "tsv-unquoted", "parquet", "arrow"]
        ),
        help="The format of the input  [default: by its bytes and its name]",
    ),
    click.option(
        "--header",
        metavar="NAME,...",
        help="The columns of CSV or TSV without a header line: label,text",
    ),
    click.option(
        "--separator", metavar="CHAR", help="What is between fields of CSV or TSV, such as ; or tab"
    ),
)
strict_option = click.option(
    "--strict", is_flag=True, help="Stop at the first bad row instead of counting bad rows."
)


def format_options(command: Command) -> Command:
    """Add the options that say how files are written."""
    for option in reversed(FORMAT):
        command = option(command)
    return command


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


def write_copy(source: str, out: str, columns_of: Any, title: str, *, quiet: bool, **how: Any) -> None:
    """Copy the rows of a file with new columns, show the progress, and tell which rows got none.

    how   see `copy_rows`
    """
    from unhot.rows.copied import copy_rows

    with (
        new_bar(title, "{task.percentage:>3.0f}%", quiet=quiet, transient=True) as bar,
        open_stream(out) if is_stream(out) else contextlib.nullcontext(out) as place,
    ):
        how |= {"on_progress": functools.partial(bar.show, title)}
        how |= {} if quiet else {"tell": bar.say}
        copied = copy_rows(source, place, columns_of, **how)
    for line in copied.lines():
        note(line)
