"""The command `unhot fasttext`: the group of fastText's commands, which print what fastText prints."""

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

import unhot.compat.fasttext
from unhot.cli.fasttext_train import cbow, quantize, skipgram, supervised
from unhot.cli.show import note
from unhot.screen.terminal import printable

EXAMPLES = """
\b
Examples:
  unhot fasttext skipgram -input corpus.txt -output model -minn 3 -maxn 6 -thread 2
  unhot fasttext nn model.bin
  echo unseenword | unhot fasttext print-word-vectors model.bin
  unhot fasttext predict-prob lid.176.ftz text.txt 3
"""
STDIN = "-"
k_argument = click.argument("k", type=click.IntRange(1), default=10, required=False)


@click.command()
@click.argument("model")
@k_argument
def nn(model: str, k: int) -> None:
    """Show the words nearest to each word that you type.

    MODEL is a .bin or .ftz of fastText; K is the number of words to show. Queries are typed at a prompt or
    read from standard input. Words that were not seen in training have neighbours, too.
    """
    asked = unhot.compat.fasttext.load_model(model)
    _put("Query word? ")
    for word in _words():
        _put_found(word, asked.get_nearest_neighbors(word, k, "surrogateescape"))
        _put("Query word? ")


@click.command()
@click.argument("model")
@k_argument
def analogies(model: str, k: int) -> None:
    """Show the words nearest to A - B + C.

    MODEL is a .bin or .ftz of fastText; K is the number of words to show. A, B and C are three words typed at
    a prompt or read from standard input, such as berlin germany france.
    """
    prompt = "Query triplet (A - B + C)? "
    _put(f"Loading model {model}\n")
    asked = unhot.compat.fasttext.load_model(model)
    _put(prompt)
    words = _words()
    # three at a time; one or two words left at the end are ignored
    for a, b, c in zip(words, words, words, strict=False):
        _put_found(f"{a} - {b} + {c}", asked.get_analogies(a, b, c, k, "surrogateescape"))
        _put(prompt)


@click.command("print-word-vectors")
@click.argument("model")
def print_word_vectors(model: str) -> None:
    """Print the vectors of words from standard input.

    Words that were not seen in training have vectors, too, made of their n-grams.
    """
    asked = unhot.compat.fasttext.load_model(model)
    for word in _words():
        _put(f"{word} {_numbers(asked.get_word_vector(word))}\n")


@click.command("print-sentence-vectors")
@click.argument("model")
def print_sentence_vectors(model: str) -> None:
    """Print the vectors of the lines of standard input."""
    asked = unhot.compat.fasttext.load_model(model)
    for line in _lines_of(STDIN) if asked.is_supervised else _lines():
        _put(f"{_numbers(asked.line_vector(line))}\n")


class WordCommand(click.Command):
    """A command whose two arguments may begin with a dash, as words may."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse two arguments as such, not as options, even if they begin with a dash."""
        return super().parse_args(ctx, ["--", *args] if len(args) == 2 else args)


@click.command("print-ngrams", cls=WordCommand)
@click.argument("model")
@click.argument("word")
def print_ngrams(model: str, word: str) -> None:
    """Print the vectors of a word's n-grams.

    The vector of WORD is the mean of all printed vectors. If WORD was seen in training, its own row is first.
    """
    for ngram, vector in unhot.compat.fasttext.load_model(model).get_ngram_vectors(word):
        _put(f"{ngram} {_numbers(vector)}\n")


def _put_found(asked: str, found: Iterable[tuple[float, str]]) -> None:
    """Print a line for each word that was found, or a note if there is none."""
    answers = "".join(f"{word} {cosine:.6g}\n" for cosine, word in found)
    if answers:
        _put(answers)
    else:
        note(f"{printable(asked)}: has no vector: it is not in the dictionary, nor are any of its n-grams")


def _numbers(vector: Any) -> str:
    """Return a vector as fastText prints it: five digits, and a space after each number."""
    return "".join(f"{number:.5g} " for number in vector.tolist())


def _put(text: str) -> None:
    """Write to standard output; bytes that are not UTF-8 are written as they were read."""
    from unhot.vocab.vocabulary import encode_word

    click.echo(encode_word(text), nl=False)


def _lines() -> Iterator[str]:
    """Yield the lines of standard input, with their line ends."""
    from unhot.vocab.vocabulary import decode_word

    if sys.stdin is None:
        raise click.UsageError("there is no standard input to read from")
    yield from map(decode_word, sys.stdin.buffer)


def _words() -> Iterator[str]:
    """Yield the words of standard input, line by line."""
    from unhot.lines.line_rows import WORD

    for line in _lines():
        yield from WORD.findall(line)


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
    classifier = unhot.compat.fasttext.load_model(model)
    for line in _lines_of(text):
        found = zip(*classifier.predict_line(line, k, threshold), strict=True)
        shown = (f"{label} {probability:.6g}" if with_probability else label for label, probability in found)
        _put(" ".join(shown) + "\n")


def _test(model: str, text: str, k: int, threshold: float, each_label: bool) -> None:
    classifier = unhot.compat.fasttext.load_model(model)
    meter = classifier.measured(_lines_of(text), k, threshold)
    labels = [name for name, _, kind in classifier.get_entries() if kind == "label"]
    for label in labels if each_label else ():
        figures = {
            "F1-Score": meter.f1(label),
            "Precision": meter.precision(label),
            "Recall": meter.recall(label),
        }
        _put("".join(f"{name} : {_figure(share)}  " for name, share in figures.items()) + f" {label}\n")
    form = ".3f" if each_label else ".3g"  # fastText's output stream keeps the format of the lines above
    _put(f"N\t{meter.examples}\nP@{k}\t{meter.precision():{form}}\nR@{k}\t{meter.recall():{form}}\n")


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
    opened = unhot.compat.fasttext.load_model(model)
    if part == "args":
        for name, value in opened.get_arguments().items():
            _put(f"{name} {value:.6g}\n" if name == "t" else f"{name} {value}\n")
    elif part == "dict":
        entries = list(opened.get_entries())
        _put(f"{len(entries)}\n")
        for name, count, kind in entries:
            _put(f"{name} {count} {kind}\n")
    else:
        matrix = opened.get_input_matrix() if part == "input" else opened.get_output_matrix()
        _put(f"{matrix.shape[0]} {matrix.shape[1]}\n")
        for row in matrix:
            _put(" ".join(f"{number:.6g}" for number in row.tolist()) + "\n")


def _lines_of(text: str) -> Iterable[str]:
    """Return the lines of a file or of standard input."""
    from unhot.compat.fasttext.model import lines_of
    from unhot.lines.line_rows import classifier_lines

    return classifier_lines(_lines()) if text == STDIN else lines_of(text)


fasttext = click.Group(
    "fasttext",
    commands=[
        *(skipgram, cbow, supervised, quantize, nn, analogies),
        *(print_word_vectors, print_sentence_vectors, print_ngrams),
        *(predict, predict_prob, test, test_label, dump),
    ],
    help="""Run fastText's commands, with its options and its output.

    Files are fastText's own, .bin and .ftz; - stands for standard input. docs/moving-from-fasttext.md lists
    the differences.
    """,
    epilog=EXAMPLES,
)
