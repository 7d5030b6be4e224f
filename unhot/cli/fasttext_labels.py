"""`unhot fasttext`: verbs for classifiers, and what a file holds. What they print is what fastText prints."""

from __future__ import annotations

import math
from collections.abc import Iterable

import click

from unhot.cli.fasttext_ask import lines, put

STDIN = "-"

NUMBERS = {"ignore_unknown_options": True}  # -1 is a number

text_argument = click.argument("text")
k_argument = click.argument("k", type=int, default=1, required=False)
threshold_argument = click.argument("threshold", type=float, default=0.0, required=False)


@click.command(context_settings=NUMBERS)
@click.argument("model")
@text_argument
@k_argument
@threshold_argument
def predict(model: str, text: str, k: int, threshold: float) -> None:
    """Print the most probable labels of each line.

    TEXT is a file, or - for standard input; K is how many labels, 1 if it is left out, -1 for all. Labels
    whose probability does not reach THRESHOLD are left out.
    """
    _predict(model, text, k, threshold, with_probability=False)


@click.command("predict-prob", context_settings=NUMBERS)
@click.argument("model")
@text_argument
@k_argument
@threshold_argument
def predict_prob(model: str, text: str, k: int, threshold: float) -> None:
    """`predict`, with a probability behind each label."""
    _predict(model, text, k, threshold, with_probability=True)


def _predict(model: str, text: str, k: int, threshold: float, with_probability: bool) -> None:
    from unhot.compat.fasttext import load_model

    classifier = load_model(model)
    for line in _lines_of(text):
        found = zip(*classifier.predict_line(line, k, threshold), strict=True)
        put(
            " ".join(
                f"{label} {probability:.6g}" if with_probability else label for label, probability in found
            )
            + "\n"
        )


@click.command(context_settings=NUMBERS)
@click.argument("model")
@text_argument
@k_argument
@threshold_argument
def test(model: str, text: str, k: int, threshold: float) -> None:
    """Print precision and recall on lines with labels.

    TEXT is a file, or - for standard input. The K most probable labels of a line, if their probabilities
    reach THRESHOLD, are compared with those that it has. N is the number of lines with labels.
    """
    _test(model, text, k, threshold, each_label=False)


@click.command("test-label", context_settings=NUMBERS)
@click.argument("model")
@text_argument
@k_argument
@threshold_argument
def test_label(model: str, text: str, k: int, threshold: float) -> None:
    """`test`, and before it the figures of each label."""
    _test(model, text, k, threshold, each_label=True)


def _test(model: str, text: str, k: int, threshold: float, each_label: bool) -> None:
    from unhot.compat.fasttext import load_model

    classifier = load_model(model)
    meter = classifier.measured(_lines_of(text), k, threshold)
    for label in (
        [name for name, _, kind in classifier.get_entries() if kind == "label"] if each_label else []
    ):
        figures = {
            "F1-Score": meter.f1(label),
            "Precision": meter.precision(label),
            "Recall": meter.recall(label),
        }
        shown = "".join(
            f"{name} : {'--------' if math.isnan(share) else f'{share:.6f}'}  "
            for name, share in figures.items()
        )
        put(f"{shown} {label}\n")
    form = ".3f" if each_label else ".3g"  # fastText's stream stays in the form of the lines above
    put(f"N\t{meter.examples}\nP@{k}\t{meter.precision():{form}}\nR@{k}\t{meter.recall():{form}}\n")


@click.command()
@click.argument("model")
@click.argument("part", type=click.Choice(["args", "dict", "input", "output"]))
def dump(model: str, part: str) -> None:
    """Print the settings, words, or a matrix of a file."""
    from unhot.compat.fasttext import load_model

    opened = load_model(model)
    if part == "args":
        put(
            "".join(
                f"{name} {value:.6g}\n" if name == "t" else f"{name} {value}\n"
                for name, value in opened.get_arguments().items()
            )
        )
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
    """The lines of a file, or of standard input."""
    from unhot.compat.fasttext.lines import classifier_lines
    from unhot.compat.fasttext.model import lines_of

    return classifier_lines(lines()) if text == STDIN else lines_of(text)
