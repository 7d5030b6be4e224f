"""The commands of `unhot fasttext` that query a model about words. They print what fastText prints."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from unhot.cli.show import note
from unhot.screen.terminal import printable

if TYPE_CHECKING:
    from unhot.compat.fasttext import FastText
    from unhot.types import Floats

k_argument = click.argument("k", type=click.IntRange(1), default=10, required=False)


@click.command()
@click.argument("model")
@k_argument
def nn(model: str, k: int) -> None:
    """Show the words nearest to each word that you type.

    MODEL is a .bin or .ftz of fastText; K is the number of words to show. Queries are typed at a prompt or
    read from standard input. Words that were not seen in training have neighbours, too.
    """
    asked = open_model(model)
    put("Query word? ")
    for word in _words():
        _put_found(word, asked.get_nearest_neighbors(word, k, "surrogateescape"))
        put("Query word? ")


@click.command()
@click.argument("model")
@k_argument
def analogies(model: str, k: int) -> None:
    """Show the words nearest to A - B + C.

    MODEL is a .bin or .ftz of fastText; K is the number of words to show. A, B and C are three words typed at
    a prompt or read from standard input, such as berlin germany france.
    """
    prompt = "Query triplet (A - B + C)? "
    put(f"Loading model {model}\n")
    asked = open_model(model)
    put(prompt)
    words = _words()
    # three at a time; one or two words left at the end are ignored
    for a, b, c in zip(words, words, words, strict=False):
        _put_found(f"{a} - {b} + {c}", asked.get_analogies(a, b, c, k, "surrogateescape"))
        put(prompt)


@click.command("print-word-vectors")
@click.argument("model")
def print_word_vectors(model: str) -> None:
    """Print the vectors of words from standard input.

    Words that were not seen in training have vectors, too, made of their n-grams.
    """
    asked = open_model(model)
    for word in _words():
        put(f"{word} {numbers(asked.get_word_vector(word))}\n")


@click.command("print-sentence-vectors")
@click.argument("model")
def print_sentence_vectors(model: str) -> None:
    """Print the vectors of the lines of standard input."""
    from unhot.lines.line_rows import classifier_lines

    asked = open_model(model)
    for line in classifier_lines(lines()) if asked.is_supervised else lines():
        put(f"{numbers(asked.line_vector(line))}\n")


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
    for ngram, vector in open_model(model).get_ngram_vectors(word):
        put(f"{ngram} {numbers(vector)}\n")


def open_model(model: str) -> FastText:
    """Open a `.bin` or `.ftz` file."""
    from unhot.compat.fasttext import load_model

    return load_model(model)


def _put_found(asked: str, found: Iterable[tuple[float, str]]) -> None:
    """Print a line for each word that was found, or a note if there is none."""
    answers = "".join(f"{word} {cosine:.6g}\n" for cosine, word in found)
    if answers:
        put(answers)
    else:
        note(f"{printable(asked)}: has no vector: it is not in the dictionary, nor are any of its n-grams")


def numbers(vector: Floats) -> str:
    """Return a vector as fastText prints it: five digits, and a space after each number."""
    return "%.5g " * vector.size % tuple(vector.tolist())


def put(text: str) -> None:
    """Write to standard output; bytes that are not UTF-8 are written as they were read."""
    from unhot.vocab.vocabulary import encode_word

    click.echo(encode_word(text), nl=False)


def lines() -> Iterator[str]:
    """Yield the lines of standard input, with their line ends."""
    from unhot.vocab.vocabulary import decode_word

    if sys.stdin is None:
        raise click.UsageError("there is no standard input to read from")
    yield from map(decode_word, sys.stdin.buffer)


def _words() -> Iterator[str]:
    """Yield the words of standard input, line by line."""
    from unhot.lines.line_rows import WORD

    for line in lines():
        yield from WORD.findall(line)
