"""Options that take several values.

`MODEL --similarity a.txt b.txt` means `MODEL --similarity a.txt --similarity b.txt`.

After the command's argument, such an option takes all values up to the next option. Before it, the option
takes one value, so that `--similarity a.txt MODEL` works as well.
"""

from collections.abc import Collection, Sequence

import click


class SeveralValues(click.Command):
    """A command whose options with `multiple=True` take several values at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option's name before each of its values, then parse as usual."""
        options = [each for each in self.params if isinstance(each, click.Option)]
        several = {
            name for option in options if option.multiple and not option.is_eager for name in option.opts
        }
        single = {name for option in options if not option.is_flag for name in option.opts}
        return super().parse_args(ctx, repeated(args, several, single - several))


def repeated(arguments: Sequence[str], several: Collection[str], single: Collection[str]) -> list[str]:
    """Return the arguments with the name of the option before each of its values.

    >>> repeated(["model", "--files", "a", "b", "--json"], ["--files"], [])
    ['model', '--files', 'a', '--files', 'b', '--json']
    >>> repeated(["--files", "a", "model"], ["--files"], [])
    ['--files', 'a', 'model']
    """
    out: list[str] = []
    left = list(arguments)
    option = ""  # the option whose values come now
    given = False  # whether the command's argument was given
    while left:
        word = left.pop(0)
        if word == "--":
            return [*out, word, *left]
        if word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=")
            option = name if given and name in several else ""
            value = left[:1] if not equals and (name in several or name in single) else []
            out += [word, *value]
            del left[: len(value)]
        elif option:
            out += [option, word]
        else:
            given = True
            out.append(word)
    return out
