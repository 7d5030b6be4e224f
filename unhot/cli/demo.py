"""The command `unhot demo`."""

from __future__ import annotations

from pathlib import Path

import click

from unhot.cli.options import named
from unhot.cli.show import note
from unhot.train.bar import TrainingBar

QUERIES = ("war", "president", "gold", "farmers", "health")
ANALOGIES = (("mexico", "mexican", "spain"), ("army", "soldiers", "navy"), ("great", "greater", "large"))


@click.command()
@click.option(
    "-o",
    "--model-dir",
    "target",
    default="unhot-demo",
    show_default=True,
    metavar="MODEL",
    callback=named,
    help="Directory to write the model to.",
)
@click.option("--epochs", type=int, default=20, show_default=True, help="Number of passes over the text.")
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
def demo(target: str, epochs: int, threads: int) -> int:
    """Train on the State of the Union addresses, which come with unhot, and show the result."""
    from unhot.data import sotu_path
    from unhot.models.skipgram import SkipGram
    from unhot.vectors.formats.model_claim import claimed_model

    model = SkipGram(
        dim=100, window=5, output="negative:k=5", epochs=epochs, threads=threads, tokenizer="words"
    )
    with claimed_model(Path(target)), TrainingBar() as bar:
        bar.note("233 State of the Union addresses, 1790 on: 1.8 million words")
        model.fit(sotu_path(), callbacks=[bar], reading=bar.reading, note=bar.note)
        model.save(target)
    if model.history.interrupted:
        note(f"interrupted: saved the model as it is to {target}")
        return 130
    click.echo("\nNearest words")
    for word in QUERIES:
        found = model.vectors.most_similar(word, topn=6)
        click.echo(f"  {word:<10} {', '.join(other for other, _ in found)}")
    click.echo("\nAnalogies")
    for a, b, c in ANALOGIES:
        found = model.vectors.most_similar(positive=[b, c], negative=[a], topn=3)
        click.echo(f"  {a} is to {b} as {c} is to   {', '.join(other for other, _ in found)}")
    click.echo(f"\nSaved to {target}. Now type:")
    click.echo(f"  unhot neighbors {target} peace        words near any word")
    click.echo(f"  unhot info {target}                   what the model holds")
    click.echo(f"  unhot convert {target} vectors.bin    for gensim and others")
    click.echo("  unhot train YOUR.txt -o model         vectors of your own text")
    return 0
