"""The command `unhot bench`: measurements on your own text."""

from typing import Any

import click

from unhot.cli.comparison_report import show_and_write, writable_files
from unhot.cli.outputs import plugin_option
from unhot.cli.several import SeveralValues
from unhot.cli.text_options import force_option

EXAMPLES = """
\b
Examples:
  unhot bench outputs corpus.txt
  unhot bench outputs corpus.txt --minutes 60
  unhot bench outputs corpus.txt --seconds 20 --layers softmax negative nce:k=50 sampled:k=500 -o results/mine
  unhot bench outputs corpus.txt --model cbow --max-vocab 50000 --json
"""


ENDINGS = (".csv", "-curves.csv", ".md", ".svg")


@click.group(epilog=EXAMPLES)
def bench() -> None:
    """Compare output layers on your own text."""


@bench.command(cls=SeveralValues, epilog=EXAMPLES)
@click.argument("corpus")
@click.option(
    "--layers",
    metavar="LAYER...",
    multiple=True,
    help="Output layers to compare  [default: all, with bias=true]",
)
@click.option(
    "--model",
    type=click.Choice(["skipgram", "cbow"]),
    default="skipgram",
    show_default=True,
    help="The model to train.",
)
@click.option("--dim", type=int, default=100, show_default=True, help="Length of each vector.")
@click.option(
    "--window", type=int, default=5, show_default=True, help="Words on each side of the centre word."
)
@click.option(
    "--min-count", type=int, default=5, show_default=True, help="Drop words that occur less often than this."
)
@click.option(
    "--max-vocab",
    type=int,
    default=10_000,
    show_default=True,
    help="Keep only this many words, the most frequent ones.",
)
@click.option(
    "--tokenizer",
    default="whitespace",
    show_default=True,
    help="How lines are split into tokens: whitespace, words (lower-cased, any script) or text8.",
)
@force_option
@click.option(
    "--held-out",
    type=float,
    default=0.05,
    show_default=True,
    help="Share of the lines to measure on instead of training on them.",
)
@click.option(
    "--held-out-words",
    type=int,
    default=100_000,
    show_default=True,
    help="Hold out at most about this many words.",
)
@click.option(
    "--minutes",
    type=float,
    default=5.0,
    show_default=True,
    help="Time of the whole comparison; it decides how long each layer trains.",
)
@click.option(
    "--seconds",
    type=float,
    default=None,
    help="Training time of each layer, whatever --minutes  [default: what --minutes allow]",
)
@click.option(
    "--lr",
    type=float,
    default=None,
    help="Learning rate of all layers  [default: the best of a few for each layer]",
)
@click.option(
    "--engine",
    type=click.Choice(["auto", "compiled", "torch"]),
    default="auto",
    show_default=True,
    help="What trains the models; auto: compiled kernels if the layer has them, otherwise torch.",
)
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@click.option(
    "--exact/--no-exact",
    default=True,
    show_default=True,
    help="skipgram: find the exact solution first, and compare each layer with it.",
)
@plugin_option
@click.option(
    "-o",
    "prefix",
    default="bench-outputs",
    show_default=True,
    metavar="NAME",
    help="Write NAME.csv, NAME-curves.csv, NAME.md, NAME.svg.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def outputs(
    corpus: str, layers: tuple[str, ...], prefix: str, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Compare output layers on the same model and text, with the same training time.

    CORPUS is a file, a folder, a pattern, or - for standard input. A share of its lines is held out. Every
    layer trains a model for the same time; the clock stops while the model is measured. The table shows the
    exact held-out perplexity, examples trained per second, memory, log Z, and the time it took to be as good
    as the final full softmax. Before that, each layer finds its learning rate in a few shorter trainings,
    which take about as long again. For skipgram the exact solution is found first, from the counts of all
    pairs, and every layer is compared with it. When the text is read, the command says how long all this
    takes: about 5 minutes in all, unless --minutes or --seconds is given. Ctrl-C stops and shows the results
    so far.
    """
    from unhot.bench import Settings, compare_outputs
    from unhot.bench.output_report import output_report
    from unhot.cli.comparison_bar import ComparisonBar

    settings = Settings(**options)
    files = writable_files(prefix, ENDINGS)
    with ComparisonBar(settings, quiet=quiet) as tell:
        comparison = compare_outputs(corpus, layers, settings=settings, tell=tell)
    return show_and_write(output_report(comparison), files, as_json=as_json, quiet=quiet)
