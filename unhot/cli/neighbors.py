"""The commands `unhot neighbors` and `unhot analogy`.

Words are arguments, lines of standard input, or typed at a prompt.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

import unhot
from unhot.cli.options import json_option, restrict_option, which_option
from unhot.cli.outputs import plugin_option
from unhot.cli.show import note, show_json
from unhot.errors import DataError
from unhot.json_file import json_text, plain
from unhot.screen.terminal import printable, shown

PROMPT = "> "
EXAMPLES = """
\b
Examples:
  unhot neighbors model king -n 5
  unhot neighbors model king queen --json
  unhot neighbors model king - man + woman
  unhot neighbors vectors.bin                    opens a prompt; an empty line ends it
  cut -f1 words.tsv | unhot neighbors model --json
"""
ANALOGY_EXAMPLES = """
\b
Examples:
  unhot analogy model king man woman
  unhot analogy model paris france italy -n 3 --method mul
  unhot analogy vectors.vec king man woman --restrict-vocab 30000 --json
"""
FORMULAS = {
    "add": "cos(x, {a}) - cos(x, {b}) + cos(x, {c})",
    "mul": "cos(x, {a}) cos(x, {c}) / cos(x, {b}), cosines mapped to 0..1",
}


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option(
    "-n", "--topn", type=click.IntRange(1), default=10, show_default=True, help="Number of neighbours."
)
@which_option
@restrict_option
@plugin_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON: one line with an object for each query.")
def neighbors(
    model: str, words: tuple[str, ...], topn: int, which: str, restrict_vocab: int | None, as_json: bool
) -> int:
    """Show the words nearest to each WORD by cosine.

    MODEL is a model directory, or a file of vectors in any format that unhot reads. A query is a word, or
    words that are added and subtracted: king - man + woman. Without a WORD, queries are typed at a prompt or,
    if standard input is not a terminal, read from its lines. If MODEL has n-grams, as fastText's models have,
    unseen words have neighbours, too.
    """
    vectors = _opened(model, which)
    answered = functools.partial(_answered, vectors, topn, restrict_vocab)
    if words:
        queries = (" ".join(words),) if {"+", "-"} & set(words) else words
        answers = [answered(query) for query in queries]  # before any is shown: an error is shown alone
        for number, answer in enumerate(answers):
            _show(*answer, as_json, number if len(answers) > 1 else None)
        return 0
    if sys.stdin is None:
        raise click.UsageError("no WORD was given, and there is no standard input to read words from")
    number = missed = 0
    for query in _typed(len(vectors)) if sys.stdin.isatty() else _lines():
        try:
            answer = answered(query)
        except DataError as error:
            missed += 1
            if as_json:
                click.echo(json_text({"word": query, "error": str(error)}))
            else:
                note(printable(str(error)))
        else:
            _show(*answer, as_json, number)
            number += 1
    return 1 if missed and not sys.stdin.isatty() else 0


@click.command(epilog=ANALOGY_EXAMPLES)
@click.argument("model")
@click.argument("a")
@click.argument("b")
@click.argument("c")
@click.option(
    "-n", "--topn", type=click.IntRange(1), default=10, show_default=True, help="Number of answers."
)
@click.option(
    "--method",
    type=click.Choice(["add", "mul"]),
    default="add",
    show_default=True,
    help="Add and subtract cosines, or multiply and divide them.",
)
@which_option
@restrict_option
@json_option
def analogy(
    model: str,
    a: str,
    b: str,
    c: str,
    topn: int,
    method: str,
    which: str,
    restrict_vocab: int | None,
    as_json: bool,
) -> None:
    """Find the word that is to C as A is to B: A - B + C.

    `analogy MODEL king man woman` asks: king is to man as what is to woman? MODEL is a model directory, or a
    file of vectors in any format that unhot reads. The answers never include the three words themselves.
    """
    vectors = unhot.Vectors.load(model, which=which)
    search = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    found = search(positive=[a, c], negative=[b], topn=topn, restrict_vocab=restrict_vocab)
    unseen = unseen_words((a, b, c), vectors)
    if as_json:
        answers = [{"word": word, "score": round(score, 6)} for word, score in found]
        asked: dict[str, Any] = {"a": a, "b": b, "c": c, "positive": [a, c], "negative": [b]}
        asked |= {"method": method, "which": which, **({"unseen": unseen} if unseen else {})}
        show_json({**asked, "restrict_vocab": restrict_vocab, "answers": answers})
    else:
        tell_unseen(unseen)
        told = f"{{a}} is to {{b}} as ? is to {{c}}:  x with the greatest {FORMULAS[method]}"
        click.echo(told.format(a=printable(a), b=printable(b), c=printable(c)))
        _show_found(found)


def _opened(model: str, which: str) -> unhot.Vectors:
    """Open vectors; of a recommender only those of items, which are not near to users in the same way."""
    from unhot.vectors.formats.directory import is_model, load_model
    from unhot.vectors.formats.remote_folder import local_copy

    path = local_copy(model)
    if is_model(path) and load_model(path).config.get("users") == "vector":
        from unhot.models.load import load_saved

        found = load_saved(path)
        items: unhot.Vectors = found.vectors if which == "in" else found.out_vectors  # type: ignore[attr-defined]
        return items
    return unhot.Vectors.load(path, which=which)


def _answered(
    vectors: unhot.Vectors, topn: int, restrict_vocab: int | None, query: str
) -> tuple[str, list[tuple[str, float]], list[str]]:
    """Return a query, its neighbours, and its words that are not in the vocabulary."""
    added, subtracted = terms(query, vectors)
    found = vectors.most_similar(
        positive=added, negative=subtracted, topn=topn, restrict_vocab=restrict_vocab
    )
    return query, found, unseen_words([*added, *subtracted], vectors)


def _show(
    query: str, found: list[tuple[str, float]], unseen: list[str], as_json: bool, number: int | None
) -> None:
    """Show an answer; if it has a number, below its query, and from the second on below a blank line."""
    if as_json:
        entries = [{"word": other, "similarity": round(cosine, 6)} for other, cosine in found]
        asked = {"word": query, **({"unseen": unseen} if unseen else {})}
        click.echo(json_text(plain({**asked, "neighbors": entries})))
    else:
        tell_unseen(unseen)
        if number is not None:
            click.echo(f"{chr(10) if number else ''}{printable(query)}")
        _show_found(found)


def _show_found(found: Iterable[tuple[str, float]]) -> None:
    """Print a line for each word that was found, with its score."""
    for word, score in found:
        click.echo(f"{score:7.4f}  {shown(word)}")


def terms(query: str, vectors: unhot.Vectors) -> tuple[list[str], list[str]]:
    """Return the words of a query that are added, and those that are subtracted.

    A query that is a word of the vocabulary is not split.
    """
    if vectors.has_index_for(query):
        return [query], []
    signed: dict[str, list[str]] = {"+": [], "-": []}
    sign = "+"
    for term in query.split():
        if term in signed:
            sign = term
        else:
            signed[sign].append(term)
            sign = "+"
    return (signed["+"], signed["-"]) if signed["+"] or signed["-"] else ([query], [])


def unseen_words(words: Iterable[str], vectors: unhot.Vectors) -> list[str]:
    """Return the words that are not in the vocabulary; raise a `DataError` if the vocabulary is empty."""
    if len(vectors) == 0:
        raise DataError(
            "these vectors have no words, so there are no neighbours to find; "
            "a floret table has n-grams only: give a model with words"
        )
    return [word for word in dict.fromkeys(words) if not vectors.has_index_for(word)]


def tell_unseen(words: Iterable[str]) -> None:
    """Print a note for each word whose vector is made of n-grams alone."""
    for word in words:
        note(f"{printable(word)!r} is not in the vocabulary: its vector is made of its n-grams")


def _lines() -> Iterator[str]:
    """Yield the lines of standard input that are not empty."""
    for raw in sys.stdin.buffer:
        line = raw.decode("utf-8", "surrogateescape").strip()
        if line:
            yield line


def _typed(words: int) -> Iterator[str]:
    """Yield the lines typed at a prompt, until an empty line or Ctrl-D."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (gives `input` a history; not on Windows)
    note(f"{words:,} words. Type a word, or king - man + woman; an empty line ends.")
    while True:
        try:
            line = input(PROMPT).strip()
        except EOFError:
            click.echo()
            return
        if not line:
            return
        yield line
