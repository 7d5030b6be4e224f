"""The settings of models as options of `unhot train`: unset, each model has its own default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from unhot.cli.outputs import listed_layers

ALL, TEXT, CELLS = "all models", "skipgram, cbow, fasttext", "glove, svd"
OUTPUT_HELP = f"Output layer: {', '.join(listed_layers())}; settings behind a colon, as NAME:setting=value,...  [default: negative:k=5]"


class ModelOption(click.Option):
    """A setting of some models."""

    def __init__(self, *arguments: Any, of: str = ALL, **options: Any) -> None:
        """`of`: the models that have it."""
        super().__init__(*arguments, **options)
        self.of = of


def _setting(*names: str, of: str = ALL, help: str, **options: Any) -> Callable[[Any], Any]:  # noqa: A002 (click's word)
    return click.option(*names, cls=ModelOption, of=of, default=None, help=help, **options)


def _choice(*values: str) -> click.Choice[str]:
    return click.Choice(values)


SETTINGS = (
    _setting("--dim", type=int, help="Numbers in a vector.  [default: 100]"),
    _setting("--window", type=int, help="Words to each side of a centre.  [default: 5; glove, svd 10]"),
    _setting("--min-count", type=int, help="Drop words seen less often.  [default: 5]"),
    _setting("--max-vocab", type=int, help="Keep at most so many words."),
    _setting(
        "--sample",
        type=float,
        help="Threshold of sub-sampling frequent words; 0: none.  [default: 0.001; glove, svd 0]",
    ),
    _setting(
        "--threads",
        type=int,
        help="Threads; with 1, the same seed gives the same bytes; glove: with any number.  [default: 2]",
    ),
    _setting("--seed", type=int, help="Seed of all random numbers.  [default: 1]"),
    _setting(
        "--tokenizer", help="whitespace, words (lower-cased, any script) or text8.  [default: whitespace]"
    ),
    _setting(
        "--epochs",
        of="skipgram, cbow, fasttext, glove",
        type=int,
        help="Passes over the text, or its cells.  [default: 5; glove 15]",
    ),
    _setting(
        "--lr",
        of="skipgram, cbow, fasttext, glove",
        type=float,
        help="First learning rate.  [default: skipgram 0.025, on cells 0.05; cbow 0.1; fasttext, glove 0.05]",
    ),
    _setting(
        "--combine",
        of="cbow, glove",
        type=_choice("mean", "sum", "word", "context"),
        help="cbow: how context vectors become one, mean or sum; glove: which vectors are the words', the sum or mean of both kinds, or "
        "one of them.  [default: cbow mean; glove sum]",
    ),
    _setting("--output", of=TEXT, metavar="LAYER", help=OUTPUT_HELP),
    _setting(
        "--shrink/--no-shrink",
        of=TEXT,
        help="Draw each centre's reach from 1 to the window, or always use all of it.  [default: shrink]",
    ),
    _setting(
        "--engine",
        of=TEXT,
        type=_choice("compiled", "torch"),
        help="What trains: compiled kernels on the CPU, or PyTorch, any layer and device; fasttext: compiled only.  [default: compiled]",
    ),
    _setting("--device", of=TEXT, help="torch: where to compute, such as cuda:0.  [default: cpu]"),
    _setting("--batch", of=TEXT, type=int, help="torch: pairs of a step; cbow: centres.  [default: 1024]"),
    _setting(
        "--predict",
        of="skipgram",
        type=_choice("auto", "centre", "contexts"),
        help="Which word of a pair predicts the other; auto: what is cheaper for the output layer.  [default: auto]",
    ),
    _setting(
        "--on",
        of="skipgram",
        type=_choice("text", "cells"),
        help="cells: on the counts of pairs, exactly, without a draw, for up to 10,000 words; take 30 epochs or more.  [default: text]",
    ),
    _setting(
        "--architecture",
        of="fasttext",
        type=_choice("skipgram", "cbow"),
        help="What predicts what.  [default: skipgram]",
    ),
    _setting("--minn", of="fasttext", type=int, help="Characters of the shortest n-gram.  [default: 3]"),
    _setting(
        "--maxn",
        of="fasttext",
        type=int,
        help="Characters of the longest n-gram; 0: none, words alone.  [default: 6]",
    ),
    _setting(
        "--buckets",
        of="fasttext",
        type=int,
        help="Rows that n-grams share; those in use take memory.  [default: 2000000]",
    ),
    _setting(
        "--scheme",
        of="fasttext",
        type=_choice("fasttext", "floret"),
        help="How n-grams find their rows; floret: words have none of their own, so few buckets do.  [default: fasttext]",
    ),
    _setting("--hashes", of="fasttext", type=int, help="floret: rows of an n-gram, 1 to 4.  [default: 1]"),
    _setting(
        "--float16/--no-float16",
        of="fasttext",
        help="Input rows of 16-bit floats, half the size.  [default: no-float16]",
    ),
    _setting(
        "--weights",
        of=CELLS,
        type=_choice("distance", "flat", "dynamic"),
        help="What a word at distance d counts: 1 / d, 1, or (window - d + 1) / window.  [default: distance]",
    ),
    _setting(
        "--sides",
        of=CELLS,
        type=_choice("both", "left", "right"),
        help="Which words around a word count.  [default: both]",
    ),
    _setting("--memory", of=CELLS, help="For the buffers that count, such as 200MB.  [default: 1GB]"),
    _setting("--x-max", of="glove", type=float, help="Counts above it have weight 1.  [default: 10]"),
    _setting(
        "--alpha", of="glove", type=float, help="Power of counts below it in their weight.  [default: 0.75]"
    ),
    _setting("--positive/--no-positive", of="svd", help="Leave out PMI below zero.  [default: positive]"),
    _setting("--shift", of="svd", type=float, help="k: log k is subtracted from PMI.  [default: 1]"),
    _setting("--smoothing", of="svd", type=float, help="Power of the contexts' sums.  [default: 0.75]"),
    _setting("--power", of="svd", type=float, help="Of the singular values in the vectors.  [default: 0.5]"),
    _setting(
        "--contexts/--no-contexts",
        of="svd",
        help="Add the vectors that words have as contexts.  [default: no-contexts]",
    ),
    _setting(
        "--oversampling",
        of="svd",
        type=int,
        help="Directions more than dim that are followed.  [default: 28]",
    ),
    _setting(
        "--rounds",
        of="svd",
        type=int,
        help="How often they are multiplied by the matrix and its transpose.  [default: 6]",
    ),
)


def model_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add all of them."""
    for option in reversed(SETTINGS):
        command = option(command)
    return command


class TrainCommand(click.Command):
    """A command whose help has a part for each group of models, and ends with a list of the output layers."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The command's own options, then those of models, then the layers."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                title = f"Settings of {param.of}" if isinstance(param, ModelOption) else "Options"
                groups.setdefault(title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)
        with formatter.section("Output layers (more: unhot outputs NAME)"):
            formatter.write_dl(list(listed_layers().items()))
