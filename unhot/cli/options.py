"""Options that several commands take."""

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


def named(context: click.Context, parameter: click.Parameter, path: str | None) -> str | None:
    """Return a path to write to; refuse an empty one, which would stand for the current folder."""
    if path == "":
        raise click.BadParameter("the name is empty; give a path to write to", context, parameter)
    return path
