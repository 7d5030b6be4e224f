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
    taken = [param for param in any_train.params if family in TAKEN_BY.get(str(param.name), (family,))]
    params = [copy(param) for param in taken]  # because what a family says about them is its own
    params[0].metavar = metavar
    for param in params:
        if isinstance(param, click.Option):
            param.help = (helps or {}).get(str(param.name), param.help)
    command = TrainCommand("train", callback=any_train.callback, params=params, help=text, epilog=epilog)
    command.families = (family,)
    return command
