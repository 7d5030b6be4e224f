"""The commands `unhot classify predict` and `explain`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

import unhot.evaluate
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
from unhot.cli.show import print_table, show_json
from unhot.cli.text_options import force_option

if TYPE_CHECKING:
    from unhot.lines.explaining import Decision, Explanation

k_option = click.option(
    "-k", type=int, default=1, show_default=True, help="The most labels for each text; -1: all."
)
threshold_option = click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Leave out labels less probable than this.",
)
SHOWN = 15  # rows of a table of shares


@click.command()
@click.argument("model")
@click.argument("source", metavar="INPUT")
@click.option("-o", "--out", required=True, callback=named, help="File to write, or - for standard output.")
@k_option
@threshold_option
@column_option
@rename_option("label=predicted, score=certainty")
@format_options
@strict_option
@threads_option
@force_option
@plugin_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def predict(
    model: str,
    source: str,
    out: str,
    k: int,
    threshold: float,
    rename: tuple[str, ...],
    threads: int,
    quiet: bool,
    **how: Any,
) -> None:
    """Give labels to texts.

    INPUT is a file with a text in each line, or a table (CSV, TSV, JSON lines or list, parquet, Arrow),
    compressed or not, of any size; - is standard input. A table keeps its columns and gets two more, label
    and score. Lines of text become lines of label and score, with a tab between them. With -k other than 1,
    both are lists. A bad row is copied without them, and counted. OUT is written when it is complete.
    """
    from unhot.lines.choosing import check_asked
    from unhot.lines.predictor import LinePredictor

    check_asked(k, threshold)
    names = renamed(rename, "label=predicted")
    labeller = unhot.evaluate.open_labeller(model, threads)
    compiled = k == 1 and isinstance(labeller.predictor, LinePredictor)
    lines_of = functools.partial(labeller.answers, threshold=threshold) if compiled else None

    def columns(texts: list[str]) -> Any:
        return labeller.columns(texts, k, threshold)

    write_copy(source, out, columns, "predicting", lines_of=lines_of, rename=names, quiet=quiet, **how)


@click.command()
@click.argument("model")
@click.argument("text")
@click.option("--label", help="The label to explain  [default: the most probable one]")
@click.option("--all", "everything", is_flag=True, help=f"Show all shares, not only the {SHOWN} largest.")
@plugin_option
@json_option
def explain(model: str, text: str, label: str | None, everything: bool, as_json: bool) -> None:
    """Show how much each word and n-gram of TEXT speaks for a label.

    A score is a sum over words, runs of words and n-grams. So the shares are exact: they add up to the score.
    """
    from unhot.evaluate.labeller import open_classifier

    found = open_classifier(model).explain(text, label)
    if as_json:
        show_json(found)
        return
    for decision in found.decisions:
        _show_decision(found, decision, None if everything else SHOWN)


def _show_decision(found: Explanation, decision: Decision, most: int | None) -> None:
    from rich.text import Text

    from unhot.lines.explaining import word_shares
    from unhot.screen.console import Screen

    title = f"{found.label}, probability {found.probability:.3f}: {decision.name} {decision.score:.4f}"
    ranked = sorted(decision.shares, key=lambda piece: -abs(piece.share))
    rows = [(piece.text, piece.kind, f"{piece.share:+.4f}") for piece in ranked[:most]]
    rest = ranked[len(rows) :]
    if rest:
        rows.append((f"{len(rest)} others", "", f"{sum(piece.share for piece in rest):+.4f}"))
    if decision.bias:
        rows.append(("bias", "", f"{decision.bias:+.4f}"))
    print_table(title, ("", "kind", "share"), rows, "")
    totals = word_shares(found.words, decision.shares)
    largest = max(map(abs, totals), default=0.0) or 1.0
    line = Text()
    for word, share in zip(found.words, totals, strict=True):
        strength = round(200 * abs(share) / largest)
        colour = (
            f"rgb({230 - strength},255,{230 - strength})"
            if share > 0
            else f"rgb(255,{230 - strength},{230 - strength})"
        )
        line.append(word, style=f"black on {colour}" if strength else "")
        line.append(" ")
    Screen().print(line)
