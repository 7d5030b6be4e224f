"""The command `unhot analogy`."""

from __future__ import annotations

from typing import Any

import click

from unhot.cli.neighbors import tell_unseen, unseen_words
from unhot.cli.options import json_option, restrict_option, which_option
from unhot.cli.show import show_json
from unhot.screen.terminal import printable, shown

EXAMPLES = """
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
    from unhot.vectors.store import Vectors

    vectors = Vectors.load(model, which=which)
    search = vectors.most_similar if method == "add" else vectors.most_similar_cosmul
    found = search(positive=[a, c], negative=[b], topn=topn, restrict_vocab=restrict_vocab)
    unseen = unseen_words((a, b, c), vectors)
    if as_json:
        answers = [{"word": word, "score": round(score, 6)} for word, score in found]
        asked: dict[str, Any] = {"a": a, "b": b, "c": c, "positive": [a, c], "negative": [b]}
        asked |= {"method": method, "which": which, **({"unseen": unseen} if unseen else {})}
        show_json({**asked, "restrict_vocab": restrict_vocab, "answers": answers})
        return
    tell_unseen(unseen)
    told = f"{{a}} is to {{b}} as ? is to {{c}}:  x with the greatest {FORMULAS[method]}"
    click.echo(told.format(a=printable(a), b=printable(b), c=printable(c)))
    for word, score in found:
        click.echo(f"{score:7.4f}  {shown(word)}")
