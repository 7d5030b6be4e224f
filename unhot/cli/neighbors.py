"""The command `unhot neighbors`, for words given as arguments, read from lines, or typed at a prompt."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from unhot.cli.options import restrict_option, which_option
from unhot.cli.outputs import plugin_option
from unhot.cli.show import note
from unhot.errors import DataError
from unhot.json_file import json_text, plain
from unhot.screen.terminal import printable, shown

if TYPE_CHECKING:
    from unhot.vectors.store import Vectors

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
    search = _Search(vectors, topn, restrict_vocab, as_json)
    if words:
        search.all_or_nothing((" ".join(words),) if {"+", "-"} & set(words) else words)
        return 0
    if sys.stdin is None:
        raise click.UsageError("no WORD was given, and there is no standard input to read words from")
    if sys.stdin.isatty():
        search.each(_typed(len(vectors)))
        return 0
    return 0 if search.each(_lines()) else 1


def _opened(path: str, which: str) -> Vectors:
    """Open vectors; of a recommender only those of items, which are not near to users in the same way."""
    from unhot.vectors.formats.directory import is_model, load_model
    from unhot.vectors.store import Vectors

    if is_model(path) and load_model(path).config.get("users") == "vector":
        from unhot.models.load import load_saved

        model = load_saved(path)
        items: Vectors = model.vectors if which == "in" else model.out_vectors  # type: ignore[attr-defined]
        return items
    return Vectors.load(path, which=which)


@dataclass
class _Search:
    """Answers queries and shows the answers."""

    vectors: Vectors
    topn: int
    restrict_vocab: int | None
    as_json: bool
    shown: int = 0  # the number of answers shown so far

    def all_or_nothing(self, queries: tuple[str, ...]) -> None:
        """Answer all queries before showing any, so that an error is shown alone."""
        answers = [(query, *self._answer(query)) for query in queries]
        for query, found, unseen in answers:
            self._show(query, found, unseen, heading=len(queries) > 1)

    def each(self, queries: Iterable[str]) -> bool:
        """Answer queries as they come; return whether all could be answered."""
        every = True
        for query in queries:
            try:
                found, unseen = self._answer(query)
            except DataError as error:
                every = False
                if self.as_json:
                    click.echo(json_text({"word": query, "error": str(error)}))
                else:
                    note(printable(str(error)))
            else:
                self._show(query, found, unseen, heading=True)
        return every

    def _answer(self, query: str) -> tuple[list[tuple[str, float]], list[str]]:
        """Return the neighbours, and the words of the query that are not in the vocabulary."""
        positive, negative = terms(query, self.vectors)
        found = self.vectors.most_similar(
            positive=positive, negative=negative, topn=self.topn, restrict_vocab=self.restrict_vocab
        )
        return found, unseen_words([*positive, *negative], self.vectors)

    def _show(self, query: str, found: list[tuple[str, float]], unseen: list[str], heading: bool) -> None:
        if self.as_json:
            entries = [{"word": other, "similarity": round(cosine, 6)} for other, cosine in found]
            asked = {"word": query, **({"unseen": unseen} if unseen else {})}
            click.echo(json_text(plain({**asked, "neighbors": entries})))
            return
        tell_unseen(unseen)
        if heading:
            click.echo(f"{chr(10) if self.shown else ''}{printable(query)}")
        for other, cosine in found:
            click.echo(f"{cosine:7.4f}  {shown(other)}")
        self.shown += 1


def terms(query: str, vectors: Vectors) -> tuple[list[str], list[str]]:
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


def unseen_words(words: Iterable[str], vectors: Vectors) -> list[str]:
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
