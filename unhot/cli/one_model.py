"""`unhot train` for some models alone, as the command `train` of a group."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import click

from unhot.cli.model_options import TrainCommand, listed_models, model_options
from unhot.cli.train import train as any_train


class OneModelCommand(TrainCommand):
    """A command with options for the settings of one model, or of a few."""

    of: tuple[str, ...]  # the names of the models, the default one first
    called: str  # what the models are called together

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the models."""
        listed = listed_models(None)
        settings = model_options({name: listed[name] for name in self.of})
        for option in settings:
            option.of = self.called if option.of == "all models" else f"--model {option.of}"
        choice = click.Option(
            ["--model"], type=click.Choice(self.of), default=self.of[0], show_default=True, help="The model."
        )
        own = click.Command.get_params(self, ctx)
        return [*own, *([choice] if len(self.of) > 1 else []), *settings]


def train_command(
    kind: type[OneModelCommand], fixed: Mapping[str, Any], helps: Mapping[str, str], text: str, epilog: str
) -> OneModelCommand:
    """Return the command.

    fixed  options of `unhot train` that this command does not have, with their values
    helps  other help texts of the options that it has
    """

    def call(**options: Any) -> Any:
        assert any_train.callback is not None
        return any_train.callback(**{"model": kind.of[0], **options}, **fixed)

    left_out = {*fixed, "model"}
    # copies: what a group says about its input is not what `unhot train` says
    params = [copy(_explained(param, helps)) for param in any_train.params if param.name not in left_out]
    return kind("train", callback=call, params=params, help=text, epilog=epilog)


def _explained(param: click.Parameter, helps: Mapping[str, str]) -> click.Parameter:
    """Return an option with another help text, if there is one."""
    if param.name not in helps:
        return param
    return click.Option(param.opts, metavar=param.metavar, help=helps[param.name])
