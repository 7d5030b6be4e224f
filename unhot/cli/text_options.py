"""What commands that read a text share: options, and what INPUT... means."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import click
from click.core import ParameterSource

tokenizer_option = click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    help="whitespace, words (lower-cased, any script) or text8.",
)
column_option = click.option(
    "--column", default=None, help="Parquet: the column with the text  [default: text, or the only one]"
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors.")


def source_of(inputs: tuple[str, ...]) -> str | list[str | Path]:
    """What `encode` reads for INPUT...: a pattern, a file or a folder, or several of them."""
    return [name if name == "-" else Path(name) for name in inputs] if len(inputs) > 1 else inputs[0]


def given_options(context: click.Context, names: Collection[str]) -> dict[str, str]:
    """Those of some parameters that stand on the command line: name -> how the option is spelt."""
    return {
        str(param.name): param.opts[-1]
        for param in context.command.params
        if param.name in names
        and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE
    }
