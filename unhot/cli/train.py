"""`unhot train`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from unhot.cli.outputs import listed_layers, plugin_option

EXAMPLES = """
\b
Examples:
  unhot train corpus.txt -o model
  unhot train news/*.txt.gz -o model --model cbow --dim 300 --threads 8
  unhot train corpus.txt -o model --output nce:k=50,bias=true
  zcat dump.gz | unhot train - -o model --tokenizer words --min-count 20
"""
OUTPUT_HELP = f"Output layer: {', '.join(listed_layers())}; settings behind a colon, as NAME:setting=value,..."


class TrainCommand(click.Command):
    """A command whose help ends with a list of the output layers."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, then the layers."""
        super().format_options(ctx, formatter)
        with formatter.section("Output layers (more: unhot outputs NAME)"):
            formatter.write_dl(list(listed_layers().items()))


@click.command(cls=TrainCommand, epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("-o", "--model-dir", "target", required=True, metavar="MODEL", help="Directory to write the model to.")
@click.option("--model", type=click.Choice(["skipgram", "cbow"]), default="skipgram", show_default=True, help="What predicts what.")
@click.option("--dim", type=int, default=100, show_default=True, help="Numbers in a vector.")
@click.option("--window", type=int, default=5, show_default=True, help="Words to each side of a centre.")
@click.option(
    "--shrink/--no-shrink", default=True, show_default=True, help="Draw each centre's reach from 1 to the window, or always use all of it."
)
@click.option(
    "--combine", type=click.Choice(["mean", "sum"]), default="mean", show_default=True, help="cbow: how context vectors become one."
)
@click.option(
    "--predict",
    type=click.Choice(["auto", "centre", "contexts"]),
    default="auto",
    show_default=True,
    help="skipgram: which word of a pair predicts the other; auto: what is cheaper for the output layer.",
)
@click.option("--output", default="negative:k=5", show_default=True, metavar="LAYER", help=OUTPUT_HELP)
@click.option("--min-count", type=int, default=5, show_default=True, help="Drop words seen less often.")
@click.option("--max-vocab", type=int, default=None, help="Keep at most so many words.")
@click.option("--sample", type=float, default=1e-3, show_default=True, help="Threshold of sub-sampling frequent words; 0: none.")
@click.option("--epochs", type=int, default=5, show_default=True, help="Passes over the text.")
@click.option("--lr", type=float, default=None, help="First learning rate  [default: skipgram 0.025, cbow 0.1]")
@click.option("--threads", type=int, default=2, show_default=True, help="Threads; with 1, the same seed gives the same bytes.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
@click.option("--tokenizer", default="whitespace", show_default=True, help="whitespace, words (lower-cased, any script) or text8.")
@plugin_option
@click.option("--log-json", type=click.Path(dir_okay=False), default=None, help="Write progress as JSON lines to this file.")
@click.option("--corpus-dir", default=None, metavar="DIR", help="Keep the encoded text here  [default: a temporary directory]")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing but errors.")
def train(
    inputs: tuple[str, ...], target: str, model: str, log_json: str | None, corpus_dir: str | None, quiet: bool, **settings: Any
) -> int:
    """Learn word vectors from text.

    INPUT is a file, a folder, a pattern, or - for standard input; gz, bz2, xz and zst are unpacked. A line is a sentence of any length.
    Ctrl-C stops and saves what there is.
    """
    from unhot.cli.show import TrainingBar
    from unhot.errors import ConfigError, Diverged
    from unhot.models.load import MODELS
    from unhot.train.progress import JsonLog
    from unhot.vectors.formats.directory import check_writable

    if model != "cbow" and settings.pop("combine") != "mean":
        raise ConfigError(f"--combine: {model} combines nothing; it is a setting of cbow")
    if model != "skipgram" and settings.pop("predict") != "auto":
        raise ConfigError(f"--predict: {model} always predicts the centre; it is a setting of skipgram")
    learner = MODELS[model](**settings)
    check_writable(Path(target))
    source = [name if name == "-" else Path(name) for name in inputs] if len(inputs) > 1 else inputs[0]
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(TrainingBar(quiet=quiet))
        log = [stack.enter_context(JsonLog(log_json))] if log_json else []
        try:
            learner.fit(source, callbacks=[bar, *log], reading=bar.reading, note=bar.note, directory=corpus_dir)
        except Diverged as error:
            if learner.history.losses:
                learner.save(target)
                raise Diverged(f"{error}; saved that to {target}") from error
            raise
        learner.save(target)
        history = learner.history
        if history.interrupted:
            bar.note(f"interrupted after {history.words:,} words: saved what there is to {target}")
            return 130
        speed = history.words / history.seconds
        bar.note(f"trained {history.words:,} words in {history.seconds:.1f} s ({speed:,.0f} words/s), loss {history.losses[-1]:.4f}")
        bar.note(f"saved to {target}; look at it with: unhot neighbors {target} WORD")
    return 0
