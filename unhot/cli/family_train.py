"""`unhot train` for the models of one family, as the command `train` of a group."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

import click

from unhot.cli.model_options import TrainCommand
from unhot.cli.train import TAKEN_BY
from unhot.cli.train import train as any_train


def train_command(
    family: str, text: str, epilog: str, *, metavar: str = "INPUT...", helps: Mapping[str, str] | None = None
) -> TrainCommand:
    """Return the command that trains the models of a family.

    helps  other help texts of options that `unhot train` has, too
    """
    params = [param for param in any_train.params if family in TAKEN_BY.get(str(param.name), (family,))]
    # copies: what a family says about its input is not what `unhot train` says
    params = [copy(_explained(param, helps or {})) for param in params]
    params[0].metavar = metavar
    command = TrainCommand("train", callback=any_train.callback, params=params, help=text, epilog=epilog)
    command.families = (family,)
    return command


def _explained(param: click.Parameter, helps: Mapping[str, str]) -> click.Parameter:
    """Return an option with another help text, if there is one."""
    if param.name not in helps:
        return param
    return click.Option(param.opts, metavar=param.metavar, help=helps[param.name])
