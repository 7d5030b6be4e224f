"""The command `unhot lm compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from unhot.cli.comparison_report import show_and_write, writable_files
from unhot.cli.outputs import plugin_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import note

EXAMPLES = """
\b
Examples:
  unhot lm compare train.txt valid.txt test.txt
  unhot lm compare train.txt valid.txt test.txt --minutes 10 --seeds 3 --body gru --dim 300
  unhot lm compare train.txt valid.txt test.txt --layers softmax sampled:k=500 nce:k=25 --epochs 5
"""
ENDINGS = (".csv", "-curves.csv", ".md", "-time.svg", "-bands.svg")


@click.command(cls=SeveralValues, epilog=EXAMPLES)
@click.argument("train")
@click.argument("valid")
@click.argument("test")
@click.option("--layers", metavar="LAYER...", multiple=True, help="Output layers  [default: all]")
@click.option("--body", default="lstm", show_default=True, help="The body of all models.")
@click.option("--dim", type=int, default=200, show_default=True, help="Length of the word vectors.")
@click.option("--dropout", type=float, default=0.2, show_default=True, help="Share that is dropped.")
@click.option("--batch", type=int, default=20, show_default=True, help="Parts of the text, side by side.")
@click.option("--steps", type=int, default=35, show_default=True, help="Tokens that gradients go back.")
@click.option("--min-count", type=int, default=1, show_default=True, help="Rarer words become <unk>.")
@click.option(
    "--minutes", type=float, default=3.0, show_default=True, help="Training time of each layer and seed."
)
@click.option("--epochs", type=int, help="Epochs of each layer and seed, instead of --minutes.")
@click.option("--seeds", type=int, default=1, show_default=True, help="Trainings of each layer.")
@click.option("--lr", type=float, help="Learning rate of all layers  [default: the best of a few for each]")
@click.option("--order", type=int, default=5, show_default=True, help="Order of the n-grams.")
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@plugin_option
@click.option(
    "-o",
    "prefix",
    default="lm-compare",
    show_default=True,
    metavar="NAME",
    help="Write NAME.csv, NAME-curves.csv, NAME.md, NAME-time.svg, NAME-bands.svg.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def compare(
    train: str,
    valid: str,
    test: str,
    layers: tuple[str, ...],
    prefix: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare output layers on one neural language model.

    Every layer trains the same body on TRAIN for the same time. Its learning rate is chosen on VALID, in
    short trainings that take about as long again. The figures are of TEST, normalised over all words.
    n-grams, mixtures of them with each layer, and language models of plugins come beside. Ctrl-C stops and
    shows the results so far.
    """
    from unhot.bench.language import LanguageSettings, compare_language
    from unhot.bench.language_report import language_report
    from unhot.regular import named_size

    settings, files = LanguageSettings(**options), writable_files(prefix, ENDINGS)
    for path in (train, valid, test):
        if not Path(path).exists():
            raise click.BadParameter(f"{path}: no such file")
        named_size(Path(path))  # each is read several times
    tell = (lambda line: None) if quiet else note
    found = compare_language(train, valid, test, layers, settings=settings, tell=tell)
    return show_and_write(language_report(found), files, as_json=as_json, quiet=quiet)
