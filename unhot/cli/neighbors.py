"""`unhot neighbors`."""

from __future__ import annotations

import click


@click.command()
@click.argument("model")
@click.argument("word")
@click.option("-n", "--topn", type=click.IntRange(1), default=10, show_default=True, help="How many neighbours.")
@click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
def neighbors(model: str, word: str, topn: int, as_json: bool) -> None:
    r"""Show the words nearest to WORD by cosine.

    MODEL is a model directory, or vectors in word2vec's text (.txt, .vec) or binary (.bin) format.

    \b
    Example:
      unhot neighbors model king -n 5
    """
    from unhot.cli.show import printable, show_json
    from unhot.vectors.store import Vectors

    found = Vectors.load(model).most_similar(word, topn=topn)
    if as_json:
        show_json({"word": word, "neighbors": [{"word": other, "similarity": round(cosine, 6)} for other, cosine in found]})
        return
    for other, cosine in found:
        click.echo(f"{cosine:7.4f}  {printable(other)}")
