"""The command `unhot lm demo`."""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import click

from unhot.cli.options import named
from unhot.cli.show import note
from unhot.train.bar import TrainingBar

BEGINNINGS = ("the state of the union", "our people", "we must", "")
HELD_OUT = 20  # one of so many addresses is held out


@click.command()
@click.option(
    "-o",
    "--model-dir",
    "target",
    default="unhot-lm-demo",
    show_default=True,
    metavar="MODEL",
    callback=named,
    help="Directory to write the model to.",
)
@click.option("--minutes", type=float, default=1.0, show_default=True, help="Minutes of training.")
@click.option("--threads", type=int, default=2, show_default=True, help="Number of threads.")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of all random numbers.")
def demo(target: str, minutes: float, threads: int, seed: int) -> int:
    """Train on the State of the Union addresses, which come with unhot, then write sentences like them."""
    from unhot.data import sotu_path
    from unhot.models.neural_lm import NeuralLM
    from unhot.vectors.formats.model_claim import claimed_model

    addresses = lzma.decompress(sotu_path().read_bytes()).decode().splitlines()
    held_out = sentences(addresses[::HELD_OUT])
    learned = sentences([line for i, line in enumerate(addresses) if i % HELD_OUT])
    model = NeuralLM(
        body="lstm",
        output="sampled:k=500",
        dim=200,
        dropout=0.2,
        min_count=5,
        tokenizer="words",
        minutes=minutes,
        threads=threads,
        seed=seed,
    )
    with claimed_model(Path(target)), TrainingBar() as bar:
        bar.note(f"{len(learned):,} sentences of State of the Union addresses, 1790 on; {minutes:g} minutes")
        model.fit(learned, callbacks=[bar], note=bar.note)
        model.save(target)
    if model.history.interrupted:
        note(f"interrupted: saved the model as it is to {target}")
        return 130
    found = model.perplexity(held_out)
    click.echo(f"\nPerplexity of {found.tokens:,} tokens of other addresses: {found.perplexity:,.1f}")
    click.echo("\nSentences that it wrote")
    for number, beginning in enumerate(BEGINNINGS):
        click.echo(f"  {model.generate(beginning, words=40, temperature=0.7, seed=seed + number)}")
    click.echo(f"\nSaved to {target}. Now type:")
    click.echo(f'  unhot lm generate {target} "my fellow"     more sentences')
    click.echo(f"  unhot lm perplexity {target} TEXT --details  how well it predicts a text")
    click.echo("  unhot lm train YOUR.txt -o model             a model of n-grams of your own text")
    return 0


def sentences(texts: list[str]) -> list[str]:
    """Cut texts into sentences, roughly."""
    return [each for text in texts for each in re.split(r"(?<=[.!?;])\s+", text) if each]
