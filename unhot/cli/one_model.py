"""`unhot train` for one model alone, as the command `train` of a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from unhot.cli.model_options import TrainCommand, listed_models, model_options
from unhot.cli.train import train as any_train


class OneModelCommand(TrainCommand):
    """A command with options for the settings of one model."""

    of: tuple[str, str]  # the name of the model, and what it is called

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own options and those of the model."""
        name, called = self.of
        settings = model_options({name: listed_models()[name]})
        for option in settings:
            option.of = called
        return [*click.Command.get_params(self, ctx), *settings]


def train_command(
    kind: type[OneModelCommand], fixed: Mapping[str, Any], helps: Mapping[str, str], text: str, epilog: str
) -> OneModelCommand:
    """Return the command.

    fixed  options of `unhot train` that this command does not have, with their values
    helps  other help texts of the options that it has
    """

    def call(**options: Any) -> Any:
        assert any_train.callback is not None
        return any_train.callback(**options, **fixed, model=kind.of[0])

    left_out = {*fixed, "model"}
    params = [_explained(param, helps) for param in any_train.params if param.name not in left_out]
    return kind("train", callback=call, params=params, help=text, epilog=epilog)


def _explained(param: click.Parameter, helps: Mapping[str, str]) -> click.Parameter:
    """Return an option with another help text, if there is one."""
    if param.name not in helps:
        return param
    return click.Option(param.opts, metavar=param.metavar, help=helps[param.name])
