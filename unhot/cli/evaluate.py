"""`unhot evaluate`: a section of results for each kind of question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from unhot.cli.outputs import plugin_option

if TYPE_CHECKING:
    from unhot.evaluate.held_out import HeldOut
    from unhot.models.words import WordModel

EXAMPLES = """
\b
Examples:
  unhot evaluate model --text held_out.txt
  unhot evaluate model --text held_out.txt --window 2 --json
  zcat news.gz | unhot evaluate model --text -
"""


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.option("--text", metavar="FILE", default=None, help="Held-out loss: how well the words of this text are predicted.")
@click.option("--window", type=int, default=None, help="--text: words to each side of a centre  [default: the model's]")
@click.option(
    "--shrink/--no-shrink",
    default=False,
    show_default=True,
    help="--text: draw each centre's reach from 1 to the window, or always use all of it.",
)
@click.option("--sample", type=float, default=0.0, show_default=True, help="--text: threshold of sub-sampling frequent words; 0: none.")
@click.option("--tokenizer", default=None, help="--text: whitespace, words or text8  [default: the model's]")
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
def evaluate(model: str, text: str | None, as_json: bool, **settings: Any) -> None:
    """Measure how good a model is.

    MODEL is a directory that `unhot train` wrote. --text FILE (a file, a folder, a pattern, or - for standard input) gives the exact cross
    entropy and perplexity of a text that the model was not trained on, under its own output layer, normalised over the whole vocabulary.
    By default all words count and all windows are whole, and words that the model does not know are removed first; the output says how it
    was done. log Z is zero where the layer is normalised; otherwise its mean and variance say how far it is from that.
    """
    if text is None:
        raise click.UsageError("nothing to evaluate: give a text with --text FILE")
    from unhot.cli.show import show_json

    results = {"held_out": _held_out(_open(model), text, settings)}
    if as_json:
        show_json({name: result.as_dict() for name, result in results.items()})
        return
    _show_held_out(results["held_out"])


def _open(path: str) -> WordModel:
    """The model with its output layer."""
    from pathlib import Path

    from unhot.errors import FormatError
    from unhot.models.load import MODELS
    from unhot.vectors.formats.directory import is_model, load_model

    only = "only a model of unhot with its output layer can be evaluated on text; give the directory that `unhot train` wrote"
    if not is_model(path):
        raise FormatError(f"{path}: {'vectors alone, or no model' if Path(path).exists() else 'no such model'}: {only}")
    saved = load_model(Path(path))
    kind = MODELS.get(str(saved.config.get("model")))
    if kind is None or "out_vectors" not in saved.tensors:
        raise FormatError(f"{path}: holds {', '.join(sorted(saved.tensors))} of kind {saved.config.get('model')!r}: {only}")
    return kind.from_saved(saved)


def _held_out(model: WordModel, text: str, settings: dict[str, Any]) -> HeldOut:
    """With a bar, on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    from unhot.evaluate.held_out import held_out

    console = Console(stderr=True)
    columns = (TextColumn("{task.description:<10}"), BarColumn(bar_width=30), TextColumn("{task.percentage:>3.0f}%"))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("reading", total=None)
        return held_out(
            model, text, progress=lambda stage, done, total: bar.update(task, description=stage, completed=done, total=total), **settings
        )


def _show_held_out(result: HeldOut) -> None:
    """A row for each number, then how they were measured."""
    from rich.console import Console
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(justify="right")
    rows = {
        "cross entropy": f"{result.cross_entropy:.4f} nats",
        "": f"{result.bits:.4f} bits",
        "perplexity": f"{result.perplexity:,.2f}",
        "pairs": f"{result.pairs:,}",
        "unknown words": f"{result.unknown:,}",
        "log Z mean": f"{result.log_z_mean:.4f}",
        "log Z variance": f"{result.log_z_variance:.4f}",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    console = Console(highlight=False)
    console.print(table)
    console.print(str(result), markup=False, soft_wrap=not console.is_terminal)
