"""The command `unhot classify`: train classifiers of texts, and use them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import unhot.evaluate
from unhot.cli.classify_ask import explain, k_option, predict, threshold_option
from unhot.cli.demos import classify_demo
from unhot.cli.options import json_option, named
from unhot.cli.outputs import plugin_option
from unhot.cli.row_options import column_option, format_options, strict_option, threads_option
from unhot.cli.show import note, print_table, show_json
from unhot.cli.text_options import force_option, source_of
from unhot.cli.train import train_command
from unhot.errors import ConfigError, DataError, extra

if TYPE_CHECKING:
    from unhot.rows.labelled import LabelledRows

TRAIN = """\
Learn to classify from lines with labels.

INPUT has lines such as `__label__spam win a prize`, with any number of labels, or is a table (CSV, TSV,
JSON lines or list, parquet, Arrow) with a column of texts and a column of labels. Its order does not matter.
Ctrl-C stops the training and saves the model as it is; --resume continues it.
"""
EXAMPLES = """
\b
Examples:
  unhot classify train spam.txt -o model
  unhot classify train reviews.csv -o model --column body --label-column stars --validation 0.1
  unhot classify train languages.txt -o model --minn 2 --maxn 4
  unhot classify train tags.jsonl -o model --output one_vs_all       # several labels a line
  unhot classify predict model new.parquet -o labelled.parquet
  unhot classify test model test.txt
  unhot classify explain model "win a free prize"
"""
# other help texts of options that `unhot train` has, too
HELP = {
    "start": "Start from word vectors in any format, or from those of a model directory; their dim is kept.",
    "corpus_dir": "Keep the encoded text in this directory  [default: a temporary directory]",
}
SHOWN = 20  # labels and mistakes of a table
label_column_option = click.option(
    "--label-column",
    help="Tables: the column with the labels  [default: that of the training, label or labels]",
)
train = train_command("classify", TRAIN, EXAMPLES, helps=HELP)


@click.command()
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="FILE...")
@k_option
@threshold_option
@column_option
@label_column_option
@format_options
@strict_option
@threads_option
@force_option
@plugin_option
@click.option("--all-labels", is_flag=True, help=f"Show all labels, not only the {SHOWN} most frequent.")
@click.option("--plot", callback=named, help="Write a picture of confusions and reliability to this file.")
@json_option
def test(
    model: str,
    inputs: tuple[str, ...],
    k: int,
    threshold: float,
    label_column: str | None,
    threads: int,
    all_labels: bool,
    plot: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Compare predictions with the labels of FILE.

    FILE has lines with labels, or is a table, as for `train`. Accuracy is the share of lines whose labels are
    all right and complete. Intervals are bootstraps over lines.
    """
    from unhot.evaluate.classification import most_confused

    if plot is not None:
        _check_picture(plot)
    labeller = unhot.evaluate.open_labeller(model, threads)
    if label_column is not None:
        labeller = labeller._replace(label_column=label_column)
    rows = labeller.rows_of(source_of(inputs), **how)
    found = unhot.evaluate.measure_labels(labeller, _some(rows, ", ".join(inputs)), k=k, threshold=threshold)
    for line in (*rows.report.recognized, *rows.report.lines()):
        note(line)
    if plot is not None:
        _draw(found, plot)
    if as_json:
        show_json(found.figures.as_dict())
        return
    _show_figures(found.figures)
    _show_labels(found.figures, None if all_labels else SHOWN)
    mistakes = most_confused(found.confusion, found.labels, SHOWN) if found.confusion.size else []
    if mistakes:
        lines = [(each.label, each.predicted, f"{each.examples:,}", f"{each.share:.1%}") for each in mistakes]
        print_table("taken for another", ("label", "taken for", "lines", "of the label"), lines, "", gap=True)


def _some(rows: LabelledRows, source: str) -> Iterator[tuple[str, list[str]]]:
    """Return the rows; raise a `DataError` that names their source if there is none with a label."""
    from unhot.models.labelled_source import no_labels

    each = iter(rows)
    first = next(each, None)
    if first is None:
        raise DataError(f"{source}: {no_labels(rows.report.rows)}")
    return chain([first], each)


def _show_figures(found: unhot.evaluate.Classification) -> None:
    measures = ("accuracy", "precision", "recall", "f1")
    rows = [
        (name, _share(getattr(found, name)), " to ".join(map(_share, getattr(found, f"{name}_interval"))))
        for name in measures
    ]
    rows += [(f"macro {name}", _share(getattr(found, f"macro_{name}")), "") for name in measures[1:]]
    rows = [(name.replace("f1", "F1"), share, span) for name, share, span in rows]
    rows += [
        ("log loss", f"{found.log_loss:.4f}", ""),
        ("expected calibration error", _share(found.expected_calibration_error), ""),
    ]
    unknown = f", {found.unknown_labels:,} labels that the model never saw" if found.unknown_labels else ""
    print_table(
        "",
        ("", "", f"{found.level:.0%} interval"),
        rows,
        f"{found.examples:,} lines{unknown}; {_asked(found.k, found.threshold)}.",
    )


def _asked(k: int, threshold: float) -> str:
    """Return in words which labels of a line are compared."""
    labels = {1: "the most probable label", -1: "all labels"}.get(k, f"the {k} most probable labels")
    return f"{labels} of each" + (f", with a probability of at least {threshold:g}" if threshold else "")


def _show_labels(found: unhot.evaluate.Classification, most: int | None) -> None:
    ranked = sorted(found.labels, key=lambda each: -each.examples)
    rows = [
        (each.label, _share(each.precision), _share(each.recall), _share(each.f1), f"{each.examples:,}")
        for each in ranked[:most]
    ]
    more = f"{len(ranked) - len(rows):,} more labels: --all-labels" if len(ranked) > len(rows) else ""
    print_table("labels", ("", "precision", "recall", "F1", "lines"), rows, more, gap=True)


def _share(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.1%}"


def _figures() -> Any:
    return extra("matplotlib.figure", "plot", "pictures")


def _check_picture(path: str) -> None:
    """Raise a `ConfigError` if a picture cannot be written there, before anything is measured."""
    able = _figures().FigureCanvasBase.get_supported_filetypes()
    ending = Path(path).suffix.lower().lstrip(".")
    if ending not in able:
        raise ConfigError(f"--plot {path}: the ending must be one of {', '.join(sorted(able))}")
    if not Path(path).parent.is_dir():
        raise ConfigError(f"--plot {path}: the folder {Path(path).parent} does not exist")


def _draw(found: unhot.evaluate.LabelTest, path: str) -> None:
    """Draw the confusion table and the reliability beside each other."""
    figure = _figures().Figure(figsize=(14, 6.5), layout="constrained")
    axes = figure.subplots(1, 2)
    unhot.plots.confusion(axes[0], found.confusion, found.labels)
    unhot.plots.reliability(axes[1], found.figures.reliability)
    figure.savefig(path, dpi=150)
    note(f"wrote {path}")


@click.command()
@click.argument("model")
@click.argument("source", metavar="FILE")
@column_option
@label_column_option
@format_options
@force_option
@plugin_option
@json_option
def calibrate(model: str, source: str, label_column: str | None, as_json: bool, **how: Any) -> None:
    """Make probabilities honest: fit a temperature on the lines of FILE, and save it in MODEL.

    FILE has lines with labels that MODEL was not trained on. Predicted labels stay the same.
    """
    from unhot.evaluate.labeller import open_classifier
    from unhot.models.calibrating import set_temperature
    from unhot.probability.calibration import COOLEST, HOTTEST

    opened = open_classifier(model)
    labeller = unhot.evaluate.labeller_of(opened)._replace(label_column=label_column or opened.label_column)
    rows = list(_some(labeller.rows_of(source, **how), source))
    set_temperature(opened, 1.0)
    before = unhot.evaluate.measure_labels(unhot.evaluate.labeller_of(opened), rows).figures
    temperature = unhot.evaluate.calibrate(opened, rows)
    after = unhot.evaluate.measure_labels(unhot.evaluate.labeller_of(opened), rows).figures
    if not COOLEST < temperature < HOTTEST:
        raise DataError(
            f"{source}: no temperature fits its {len(rows):,} lines, because the model is right about all of "
            f"them, or about too few: give more lines, which {model} was not trained on"
        )
    opened.save(model)
    names = ("expected_calibration_error", "log_loss")
    if as_json:
        changes = {name: {"before": getattr(before, name), "after": getattr(after, name)} for name in names}
        show_json({"temperature": temperature, "examples": before.examples, **changes})
    else:
        lines = [
            (
                "expected calibration error",
                _share(before.expected_calibration_error),
                _share(after.expected_calibration_error),
            ),
            ("log loss", f"{before.log_loss:.4f}", f"{after.log_loss:.4f}"),
        ]
        done = f"Temperature {temperature:.4f}, fitted on {before.examples:,} lines and saved in {model}."
        print_table("", ("", "before", "after"), lines, done)


classify = click.Group(
    "classify",
    commands=[train, predict, test, explain, calibrate, classify_demo],
    help="""Classify texts: train, predict, test, explain, calibrate.

    MODEL is a folder that `train` wrote; predict and test also take fastText's files, .bin and .ftz.
    """,
    epilog=EXAMPLES,
)
