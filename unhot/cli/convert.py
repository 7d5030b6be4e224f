"""`unhot convert`."""

from __future__ import annotations

import click


@click.command()
@click.argument("model")
@click.argument("out")
@click.option(
    "--to", "format_name", default=None, help="Format of OUT, if its ending does not say: word2vec-text, word2vec-binary or unhot."
)
def convert(model: str, out: str, format_name: str | None) -> None:
    r"""Write the vectors of MODEL to OUT in another format, by the ending of OUT.

    \b
    .txt .vec   word2vec text         .bin   word2vec binary         a folder   unhot's own

    \b
    Example:
      unhot convert model vectors.bin
    """
    from unhot.cli.show import note, printable
    from unhot.vectors.store import Vectors

    renamed = Vectors.load(model).save(out, format_name)
    for word, written in list(renamed.items())[:10]:
        note(f"the format cannot hold {printable(word)!r}: written as {printable(written)!r}")
    if len(renamed) > 10:
        note(f"... and {len(renamed) - 10:,} more words")
    note(f"wrote {out}")
