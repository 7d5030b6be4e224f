"""The command `unhot evaluate`: a section of results for each kind of question."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

import unhot.evaluate
from unhot.cli import evaluation_tables
from unhot.cli.options import json_option
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import READING, column_option, format_options, strict_option
from unhot.cli.several import SeveralValues
from unhot.cli.show import new_bar, show_json
from unhot.errors import ConfigError, FormatError, whole
from unhot.evaluate.files import numbered_lines, question_file, question_files

if TYPE_CHECKING:
    from unhot.evaluate.figures import Progress
    from unhot.models.word_model import WordModel

KINDS = ("text", "similarity", "analogies", "categories", "outliers", "seeds")
EXAMPLES = """
\b
Examples:
  unhot evaluate model --text held_out.txt
  unhot evaluate model --text held_out.txt --window 2 --json
  zcat news.gz | unhot evaluate model --text -
  unhot evaluate vectors.bin --similarity wordsim.txt simlex.txt
  unhot evaluate vectors.bin --analogies questions-words.txt --restrict-vocab 30000
  unhot evaluate model --analogies BATS_3.0 --method both --categories bless.csv --outliers 8-8-8 --json
  unhot evaluate model --seeds seed2 seed3 --neighbors 10 --words 1000
"""


@click.command(cls=SeveralValues, epilog=EXAMPLES)
@click.argument("model")
@click.option(
    "--text",
    metavar="FILE",
    default=None,
    help="Measure the held-out loss: how well the model predicts the words of this text.",
)
@click.option(
    "--similarity",
    metavar="FILE...",
    multiple=True,
    help="Compare with human scores of word pairs: word, word, score.",
)
@click.option(
    "--analogies",
    metavar="FILE...",
    multiple=True,
    help="Answer analogy questions in word2vec's format, or as pairs (a folder: BATS).",
)
@click.option(
    "--categories",
    metavar="FILE...",
    multiple=True,
    help="Cluster words with known categories, and measure the purity.",
)
@click.option(
    "--outliers",
    metavar="FILE...",
    multiple=True,
    help="Find outliers: a set of words, a blank line, its outliers (a folder: 8-8-8).",
)
@click.option(
    "--seeds",
    metavar="MODEL...",
    multiple=True,
    help="Compare with models of other seeds: do words have the same neighbours?",
)
@click.option(
    "--restrict-vocab",
    type=click.IntRange(1),
    metavar="N",
    help="Use only the first N words, in questions and in answers.",
)
@click.option(
    "--method",
    type=click.Choice(["add", "mul", "both"]),
    default="add",
    show_default=True,
    help="--analogies: 3CosAdd, 3CosMul, or both.",
)
@click.option(
    "--case",
    type=click.Choice(["exact", "prefer", "ignore"]),
    default=None,
    help="How to look up words: as spelled (exact); as spelled, else in any case (prefer); in any case "
    "(ignore)  [default: prefer; --analogies: ignore]",
)
@click.option(
    "--unseen",
    is_flag=True,
    help="--similarity: make the vectors of unknown words from their n-grams.",
)
@click.option(
    "--neighbors",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="--seeds: number of neighbours of each word.",
)
@click.option(
    "--words",
    default="1000",
    show_default=True,
    metavar="N|FILE",
    help="--seeds: compare the neighbours of the first N words, or of the words in a file.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of intervals, clusters and draws.")
@click.option(
    "--window",
    type=int,
    default=None,
    help="--text: words on each side of the centre word  [default: as the model]",
)
@click.option(
    "--shrink/--no-shrink",
    default=False,
    show_default=True,
    help="--text: draw the size of each window from 1 to --window at random, or always use the full window.",
)
@click.option(
    "--sample",
    type=float,
    default=0.0,
    show_default=True,
    help="--text: threshold of sub-sampling frequent words; 0 turns it off.",
)
@click.option("--tokenizer", default=None, help="--text: whitespace, words or text8  [default: as the model]")
@column_option
@format_options
@strict_option
@click.option("--force", is_flag=True, help="--text: read files even if they do not look like text.")
@plugin_option
@json_option
def evaluate(model: str, as_json: bool, **options: Any) -> None:
    """Measure how good a model is.

    MODEL is a directory that `unhot train` wrote or, for all but --text, vectors in any format that unhot
    reads. A FILE may be a folder: then all files below it are used. Questions with words that the model does
    not know are skipped and counted. Intervals hold 95 % of 1,000 bootstrap resamples of the questions.

    --text FILE (a file, a folder, a pattern, or - for standard input) gives the exact cross entropy and
    perplexity of a text that the model was not trained on, under its own output layer, normalised over the
    whole vocabulary. By default unknown words are removed first, no word is sub-sampled, and all windows have
    their full size; the output says how it was done. log Z is 0 if the layer is normalised; otherwise its
    mean and variance say how far it is from that.
    """
    if not any(options[kind] for kind in KINDS):
        asked = ", ".join(f"--{kind} {'MODEL' if kind == 'seeds' else 'FILE'}" for kind in KINDS)
        raise click.UsageError(f"nothing to evaluate: give one or more of {asked}")
    results: dict[str, Any] = {}
    with new_bar("{task.description:<10}", "{task.percentage:>3.0f}%", transient=True) as bar:
        if options["text"]:
            names = ("window", "shrink", "sample", "tokenizer", "seed")
            settings = {name: options[name] for name in (*names, *READING)}
            opened = _open(model)
            found = unhot.evaluate.held_out(
                opened, options["text"], progress=bar.show, say=bar.say, **settings
            )
            results["held_out"] = found
        if any(options[kind] for kind in KINDS[1:]):
            results.update(_of_vectors(model, options, bar.show))
    if as_json:
        show_json(
            {
                name: [each.as_dict() for each in some] if isinstance(some, list) else some.as_dict()
                for name, some in results.items()
            }
        )
        return
    for number, (name, some) in enumerate(results.items()):
        if number:
            click.echo()
        getattr(evaluation_tables, f"show_{name}")(some)


def _open(model: str) -> WordModel:
    """Open a model with its output layer; raise a `FormatError` if there is none."""
    from unhot.models.load import models_of, word_models
    from unhot.vectors.formats.directory import is_model, load_model
    from unhot.vectors.formats.remote_folder import local_copy

    path = local_copy(model)
    only = (
        "only a model of unhot with its output layer can be evaluated on text; "
        "give the directory that `unhot train` wrote"
    )
    if not is_model(path):
        what = "holds vectors alone, or is no model" if path.exists() else "does not exist"
        raise FormatError(f"{path}: {what}: {only}")
    saved = load_model(path)
    if saved.config.get("model") in models_of("classify"):
        raise ConfigError(
            f"{path}: is a classifier: test it on lines with labels, with `unhot classify test`"
        )
    kind = word_models().get(str(saved.config.get("model")))
    if kind is None or "out_vectors" not in saved.tensors:
        raise FormatError(
            f"{path}: is a model of kind {saved.config.get('model')!r} with the tensors "
            f"{', '.join(sorted(saved.tensors))}: {only}"
        )
    return kind.from_saved(saved)


def _of_vectors(model: str, options: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Return all results that need only vectors, by kind."""
    vectors = unhot.Vectors.load(model)
    common = {name: options[name] for name in ("restrict_vocab", "seed")}
    case = {} if options["case"] is None else {"case": options["case"]}
    results: dict[str, Any] = {}
    for kind, files in (("similarity", True), ("categories", True), ("outliers", False)):
        paths = [path for given in options[kind] for path in (question_files(given) if files else [given])]
        if paths:
            unseen = {"unseen": options["unseen"]} if kind == "similarity" else {}
            ask = getattr(unhot.evaluate, kind)
            results[kind] = [ask(vectors, path, **common, **case, **unseen) for path in paths]
    methods = ("add", "mul") if options["method"] == "both" else (options["method"],)
    for path in options["analogies"]:
        for method in methods:
            found = unhot.evaluate.analogies(
                vectors, path, method=method, progress=progress, **common, **case
            )
            results.setdefault("analogies", []).append(found)
    if options["seeds"]:
        others = [unhot.Vectors.load(path) for path in options["seeds"]]
        asked = _asked(options["words"])
        results["stability"] = unhot.evaluate.stability(
            vectors, others, k=options["neighbors"], words=asked, progress=progress, **common
        )
    return results


def _asked(words: str) -> int | list[str]:
    """Return a number of words, or the words of a file."""
    if re.fullmatch(r"[-+]?[0-9]+", words):
        return whole("--words", int(words), 1)
    return [line for _, line in numbered_lines(question_file(words)) if line]
