"""The command `unhot lm compare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.bench import writable_files, write_page
from unhot.cli.outputs import plugin_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import note, print_table, show_json

if TYPE_CHECKING:
    from unhot.bench.language import LanguageComparison

EXAMPLES = """
\b
Examples:
  unhot lm compare train.txt valid.txt test.txt
  unhot lm compare train.txt valid.txt test.txt --minutes 10 --seeds 3 --body gru --dim 300
  unhot lm compare train.txt valid.txt test.txt --layers softmax sampled:k=500 nce:k=25 --epochs 5
"""
ENDINGS = {
    **{"csv": ".csv", "curves": "-curves.csv", "md": ".md"},
    **{"time": "-time.svg", "bands": "-bands.svg"},
}


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

    settings, files = LanguageSettings(**options), writable_files(prefix, ENDINGS)
    for path in (train, valid, test):
        if not Path(path).is_file():
            raise click.BadParameter(f"{path}: no such file")
    tell = (lambda line: None) if quiet else note
    found = compare_language(train, valid, test, layers, settings=settings, tell=tell)
    measured = any(row.figures for row in found.rows)
    try:
        if as_json:
            show_json(found.as_dict())
        else:
            _show(found)
    finally:  # write the files even if standard output is a closed pipe
        if measured:
            _write(found, files)
            tell(f"wrote {', '.join(str(file) for file in files.values())}")
    return 130 if found.interrupted else 0 if measured else 1


def _show(found: LanguageComparison) -> None:
    """Print the table, then how it was measured."""
    from unhot.bench.language_table import EXPLAINED, HEADER, failures, summary, table

    terms = [f"{term}: {meaning}" for term, meaning in EXPLAINED.items()]
    failed = [f"failed: {line}" for line in failures(found)]
    print_table("", HEADER, table(found), "\n".join([summary(found), *terms, *failed]))


def _write(found: LanguageComparison, files: dict[str, Path]) -> None:
    """Write all files; the pictures come last, because drawing is most likely to fail."""
    from unhot.bench.language_table import markdown, write_csv, write_curves

    write_csv(found, files["csv"])
    write_curves(found, files["curves"])
    write_page(files["md"], markdown(found, files["csv"].stem, []))
    try:
        _draw(found, files)
    except Exception as error:  # any error of matplotlib; the figures are useful without pictures
        note(f"no pictures: {' '.join(str(error).split())}")
        return
    write_page(files["md"], markdown(found, files["csv"].stem, [files["time"].name, files["bands"].name]))


def _draw(found: LanguageComparison, files: dict[str, Path]) -> None:
    """Draw both pictures."""
    from unhot.bench.language_table import grouped
    from unhot.errors import extra
    from unhot.plots.language import bands, curves

    mpl = extra("matplotlib", "plot", "the plot of a comparison")
    from matplotlib.figure import Figure

    best = [rows[0] for rows in grouped(found)]
    level = next((row.curve[-1][1] for row in best if row.kind == "ngram"), None)
    lines = {row.name: row.curve for row in best if row.kind == "layer" and row.curve}
    figures = {
        row.name: {band.name: band.perplexity for band in row.figures.bands}
        for row in best
        if row.figures is not None and row.kind != "mixture"
    }
    with mpl.rc_context({"svg.hashsalt": "unhot", "axes.spines.top": False, "axes.spines.right": False}):
        for kind in ("time", "bands"):
            figure = Figure(figsize=(9.0, 5.0), layout="constrained")
            axis = figure.add_subplot()
            if kind == "time":
                curves(axis, lines, level)
            else:
                bands(axis, figures)
            figure.savefig(files[kind], format="svg", metadata={"Date": None})
