"""What a shell completes as values of options and arguments.

click itself completes commands, options and choices.
Text completes to the names of files, as everywhere in a shell, unless `VALUES` lists its parameter.
"""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from unhot.cli.outputs import listed_layers


def _formats() -> Iterable[str]:
    from unhot.vectors.formats import FORMATS

    return FORMATS


# option, or name of an argument -> its values
VALUES: dict[str, Callable[[], Iterable[str]]] = {
    **dict.fromkeys(("--output", "--layers", "name"), listed_layers),
    "--tokenizer": lambda: ("whitespace", "words", "text8"),
    **dict.fromkeys(("--from", "--to"), _formats),
    # words and numbers, which only the user knows
    **dict.fromkeys(("a", "b", "c", "word", "words", "--ngrams", "--connectors", "--delimiter"), tuple),
    **dict.fromkeys(("--column", "--device", "--memory", "--threshold", "-label"), tuple),
    **dict.fromkeys(("text", "--label", "--label-column", "--label-prefix", "--rename"), tuple),
    **dict.fromkeys(("users", "items", "--history", "--user", "--item", "--time", "--weight"), tuple),
    **dict.fromkeys(("--session", "--side", "--at"), tuple),
    "--class-weights": lambda: ("none", "balanced"),
}


class CompletedText(click.types.StringParamType):
    """Text that a shell can complete."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the values that begin with the incomplete one, or ask the shell for the names of files."""
        values = VALUES.get(param.opts[-1])
        if values is None:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(value) for value in values() if value.startswith(incomplete)]


TEXT = CompletedText()


def complete_text(command: click.Command) -> None:
    """Let shells complete all parameters of a command, or of a group of commands, that are plain text."""
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        complete_text(below)
    for param in command.params:
        if param.type is click.STRING:
            param.type = TEXT
