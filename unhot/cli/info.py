"""`unhot info`."""

from __future__ import annotations

import click


@click.command()
@click.argument("model")
@click.option("--json", "as_json", is_flag=True, help="JSON for machines.")
def info(model: str, as_json: bool) -> None:
    r"""Show what a model directory holds: settings, size, losses, commonest words.

    \b
    Example:
      unhot info model --json
    """
    from pathlib import Path

    from unhot.cli.show import printable, show_json
    from unhot.vectors.formats.directory import load_model

    saved = load_model(Path(model))
    tensors = {name: list(tensor.shape) for name, tensor in saved.tensors.items()}
    commonest = dict(zip(saved.vocabulary.words[:10], saved.vocabulary.counts[:10].tolist(), strict=True))
    facts = {**saved.config, "vocabulary": len(saved.vocabulary), "tensors": tensors, "commonest": commonest}
    if as_json:
        show_json(facts)
        return
    facts["losses"] = ", ".join(f"{loss:.4f}" for loss in saved.config.get("losses", [])) or "-"
    facts["tensors"] = ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in tensors.items())
    facts["commonest"] = ", ".join(f"{printable(word)} ({count:,})" for word, count in commonest.items())
    for name, value in facts.items():
        click.echo(f"{name:<12} {'-' if value is None else value}")
