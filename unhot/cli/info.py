"""`unhot info`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

FIRST = 10  # words shown
EXAMPLES = """
\b
Examples:
  unhot info model
  unhot info vectors.bin --json
"""


@click.command(epilog=EXAMPLES)
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
def info(model: str, as_json: bool) -> None:
    """Show what MODEL holds.

    Of a model directory: settings, size, losses, commonest words. Of a file of vectors in another format: format, size, first words.
    """
    from unhot.cli.show import printable, show_json
    from unhot.vectors.formats.directory import is_model

    path = Path(model)
    if not is_model(path):
        facts = _of_vectors(path)
        if as_json:
            show_json(facts)
        else:
            _show({**facts, "first": ", ".join(map(printable, facts["first"]))})
        return
    facts = _of_model(path)
    if as_json:
        show_json(facts)
        return
    if "training" in facts:
        where = "cut off after {epoch} epochs and {chunk} chunks".format(**facts["training"])
        facts["training"] = f"{where}; go on with: unhot train --resume {model}"
    facts["losses"] = ", ".join(f"{loss:.4f}" for loss in facts.get("losses", [])) or "-"
    facts["tensors"] = ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in facts["tensors"].items())
    facts["commonest"] = ", ".join(f"{printable(word)} ({count:,})" for word, count in facts["commonest"].items())
    _show(facts)


def _of_model(path: Path) -> dict[str, Any]:
    from unhot.cli.show import size_of
    from unhot.vectors.formats.directory import load_model

    saved = load_model(path)
    tensors = {name: list(tensor.shape) for name, tensor in saved.tensors.items()}
    commonest = dict(zip(saved.vocabulary.words[:FIRST], saved.vocabulary.counts[:FIRST].tolist(), strict=True))
    return {**saved.config, "vocabulary": len(saved.vocabulary), "tensors": tensors, "commonest": commonest, "bytes": size_of(path)}


def _of_vectors(path: Path) -> dict[str, Any]:
    from unhot.cli.show import size_of
    from unhot.vectors.formats import read_table
    from unhot.vectors.formats.sniff import sniff

    table = read_table(path)
    name = sniff(path)
    words, dim = table.vectors.shape
    return {"format": name, "words": words, "dim": dim, "bytes": size_of(path), "first": table.words[:FIRST]}


def _show(facts: dict[str, Any]) -> None:
    for name, value in facts.items():
        click.echo(f"{name:<12} {'-' if value is None else value}")
