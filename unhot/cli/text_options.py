"""Options of commands that read a text, and the meaning of INPUT... ."""

from collections.abc import Collection
from pathlib import Path

import click
from click.core import ParameterSource

from unhot.rows.remote import as_path

tokenizer_option = click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    help="How lines are split into tokens: whitespace, words (lower-cased, any script) or text8.",
)
force_option = click.option("--force", is_flag=True, help="Read files even if they do not look like text.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors.")


def source_of(inputs: tuple[str, ...]) -> str | list[str | Path]:
    """Return INPUT... as a source for `encode`: a pattern, a file or a folder, or several of them."""
    return [*map(as_path, inputs)] if len(inputs) > 1 else inputs[0]


def given_options(context: click.Context, names: Collection[str]) -> dict[str, str]:
    """Return those of some parameters that were given on the command line: name -> option."""
    return {
        str(param.name): param.opts[-1]
        for param in context.command.params
        if param.name in names
        and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    }
