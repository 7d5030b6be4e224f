"""The command `unhot lm mix`."""

from __future__ import annotations

from pathlib import Path

import click

from unhot.cli.options import json_option, named
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import threads_option
from unhot.cli.show import note, print_table, show_json


@click.command()
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@click.option("--validation", required=True, metavar="TEXT", help="Text that no MODEL was trained on.")
@click.option(
    "-o",
    "--model-dir",
    "target",
    required=True,
    metavar="MODEL",
    callback=named,
    help="Directory to write to.",
)
@click.option(
    "--carry/--alone",
    default=True,
    show_default=True,
    help="Neural models: go on from line to line, or begin each line anew.",
)
@threads_option
@plugin_option
@json_option
def mix(
    models: tuple[str, ...], validation: str, target: str, carry: bool, threads: int, as_json: bool
) -> None:
    """Mix language models: each MODEL counts as much as suits the text of --validation best.

    The weights are learned by expectation maximisation. The mixture is a model of its own: its folder has
    copies of all MODELs.
    """
    from unhot.models.load import load_language_model
    from unhot.models.mixture import Mixture
    from unhot.vectors.formats.model_claim import claimed_model

    with claimed_model(Path(target)):
        found = [load_language_model(name, threads) for name in models]
        mixture = Mixture.of(found, Path(validation), carry=carry)
        alone = [each.perplexity(Path(validation), carry=carry).perplexity for each in found]
        together = mixture.perplexity(Path(validation), carry=carry).perplexity
        mixture.save(target)
    if as_json:
        weights = dict(zip(models, mixture.weights, strict=True))
        show_json(
            {"weights": weights, "perplexity": together, "alone": dict(zip(models, alone, strict=True))}
        )
        return
    rows = [
        (name, f"{weight:.4f}", f"{value:,.2f}")
        for name, weight, value in zip(models, mixture.weights, alone, strict=True)
    ]
    print_table("", ("model", "weight", "perplexity"), rows, f"together: {together:,.2f}, on {validation}")
    note(f"saved to {target}")
