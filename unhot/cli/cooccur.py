"""`unhot cooccur`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from unhot.cli.show import TrainingBar, note, printable, show_json
from unhot.cli.text_options import column_option, given_options, quiet_option, source_of, tokenizer_option
from unhot.errors import DataError

if TYPE_CHECKING:
    from unhot.corpus.cells import Cells

EXAMPLES = """
\b
Examples:
  unhot cooccur corpus.txt -o cells
  unhot cooccur news/*.txt.gz -o cells --window 15 --min-count 20 --memory 4GB --threads 8
  unhot cooccur corpus.txt -o cells --glove cooccurrence.bin
  unhot cooccur cooccurrence.bin --vocab vocab.txt -o cells
  unhot info cells
"""
HOW = ("window", "weights", "sides")  # what can be known of cells that GloVe counted
# what only a text needs
READING = ("min_count", "max_vocab", "tokenizer", "column", "threads")
TEXT = ("sample", "seed", "memory", "phrases", "corpus_dir", *READING)


@click.command(epilog=EXAMPLES)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "-o", "--cells-dir", "target", required=True, metavar="CELLS", help="Directory to write the cells to."
)
@click.option("--window", type=int, default=10, show_default=True, help="Words to each side.")
@click.option(
    "--weights",
    type=click.Choice(["distance", "flat", "dynamic"]),
    default="distance",
    show_default=True,
    help="What a word counts that is d words away: 1/d, 1, or (window - d + 1)/window, the mean of windows "
    "that shrink.",
)
@click.option(
    "--sides",
    type=click.Choice(["both", "left", "right"]),
    default="both",
    show_default=True,
    help="Count the words on both sides, or only those before, or behind, a word.",
)
@click.option(
    "--sample",
    type=float,
    default=0.0,
    show_default=True,
    help="Threshold of sub-sampling frequent words; 0: none.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of sub-sampling.")
@click.option(
    "--memory",
    default="1GB",
    show_default=True,
    metavar="BYTES",
    help="For all buffers; what does not fit goes to disk.",
)
@click.option(
    "--threads", type=int, default=2, show_default=True, help="Threads; any number gives the same bytes."
)
@click.option("--min-count", type=int, default=5, show_default=True, help="Drop words seen less often.")
@click.option("--max-vocab", type=int, default=None, help="Keep at most so many words.")
@tokenizer_option
@column_option
@click.option(
    "--phrases",
    default=None,
    metavar="FILE",
    help="Join the phrases of this list, made by `unhot phrases --phrases`, first.",
)
@click.option(
    "--corpus-dir",
    default=None,
    metavar="DIR",
    help="Keep the encoded text here  [default: a temporary directory]",
)
@click.option(
    "--vocab",
    default=None,
    metavar="FILE",
    help="INPUT is a file of GloVe's cooccur or shuffle, and this its vocab.txt.",
)
@click.option(
    "--glove",
    default=None,
    metavar="FILE",
    help="Also write FILE.bin and FILE.vocab.txt, for GloVe's programs.",
)
@click.option(
    "-n", "shown", type=click.IntRange(0), default=10, show_default=True, help="Pairs to show, the heaviest."
)
@click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
@quiet_option
@click.pass_context
def cooccur(context: click.Context, /, inputs: tuple[str, ...], target: str, **options: Any) -> None:
    """Count which words stand near which, and keep the cells.

    INPUT is what `unhot train` reads. The counts are exact: the same bytes with any number of threads and any
    memory. Models that are trained on counts take the directory instead of a text: `unhot train CELLS -o
    model --model glove`.
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


def cells_facts(cells: Cells, shown: int) -> dict[str, Any]:
    """What cells are, for `unhot info`, too."""
    import numpy as np

    words, names = len(cells.vocabulary), cells.vocabulary.words
    return {
        "settings": cells.settings,
        "words": words,
        "cells": len(cells),
        "rows": int(np.count_nonzero(np.diff(cells.starts))),  # that are not empty
        "density": len(cells) / words**2 if words else 0.0,
        "sum": float(cells.row_sums().sum()),
        "heaviest": [
            {"word": names[i], "context": names[j], "value": value} for i, j, value in cells.heaviest(shown)
        ],
    }


def pair_lines(pairs: list[dict[str, Any]]) -> list[str]:
    """Pairs of words with their values, as lines of a table."""
    names = [(printable(pair["word"]), printable(pair["context"])) for pair in pairs]
    widths = [max(map(len, column)) for column in zip(*names, strict=True)]
    return [
        f"{word:<{widths[0]}}  {context:<{widths[1]}}  {pair['value']:>16,.4f}"
        for (word, context), pair in zip(names, pairs, strict=True)
    ]


def _counted(
    context: click.Context, inputs: tuple[str, ...], target: str, options: dict[str, Any], bar: TrainingBar
) -> Cells:
    """The cells of a text."""
    from unhot.corpus.cooccurrence import cooccurrences
    from unhot.corpus.encoding import encode
    from unhot.corpus.glove_cells import check_glove_words
    from unhot.corpus.phrases import Phrases

    reads = {name: options[name] for name in READING}
    counts = {name: options[name] for name in (*HOW, "sample", "seed", "memory", "threads")}
    read = encode if options["phrases"] is None else Phrases.load(options["phrases"]).encode
    with read(source_of(inputs), directory=options["corpus_dir"], progress=bar.reading, **reads) as corpus:
        for line in (*str(corpus.report).splitlines(), f"vocabulary: {len(corpus.vocabulary):,} words"):
            bar.note(line)
        if options["glove"] is not None:
            check_glove_words(corpus.vocabulary)  # better before a long counting than after it
        return cooccurrences(corpus, directory=target, progress=bar.counting, **counts)


def _read(
    context: click.Context, inputs: tuple[str, ...], target: str, options: dict[str, Any], bar: TrainingBar
) -> Cells:
    """The cells of a file that GloVe's programs wrote."""
    from unhot.corpus.glove_cells import read_glove_cells

    given = given_options(context, TEXT)
    if given or len(inputs) > 1:
        refused = ", ".join(given.values()) or "several files"
        raise click.UsageError(f"{refused}: with --vocab, INPUT is a file that has been counted", context)
    known = {name: options[name] for name in HOW if name in given_options(context, HOW)}
    return read_glove_cells(inputs[0], options["vocab"], target, known)


def _glove_files(name: str | None) -> tuple[Path, Path] | None:
    """FILE.bin and FILE.vocab.txt of FILE, or of FILE.bin."""
    if name is None:
        return None
    stem = name.removesuffix(".bin")
    return Path(f"{stem}.bin"), Path(f"{stem}.vocab.txt")


def _check_places(target: str, files: tuple[Path, Path] | None) -> None:
    """Better before a long counting than after it."""
    from unhot.corpus.cells.cells import INDEX

    path = Path(target)
    if (
        path.is_dir()
        and not (path / INDEX).exists()
        and any(not each.name.startswith(".") for each in path.iterdir())
    ):
        raise DataError(
            f"{target}: is there and holds no cells; give a new directory, or one of cells to replace"
        )
    for file in files or ():
        if not file.absolute().parent.is_dir() or file.is_dir():
            raise DataError(f"{file}: cannot be written there; give a file in a folder that exists")


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
