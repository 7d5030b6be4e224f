"""The command `unhot cooccur`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import unhot.corpus
from unhot.cli.options import named
from unhot.cli.row_options import READING, column_option, format_options, strict_option
from unhot.cli.show import note, show_json
from unhot.cli.text_options import (
    force_option,
    given_options,
    quiet_option,
    source_of,
    tokenizer_option,
)
from unhot.errors import DataError
from unhot.screen.terminal import printable
from unhot.sizes import bytes_of
from unhot.train.bar import TrainingBar

EXAMPLES = """
\b
Examples:
  unhot cooccur corpus.txt -o cells
  unhot cooccur news/*.txt.gz -o cells --window 15 --min-count 20 --memory 4GB --threads 8
  unhot cooccur corpus.txt -o cells --glove cooccurrence.bin
  unhot cooccur cooccurrence.bin --vocab vocab.txt -o cells
  unhot info cells
"""
HOW = ("window", "weights", "sides")  # settings that the user may know of cells counted by GloVe
# options that apply only to a text
ENCODING = ("min_count", "max_vocab", "tokenizer", "threads", *READING)
TEXT = ("sample", "seed", "memory", "phrases", "corpus_dir", *ENCODING)


@click.command(epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o",
    "--cells-dir",
    "target",
    required=True,
    metavar="CELLS",
    callback=named,
    help="Directory to write the cells to.",
)
@click.option(
    "--window", type=int, default=10, show_default=True, help="Words on each side of the centre word."
)
@click.option(
    "--weights",
    type=click.Choice(["distance", "flat", "dynamic"]),
    default="distance",
    show_default=True,
    help="Weight of a word at distance d: 1/d (distance), 1 (flat), or (window - d + 1)/window (dynamic), "
    "the mean over windows of random size.",
)
@click.option(
    "--sides",
    type=click.Choice(["both", "left", "right"]),
    default="both",
    show_default=True,
    help="Count the words on both sides of a word, only those before it, or only those after it.",
)
@click.option(
    "--sample",
    type=float,
    default=0.0,
    show_default=True,
    help="Threshold of sub-sampling frequent words; 0 turns it off.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of sub-sampling.")
@click.option(
    "--memory",
    default="1GB",
    show_default=True,
    metavar="BYTES",
    help="Memory for all buffers; what does not fit goes to disk.",
)
@click.option(
    "--threads",
    type=int,
    default=2,
    show_default=True,
    help="Number of threads; any number gives the same bytes.",
)
@click.option(
    "--min-count", type=int, default=5, show_default=True, help="Drop words that occur less often than this."
)
@click.option(
    "--max-vocab", type=int, default=None, help="Keep only this many words, the most frequent ones."
)
@tokenizer_option
@column_option
@format_options
@strict_option
@force_option
@click.option(
    "--phrases",
    default=None,
    metavar="FILE",
    help="First join the phrases of this list, which `unhot phrases --phrases` wrote.",
)
@click.option(
    "--corpus-dir",
    default=None,
    metavar="DIR",
    help="Keep the encoded text in this directory  [default: a temporary directory]",
)
@click.option(
    "--vocab",
    default=None,
    metavar="FILE",
    help="Read INPUT as a file of GloVe's cooccur or shuffle; this is its vocab.txt.",
)
@click.option(
    "--glove",
    default=None,
    metavar="FILE",
    help="Also write FILE.bin and FILE.vocab.txt, for GloVe's programs.",
)
@click.option(
    "-n",
    "shown",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Number of pairs to show, the largest counts first.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@quiet_option
@click.pass_context
def cooccur(context: click.Context, /, inputs: tuple[str, ...], target: str, **options: Any) -> None:
    """Count how often words occur near each other, and save the counts.

    INPUT is any text that `unhot train` reads. The counts, called cells, are exact: any number of threads and
    any memory gives the same bytes. Models that are trained on counts take the directory instead of a text:
    `unhot train CELLS -o model --model glove`.
    """
    from unhot.corpus.glove_cells import write_glove_cells, write_glove_vocabulary

    files = _glove_files(options["glove"])
    _check_places(target, files)
    how, make = ("counted", _counted) if options["vocab"] is None else ("read", _read)
    bar = TrainingBar(quiet=options["quiet"] or options["as_json"])
    begin = time.monotonic()
    with bar, make(context, inputs, target, options, bar) as cells:
        seconds = time.monotonic() - begin
        bar.note(f"{how} {len(cells):,} cells in {seconds:.1f} s")
        if files is not None:
            write_glove_vocabulary(cells.vocabulary, files[1])
            write_glove_cells(cells, files[0])
            bar.note(f"wrote {files[0]} and {files[1]}, for GloVe's shuffle and glove")
        facts = {"out": target, "seconds": round(seconds, 3), **cells_facts(cells, options["shown"])}
    _show(facts | ({} if files is None else {"glove": [str(path) for path in files]}), options)


def cells_facts(cells: unhot.corpus.Cells, shown: int) -> dict[str, Any]:
    """Return facts about cells, for `unhot cooccur` and `unhot info`."""
    import numpy as np

    words, names = len(cells.vocabulary), cells.vocabulary.words
    return {
        "settings": cells.settings,
        "words": words,
        "cells": len(cells),
        "rows": int(np.count_nonzero(np.diff(cells.starts))),  # the number of rows that are not empty
        "density": len(cells) / words**2 if words else 0.0,
        "sum": float(cells.row_sums().sum()),
        "heaviest": [
            {"word": names[i], "context": names[j], "value": value} for i, j, value in cells.heaviest(shown)
        ],
    }


def pair_lines(pairs: list[dict[str, Any]]) -> list[str]:
    """Return pairs of words with their values, as lines of a table."""
    names = [(printable(pair["word"]), printable(pair["context"])) for pair in pairs]
    widths = [max(map(len, column)) for column in zip(*names, strict=True)]
    return [
        f"{word:<{widths[0]}}  {context:<{widths[1]}}  {pair['value']:>16,.4f}"
        for (word, context), pair in zip(names, pairs, strict=True)
    ]


def _counted(
    context: click.Context, inputs: tuple[str, ...], target: str, options: dict[str, Any], bar: TrainingBar
) -> unhot.corpus.Cells:
    """Count the cells of a text."""
    from unhot.corpus.cooccurrence import counting_settings
    from unhot.corpus.glove_cells import check_glove_words

    reads = {name: options[name] for name in ENCODING}
    counts = {name: options[name] for name in (*HOW, "sample", "seed", "memory", "threads")}
    counting_settings(**{name: options[name] for name in (*HOW, "sample", "seed")})  # raises an error now
    bytes_of("--memory", options["memory"])
    read = (
        unhot.corpus.encode
        if options["phrases"] is None
        else unhot.corpus.Phrases.load(options["phrases"]).encode
    )
    with read(source_of(inputs), directory=options["corpus_dir"], progress=bar.reading, **reads) as corpus:
        for line in (*str(corpus.report).splitlines(), f"vocabulary: {len(corpus.vocabulary):,} words"):
            bar.note(line)
        if options["glove"] is not None:
            check_glove_words(corpus.vocabulary)  # raises an error now, not after a long counting
        return unhot.corpus.cooccurrences(corpus, directory=target, progress=bar.counting, **counts)


def _read(
    context: click.Context, inputs: tuple[str, ...], target: str, options: dict[str, Any], bar: TrainingBar
) -> unhot.corpus.Cells:
    """Read the cells of a file that GloVe's programs wrote."""
    given = given_options(context, TEXT)
    if given or len(inputs) > 1:
        refused = ", ".join(given.values()) or "several files"
        raise click.UsageError(
            f"{refused}: with --vocab, INPUT must be one file of counts, not a text to count", context
        )
    known = {name: options[name] for name in HOW if name in given_options(context, HOW)}
    return unhot.corpus.read_glove_cells(inputs[0], options["vocab"], target, known)


def _glove_files(name: str | None) -> tuple[Path, Path] | None:
    """Return FILE.bin and FILE.vocab.txt, given FILE or FILE.bin."""
    if name is None:
        return None
    stem = name.removesuffix(".bin")
    return Path(f"{stem}.bin"), Path(f"{stem}.vocab.txt")


def _check_places(target: str, files: tuple[Path, Path] | None) -> None:
    """Raise a `DataError` now, not after a long counting, if the results cannot be written."""
    from unhot.corpus.cells.cells import INDEX

    path = Path(target)
    if path.exists() and not path.is_dir():
        raise DataError(f"{target}: is a file; give a directory to write the cells to")
    if (
        path.is_dir()
        and not (path / INDEX).exists()
        and any(not each.name.startswith(".") for each in path.iterdir())
    ):
        raise DataError(
            f"{target}: exists and holds no cells; give a new directory, or one with cells to replace"
        )
    for file in files or ():
        if not file.absolute().parent.is_dir() or file.is_dir():
            raise DataError(f"{file}: cannot be written; give the name of a file in a folder that exists")


def _show(facts: dict[str, Any], options: dict[str, Any]) -> None:
    if options["as_json"]:
        show_json(facts)
    elif not options["quiet"]:
        for line in pair_lines(facts["heaviest"]):
            click.echo(line)
        note(
            f"saved to {facts['out']}: {facts['cells']:,} cells in {facts['rows']:,} rows of "
            f"{facts['words']:,} words, {facts['density']:.3%} of all pairs"
        )
