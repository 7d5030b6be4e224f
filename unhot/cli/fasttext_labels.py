"""The commands of `unhot fasttext` for classifiers, and `dump`. They print what fastText prints."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable

import click

from unhot.cli.fasttext_ask import lines, open_model, put

STDIN = "-"


def _verb(name: str, function: Callable[..., None], about: str, **how: bool) -> click.Command:
    """Make a command with the arguments that all commands for classifiers take."""
    return click.Command(
        name,
        callback=functools.partial(function, **how),
        params=[
            click.Argument(["model"]),
            click.Argument(["text"]),
            click.Argument(["k"], type=int, default=1, required=False),
            click.Argument(["threshold"], type=float, default=0.0, required=False),
        ],
        help=about,
        context_settings={"ignore_unknown_options": True},  # so that -1 is a number
    )


def _predict(model: str, text: str, k: int, threshold: float, with_probability: bool) -> None:
    classifier = open_model(model)
    for line in _lines_of(text):
        found = zip(*classifier.predict_line(line, k, threshold), strict=True)
        shown = (f"{label} {probability:.6g}" if with_probability else label for label, probability in found)
        put(" ".join(shown) + "\n")


def _test(model: str, text: str, k: int, threshold: float, each_label: bool) -> None:
    classifier = open_model(model)
    meter = classifier.measured(_lines_of(text), k, threshold)
    labels = [name for name, _, kind in classifier.get_entries() if kind == "label"]
    for label in labels if each_label else ():
        figures = {
            "F1-Score": meter.f1(label),
            "Precision": meter.precision(label),
            "Recall": meter.recall(label),
        }
        put("".join(f"{name} : {_figure(share)}  " for name, share in figures.items()) + f" {label}\n")
    form = ".3f" if each_label else ".3g"  # fastText's output stream keeps the format of the lines above
    put(f"N\t{meter.examples}\nP@{k}\t{meter.precision():{form}}\nR@{k}\t{meter.recall():{form}}\n")


def _figure(share: float) -> str:
    return "--------" if math.isnan(share) else f"{share:.6f}"


PREDICT = """\
Print the most probable labels of each line.

TEXT is a file, or - for standard input. K is the number of labels, 1 by default, -1 for all. Labels with a
probability below THRESHOLD are left out.
"""
TEST = """\
Print precision and recall on lines with labels.

TEXT is a file, or - for standard input. The K most probable labels of a line, without those below THRESHOLD,
are compared with its true labels. N is the number of lines with labels.
"""
WITH_PROBABILITY = "Print the most probable labels of each line, each with its probability."
EACH_LABEL = "Print F1-score, precision and recall of each label, then the output of `test`."

predict = _verb("predict", _predict, PREDICT, with_probability=False)
predict_prob = _verb("predict-prob", _predict, WITH_PROBABILITY, with_probability=True)
test = _verb("test", _test, TEST, each_label=False)
test_label = _verb("test-label", _test, EACH_LABEL, each_label=True)


@click.command()
@click.argument("model")
@click.argument("part", type=click.Choice(["args", "dict", "input", "output"]))
def dump(model: str, part: str) -> None:
    """Print the settings (args), the words (dict) or a matrix (input, output) of a file."""
    opened = open_model(model)
    if part == "args":
        for name, value in opened.get_arguments().items():
            put(f"{name} {value:.6g}\n" if name == "t" else f"{name} {value}\n")
    elif part == "dict":
        entries = list(opened.get_entries())
        put(f"{len(entries)}\n")
        for name, count, kind in entries:
            put(f"{name} {count} {kind}\n")
    else:
        matrix = opened.get_input_matrix() if part == "input" else opened.get_output_matrix()
        put(f"{matrix.shape[0]} {matrix.shape[1]}\n")
        for row in matrix:
            put(" ".join(f"{number:.6g}" for number in row.tolist()) + "\n")


def _lines_of(text: str) -> Iterable[str]:
    """Return the lines of a file or of standard input."""
    from unhot.compat.fasttext.model import lines_of
    from unhot.lines.line_rows import classifier_lines

    return classifier_lines(lines()) if text == STDIN else lines_of(text)
