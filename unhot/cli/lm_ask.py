"""The commands `unhot lm perplexity`, `score` and `generate`."""

from __future__ import annotations

import functools
from typing import Any

import click

import unhot
from unhot.cli.options import json_option, named
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import (
    column_option,
    format_options,
    rename_option,
    renamed,
    strict_option,
    threads_option,
    write_copy,
)
from unhot.cli.show import new_bar, note, print_table, show_facts, show_json
from unhot.cli.text_options import force_option, source_of

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)


@click.command()
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="TEXT...")
@column_option
@format_options
@strict_option
@click.option(
    "--carry/--alone",
    default=True,
    show_default=True,
    help="Neural models: go on from line to line, or begin each line anew.",
)
@click.option(
    "--details",
    is_flag=True,
    help="Also show perplexities by frequency of the words, log Z, and bits per character.",
)
@threads_option
@force_option
@plugin_option
@json_option
def perplexity(
    model: str, inputs: tuple[str, ...], details: bool, threads: int, as_json: bool, **how: Any
) -> None:
    """Measure how well MODEL predicts TEXT.

    A token is a word or the end of a line. Words that MODEL does not know count as <unk>; the perplexity
    without them is shown, too. Models of n-grams see each line alone; neural ones go on from line to line,
    unless --alone is given.
    """
    from unhot.evaluate.language import measure_language

    found = unhot.load_language_model(model, threads)
    with new_bar("scoring", "{task.percentage:>3.0f}%", transient=True, quiet=as_json) as bar:
        how |= {"tell": bar.say, "progress": functools.partial(bar.show, "scoring")}
        source = source_of(inputs)
        figures = measure_language(found, source, **how) if details else None
        result = found.perplexity(source, **how) if figures is None else figures.result
    if as_json:
        show_json(result.as_json() if figures is None else figures.as_json())
        return
    facts = {
        "perplexity": f"{result.perplexity:,.2f}  ({result.bits:.3f} bits a token)",
        "perplexity without unknown": f"{result.perplexity_without_unknown:,.2f}",
        "tokens": f"{result.tokens:,} in {result.lines:,} lines",
        "unknown words": f"{result.unknown:,}",
    }
    if result.zero:
        facts["of probability zero"] = f"{result.zero:,}: that is why the perplexity is infinite"
    if figures is not None:
        facts |= {
            "bits per character": f"{figures.bits_per_character:.4f}, of {figures.characters:,}",
            "log Z": f"mean {figures.log_z_mean:.4f}, variance {figures.log_z_variance:.4f}",
            "without normalising": f"{figures.own_perplexity:,.2f}",
        }
    show_facts(facts, 27)
    if figures is not None and figures.bands:
        rows = [(band.name, f"{band.tokens:,}", f"{band.perplexity:,.1f}") for band in figures.bands]
        print_table("", ("count in training", "tokens", "perplexity"), rows, "")


@click.command()
@click.argument("model")
@click.argument("source", metavar="INPUT")
@click.option("-o", "--out", required=True, callback=named, help="File to write, or - for standard output.")
@column_option
@rename_option("score=log10, perplexity=ppl")
@format_options
@strict_option
@threads_option
@force_option
@plugin_option
@click.option(
    "--by-line",
    is_flag=True,
    help="Score each line of a text as a sentence, and add up; otherwise a text is one.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show no progress and no percentiles.")
def score(
    model: str,
    source: str,
    out: str,
    rename: tuple[str, ...],
    threads: int,
    by_line: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Give each text its log10 probability and its perplexity.

    INPUT is a file with a text in each line, or a table (CSV, TSV, JSON lines or list, parquet, Arrow),
    compressed or not, of any size; - is standard input. A table keeps its columns and gets two more, score
    and perplexity. Lines of text become lines of score and perplexity, with a tab between them. OUT is
    written when it is complete. The percentiles of all perplexities, shown at the end, help to choose a limit
    for a filter.

    A text is one sentence, and a line break inside it is white space. With --by-line each of its lines is a
    sentence: its score is the sum over them, its perplexity that of all their tokens. Bad rows, rows without
    a text, and texts of probability zero have no score; they are counted, and left out of the percentiles.
    """
    import numpy as np

    from unhot.json_file import plain
    from unhot.lm.percentiles import Percentiles

    names = renamed(rename, "score=log10")
    found, seen = unhot.load_language_model(model, threads), Percentiles()
    zero = 0

    def columns(texts: list[str]) -> Any:
        nonlocal zero
        sums = found.scorer.documents(texts) if by_line else found.scorer.sentences(texts)
        logs = sums[:, 3] / sums[:, 0]
        there = np.isfinite(logs)
        zero += int(np.count_nonzero(~there))
        seen.add(-logs[there])
        with np.errstate(over="ignore"):
            return [plain(sums[:, 3].tolist()), plain((10.0**-logs).tolist())]

    how |= {"rename": names, "names": ("score", "perplexity"), "quiet": quiet}
    write_copy(source, out, columns, "scoring", **how)
    if zero:
        note(f"texts of probability zero: {zero:,}; they have no score")
    if not quiet and seen.number:
        shown = ", ".join(f"{p}%: {10**value:,.1f}" for p, value in seen.at(PERCENTILES).items())
        note(f"perplexities of {seen.number:,} texts, percentiles: {shown}")


@click.command()
@click.argument("model")
@click.argument("context", default="")
@click.option(
    "-n", "--number", type=click.IntRange(1), default=1, show_default=True, help="How many sentences."
)
@click.option(
    "--words", type=click.IntRange(1), default=100, show_default=True, help="The most words of one."
)
@click.option(
    "--temperature",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Above 1: more surprising; below 1: less; 0: always the most likely word.",
)
@click.option("--top-k", type=click.IntRange(1), help="Draw from the K most likely words.")
@click.option("--top-p", type=float, help="Draw from the fewest words that have this probability together.")
@click.option("--seed", type=click.IntRange(0), help="The same seed draws the same sentences.")
@click.option("--next", "k", type=click.IntRange(1), help="Show the K most likely next words instead.")
@plugin_option
@json_option
def generate(model: str, context: str, number: int, k: int | None, as_json: bool, **how: Any) -> None:
    """Draw sentences from MODEL, after the words of CONTEXT if these are given."""
    found = unhot.load_language_model(model)
    if k is not None:
        words = found.next_words(context, k)
        if as_json:
            show_json([word._asdict() for word in words])
        for word, probability in () if as_json else words:
            click.echo(f"{probability:.6f}  {word}")
        return
    seed = how.pop("seed")
    seeds = [None if seed is None else seed + i for i in range(number)]
    drawn = [found.generate(context, seed=each, **how) for each in seeds]
    if as_json:
        show_json(drawn)
    for sentence in () if as_json else drawn:
        click.echo(sentence)
