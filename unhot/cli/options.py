"""Options that several commands take."""

from __future__ import annotations

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
which_option = click.option(
    "--which",
    type=click.Choice(["in", "out"]),
    default="in",
    show_default=True,
    help="Use the input vectors, or the output vectors of a model.",
)
restrict_option = click.option(
    "--restrict-vocab", type=click.IntRange(1), metavar="N", help="Search only the first N words."
)
